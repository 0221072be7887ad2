"""Results for a person: tables on the terminal, pictures, and CSV."""
