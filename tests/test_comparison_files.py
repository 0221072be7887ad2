"""Files of a comparison: LaTeX that any text survives, CSV, JSON lines, pictures, and the page."""

from __future__ import annotations

import csv
import io
import json
import re
import shutil
import subprocess
from xml.etree import ElementTree as ET

import comparison_cases as cases
import numpy as np
import pytest

import costframe as cf
from costframe.comparison.export import level_rows, summary_rows, to_csv
from costframe.comparison.figures import ComparisonDisplay
from costframe.comparison.files import files_of
from costframe.comparison.latex import escape_latex, to_latex
from costframe.comparison.markdown import to_markdown
from costframe.comparison.page import comparison_page, differences_displays
from costframe.comparison.sheets import Sheet, sheets_of
from costframe.core.errors import ParameterError

ODD = "a_b & 50 % of $x^2$ #1 {c} ~d \\e <f>"


@pytest.fixture(scope="module")
def compared():
    rng = np.random.default_rng(0)
    sides = {"ours": 0.8, ODD: 0.7, "=cmd": 0.75}
    records = [
        cases.record(table, repeat, side, (0.5, score + 0.05 * rng.normal()))
        for table in ("one", ODD)
        for repeat in range(4)
        for side, score in sides.items()
    ]
    return cf.Comparison(records, reference="ours")


def test_latex_escapes_every_sign_once():
    assert escape_latex("a_b") == "a\\_b"
    assert escape_latex("\\{}") == "\\textbackslash{}\\{\\}"
    assert escape_latex("50 % & #1 $ ~ ^") == "50 \\% \\& \\#1 \\$ \\textasciitilde{} \\textasciicircum{}"
    special = re.compile(r"(?<!\\)[&%$#_{}~^]")
    plain = escape_latex(ODD)
    for known in ("\\textbackslash{}", "\\textasciitilde{}", "\\textasciicircum{}", "\\textless{}", "\\textgreater{}"):
        plain = plain.replace(known, "")
    assert not special.search(plain)
    assert "\\" not in plain.replace("\\_", "").replace("\\&", "").replace("\\%", "").replace("\\$", "").replace(
        "\\#", ""
    ).replace("\\{", "").replace("\\}", "")


def test_latex_has_no_name_as_an_option_of_the_row_before():
    text = to_latex([Sheet("x", "c", ("side",), (("[2pt]",), ("*a",), ('"b"',)))])
    assert "\\midrule\n{[}2pt] \\\\\n{*}a \\\\\n\\symbol{34}b\\symbol{34} \\\\" in text


def test_latex_has_a_label_of_its_own_for_each_sheet():
    names = "scores-a_b", "scores-a.b", "scores-a-b-2", "scores-a b", "ranks"
    found = re.findall(r"\\label\{tab:(.*)\}", to_latex([Sheet(name, "c", ("side",), ()) for name in names]))
    assert found == ["scores-a-b", "scores-a-b-2", "scores-a-b-2-2", "scores-a-b-3", "ranks"]


def test_latex_has_a_row_a_side_and_bold_best_cells():
    sheet = Sheet("x", "50 % of it", ("side", "5 %"), (("a_b", "-0.5 ± 0.1"), ("c", "1,234 ± 2")), frozenset({(1, 1)}))
    text = to_latex([sheet])
    assert "\\caption{50 \\% of it}" in text
    assert "side & 5 \\% \\\\\n\\midrule\na\\_b & $-0.5 \\pm 0.1$ \\\\\nc & $\\mathbf{1{,}234} \\pm 2$ \\\\" in text
    assert text.count("\\toprule") == text.count("\\bottomrule") == 1


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="needs pdflatex")
def test_latex_compiles(compared, tmp_path):
    body = to_latex(sheets_of(compared))
    document = f"\\documentclass{{article}}\\usepackage{{booktabs}}\\begin{{document}}\n{body}\n\\end{{document}}"
    (tmp_path / "x.tex").write_text(document)
    subprocess.run(["pdflatex", "-halt-on-error", "x.tex"], cwd=tmp_path, check=True, capture_output=True)  # noqa: S607


