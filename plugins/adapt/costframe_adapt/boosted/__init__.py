"""ADAPT-GBRT: boosted gates and cheap models."""
