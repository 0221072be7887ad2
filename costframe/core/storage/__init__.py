"""Files of models: one checksummed file without code for each."""