def test_markdown_shows_every_cell_as_it_is(compared):
    markdown = pytest.importorskip("markdown", reason="needs markdown")
    sheets = [*sheets_of(compared), Sheet("x", ODD, (ODD, "a|b"), (("![x](y)", "<.001"),), frozenset({(0, 1)}))]
    page = ET.fromstring(f"<page>{markdown.markdown(to_markdown(sheets), extensions=['tables'])}</page>")  # noqa: S314
    shown = [[["".join(cell.itertext()) for cell in row] for row in table.iter("tr")] for table in page.iter("table")]
    assert shown == [[list(row) for row in (sheet.head, *sheet.rows)] for sheet in sheets]
    assert [caption.text for caption in page.findall("p")] == [sheet.caption for sheet in sheets]
    assert [len(list(table.iter("strong"))) for table in page.iter("table")] == [len(sheet.best) for sheet in sheets]


def test_csv_has_each_choice_and_reads_back_to_the_last_bit(compared):
    rows = list(csv.DictReader(io.StringIO(to_csv(level_rows(compared)))))
    assert len(rows) == 2 * 4 * 3 * 7
    one = next(row for row in rows if (row["table"], row["side"], row["repeat"]) == ("one", "ours", "2"))
    record = next(r for r in compared.records if (r.table.name, r.side.name, r.split.repeat) == ("one", "ours", 2))
    assert float(one["test_score"]) == record.models[0].test_score
    last = [row for row in rows if (row["table"], row["side"], row["repeat"]) == ("one", "ours", "2")][-1]
    assert (float(last["test_score"]), float(last["test_cost"])) == (record.models[1].test_score, 5.0)
    assert {row["side"] for row in rows} == {"ours", ODD, "'=cmd"}


def test_summaries_are_the_figures_of_the_comparison(compared):
    rows = list(summary_rows(compared))
    for row in rows:
        json.dumps(row, allow_nan=False)
    over = [row for row in rows if row["kind"] == "difference" and row["table"] is None and row["side"] == ODD]
    found = compared.differences()[ODD]["points"]
    assert [row["mean"] for row in over] == found.mean.tolist()
    assert [row["corrected_error"] for row in over] == found.corrected.tolist()
    assert [row["level"] for row in over] == [*compared.levels, None]
    ranks = [row["mean"] for row in rows if row["kind"] == "rank" and row["level"] is None]
    assert ranks == compared.ranks.ranks[-1].mean.tolist()


def test_files_are_the_same_in_any_order_and_twice(compared, tmp_path):
    shuffled = cf.Comparison(compared.records[::-1], reference="ours")
    assert files_of(shuffled) == files_of(compared)
    written = compared.write(tmp_path / "out")
    names = {path.name for path in written}
    assert {
        "report.html",
        "levels.csv",
        "summary.csv",
        "summary.jsonl",
        "tables.tex",
        "tables.md",
        "table-one.svg",
    } <= names
    assert sum(name.endswith(".png") for name in names) == 3
    assert all(path.is_file() for path in written)


def test_pictures_of_tables_that_are_no_longer_there_go_and_others_stay(tmp_path):
    two = cf.Comparison([cases.record(name, 0, side) for name in ("one", ODD) for side in ("ours", "theirs")])
    (tmp_path / "table-mine.svg").write_text("mine")
    before = {path.name for path in two.write(tmp_path)}
    one = cf.Comparison([record for record in two.records if record.table.name == "one"])
    after = {path.name for path in one.write(tmp_path)}
    assert {"differences-points.svg", "differences-points.png"} < before - after
    assert len(before - after) == 4
    assert {path.name for path in tmp_path.iterdir()} == {*after, "table-mine.svg"}
    for damaged in ("{", "[1]", '{"table": ["x"]}'):
        (tmp_path / "summary.jsonl").write_text(damaged)
        assert {path.name for path in one.write(tmp_path)} == after


