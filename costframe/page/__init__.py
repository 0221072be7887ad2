"""A page that is handed over: it asks, prices and answers in a browser, with the model and the engine inside."""
