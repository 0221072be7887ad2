"""What `costframe page` does: it writes one model as a page that asks and answers in a browser."""

from __future__ import annotations

from pathlib import Path

from costframe.cli.exits import name_written_files
from costframe.cli.given_model import open_model
from costframe.cli.outputs import check_apart, check_file, check_overwrite
from costframe.cli.reading import ReadingOptions
from costframe.core.errors import ParameterError, printable
from costframe.core.files import write_atomically
from costframe.page.render import render_ask_page
from costframe.training.console import output as make_console


def page(model: str, *, output: Path, title: str | None, reading: ReadingOptions, force: bool) -> None:
    """Write the page."""
    check_apart({"--output": [output]}, {"MODEL": model, "--costs": reading.costs})
    if output.suffix.lower() not in {".html", ".htm"}:
        raise ParameterError(f"--output {output}: expected a file name that ends in .html")
    check_file(output)
    check_overwrite([output], force=force)
    given = open_model(model, reading.costs, uniform=True)
    content = render_ask_page(given.fitted, given.prices, title or Path(model).name).encode()
    write_atomically(output, content)
    console = make_console()
    with name_written_files(str(output)):
        console.print(f"wrote {printable(str(output))}, {len(content) / 1000:,.0f} kB", soft_wrap=True, markup=False)
        console.finish()
