"""`python -m costframe`: the command line."""

from costframe.cli import main

if __name__ == "__main__":
    main()
