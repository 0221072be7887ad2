"""What `costframe board` does: it merges lines of results into a page."""

from __future__ import annotations

from pathlib import Path

from costframe.cli.compared import FILES, print_comparison
from costframe.cli.outputs import check_apart, check_directory, check_overwrite
from costframe.comparison.comparison import Comparison
from costframe.comparison.files import write_files
from costframe.comparison.lines import RESULTS, to_lines
from costframe.training.console import output as make_console


def board(
    files: tuple[str, ...], *, reference: str | None, levels: tuple[float, ...] | None, output: Path, force: bool
) -> None:
    """Read the lines of files, and write pages, pictures, tables, and all lines."""
    places = [_lines_of(file) for file in files]
    for place in places:
        check_apart({"--output": [output / name for name in FILES]}, {"FILES": place})
    check_directory(output, FILES)
    given = {} if levels is None else {"levels": levels}
    found = Comparison.load(files, reference=reference, **given)
    check_overwrite([output / name for name in FILES], force=force)
    lines = to_lines(sorted(found.records, key=lambda record: record.order))
    written = ", ".join(map(str, write_files(found, output, "Board", {RESULTS: lines.encode()})))
    console = make_console()
    print_comparison(console, found)
    console.print(f"\nwrote {written}", markup=False, soft_wrap=not console.is_terminal)
    console.finish()


def _lines_of(file: str) -> str:
    """Return the file of lines that an argument names, which may be the directory of a run."""
    return str(Path(file) / RESULTS) if Path(file).is_dir() else file
