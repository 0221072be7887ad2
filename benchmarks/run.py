"""Run benchmarks by name, all by default: `python benchmarks/run.py predict one_row`; `--full` adds the long ones."""

import importlib
import sys

BENCHMARKS = ("predict", "one_row", "miser_fit", "cegb_fit")


def main() -> None:
    names = [name for name in sys.argv[1:] if name != "--full"]
    unknown = [name for name in names if name not in BENCHMARKS]
    if unknown:
        sys.exit(f"unknown: {', '.join(unknown)}; there are {', '.join(BENCHMARKS)}")
    for name in names or BENCHMARKS:
        print(f"-- {name}: {importlib.import_module(name).__doc__}")
        importlib.import_module(name).main()


if __name__ == "__main__":
    main()