def test_the_page_escapes_names_and_has_a_picture_and_tables_of_each_table(compared):
    text = comparison_page(compared)
    assert "<f>" not in text
    assert text.count("<svg") == 3
    ids = re.findall(r'\bid="([^"]+)"', text)
    assert len(set(ids)) == len(ids)
    references = set(re.findall(r"url\(#([^)]+)\)", text)) | set(re.findall(r'href="#([^"]+)"', text))
    assert references <= set(ids)
    for standing in compared.standings:
        mean = standing.values("ours").mean(axis=0)[-1]
        assert f"{mean:.3f} ±" in text


def test_the_picture_over_tables_says_which_sides_lack_some():
    import matplotlib.pyplot as plt

    found = cf.Comparison(
        [
            cases.record(table, 0, side)
            for side, tables in {"ours": 3, "few": 2, "theirs": 3}.items()
            for table in ("one", "two", "three")[:tables]
        ],
        reference="ours",
    )
    (display,) = differences_displays(found).values()
    names = [text.get_text() for text in display.plot().ax_.get_legend().get_texts()]
    assert names == ["few (2 tables)", "theirs"]
    plt.close("all")


def test_the_picture_of_a_table_names_each_line_and_says_which_sides_lack_splits():
    import matplotlib.pyplot as plt

    sides = {"few": 2, "theirs": 3, "漢字": 3, "日本": 3}  # no glyphs for the last two
    found = cf.Comparison([cases.record("one", r, side) for side, splits in sides.items() for r in range(splits)])
    names = [text.get_text() for text in found.plot().ax_.get_legend().get_texts()]
    assert names == ["few (2 splits)", "theirs", "3: \ufffd\ufffd", "4: \ufffd\ufffd"]
    plt.close("all")


@pytest.mark.parametrize(("worst", "full"), [(-2.5e7, 4.0), (-2.5e-5, 40.0), (-3.0, 7e6)])
def test_pictures_write_numbers_beside_their_axes_without_powers_of_ten(worst, full):
    import matplotlib.pyplot as plt

    found = cf.Comparison([cases.record("one", r, "a", (worst, worst / 2), full=full, bills=True) for r in range(2)])
    ax = found.plot().ax_
    ax.figure.canvas.draw()
    assert ax.yaxis.get_offset_text().get_text() == ""
    texts = [text.get_text() for text in (*ax.get_xticklabels(which="both"), *ax.get_yticklabels()) if text.get_text()]
    assert len(texts) > 6
    assert [float(text.replace("\N{MINUS SIGN}", "-")) for text in texts]
    plt.close("all")


def test_a_long_name_leaves_room_for_the_picture():
    import matplotlib.pyplot as plt

    found = cf.Comparison([cases.record("one", 0, side) for side in ("x" * 300, "x" * 301, "b")])
    ax = found.plot().ax_
    names = [text.get_text() for text in ax.get_legend().get_texts()]
    assert names[0] == "b"
    assert [name[:3] for name in names[1:]] == ["2: ", "3: "]
    ax.figure.canvas.draw()
    extent = ax.get_legend().get_window_extent()
    assert extent.x1 < ax.figure.bbox.x1
    assert extent.y1 < ax.figure.bbox.y1
    plt.close("all")


def test_pictures_have_a_line_and_a_band_a_side():
    import matplotlib.pyplot as plt

    records = [cases.record("one", r, side, (0.5, 0.7 + 0.01 * r)) for r in range(3) for side in ("a", "b")]
    found = cf.Comparison(records)
    display = found.plot()
    assert isinstance(display, ComparisonDisplay)
    drawn = [line for line in display.ax_.lines if len(line.get_xdata()) > 2]
    assert len(drawn) == len(display.ax_.collections) == 2
    assert drawn[0].get_ydata()[-1] == pytest.approx(0.71)
    band = display.ax_.collections[0].get_paths()[0].vertices[:, 1]
    assert band.max() == pytest.approx(0.71 + 0.01 / np.sqrt(3))
    plt.close("all")
    two = cf.Comparison([*records, cases.record("two", 0, "a")])
    with pytest.raises(ParameterError, match="table: expected one of"):
        two.plot()
    ET.fromstring(ComparisonDisplay(two.standing("two")).to_bytes("svg"))  # noqa: S314 - our own
