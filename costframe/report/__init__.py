"""Reports of results: tables on the terminal, pictures, and texts."""
