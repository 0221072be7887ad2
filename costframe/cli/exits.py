"""Exit codes of the command line, beside 0."""

__all__ = ["INTERRUPTED"]

INTERRUPTED = 130
