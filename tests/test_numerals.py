"""Numbers in texts: each is read by the spelling of its file, and none is a thousandth of what it says."""

from __future__ import annotations

import pytest
from dataset_cases import read_rows
from hypothesis import given
from hypothesis import strategies as st

from costframe import CostframeError, CostModel
from costframe.core.numerals import Spelling, find_spelling, read_typed
from costframe.datasets import read_table
from costframe.datasets.table_files import TableFile
from costframe.plugin import DataError

WRITERS = {
    "comma and point": (",", "."),
    "comma and blank": (",", " "),
    "comma and no-break blank": (",", "\u00a0"),
    "comma and narrow blank": (",", "\u202f"),
    "point and comma": (".", ","),
    "point and apostrophe": (".", "'"),
    "point and curved apostrophe": (".", "\u2019"),
}
amounts = st.integers(-(10**9), 10**9).map(lambda hundredths: hundredths / 100)


def spell(value, decimal, thousands, form="{:,.2f}"):
    """Return a number as a country writes it."""
    return form.format(value).translate({ord(","): thousands, ord("."): decimal})


@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
@pytest.mark.parametrize("writer", WRITERS)
@given(st.lists(amounts, min_size=1, max_size=6))
def test_what_a_country_writes_is_read_as_it_was_meant_or_refused(writer, separator, values):
    for form in ("{:,.2f}", "{:,.0f}", "{:,.3f}", "{:.3f}"):
        texts = [spell(value, *WRITERS[writer], form) for value in values]
        spelling = find_spelling([set(texts)], separator)
        for value, text in zip(values, texts, strict=True):
            plain = spelling.plain(text)
            meant = float(form.replace(",", "").format(value))
            if plain is None:
                assert spelling.why_not(text) is not None
            elif not (separator == "," and WRITERS[writer] == (",", ".") and form == "{:,.0f}"):
                assert float(plain) == meant  # between commas, points without more are those of decimals


CLEAR = [
    ("1.500", "2,50", ";", 1500.0),
    ("1.500", "0.25", ";", 1.5),
    ("1.500", "3", ",", 1.5),
    ("1,250", "2.50", ",", 1250.0),
    ("1,250", "1,234,567", ",", 1250.0),
    ("1,250", "0,5", ";", 1.25),
    ("1 250", "3", ",", 1250.0),
    ("1'250", "3", ";", 1250.0),
    ("+1.5", "3", ",", 1.5),
    ("\u22121.5", "3", ",", -1.5),
    ("1e5", "3", ",", 1e5),
    ("1.500,25", "3", ";", 1500.25),
    ("1,500.25", "3", ";", 1500.25),
]


@pytest.mark.parametrize(("text", "beside", "separator", "value"), CLEAR)
def test_what_the_whole_file_tells(table, tmp_path, text, beside, separator, value):
    quote = '"{}"' if separator == "," else "{}"
    rows = [f"{quote.format(text)}{separator}{quote.format(beside)}{separator}{i % 2}" for i in range(40)]
    path = table(f"a{separator}b{separator}y\n" + "\n".join(rows) + "\n")
    assert set(read_table(path, "y").X[:, 0]) == {value}
    assert set(read_rows(path, ["a"])[:, 0]) == {value}
    if value >= 0:
        lines = [f"a{separator}{quote.format(text)}", f"b{separator}{quote.format(beside)}"]
        (tmp_path / "prices.csv").write_text("\n".join(lines), encoding="utf-8")
        assert CostModel.load(tmp_path / "prices.csv").features[0].cost == value


UNCLEAR = [
    ("1.500", "3", ";", "'1.500' may be 1500 or 1.500; write all such numbers as 1500 or as 1.5000"),
    ("1,250", "3", ";", "'1,250' may be 1250 or 1.250; write all such numbers as 1250 or as 1,2500"),
    ("1,250", "3", ",", "'1,250' may be 1250 or 1.250; write all such numbers as 1250 or as 1.250"),
    ("1.500", "3", "\t", "'1.500' may be 1500 or 1.500"),
    ("12%", "3", ";", "amounts such as '12%' are no numbers; write numbers without signs"),
    ("5 EUR", "3", ";", "amounts such as '5 EUR' are no numbers"),
    ("1234-", "3", ";", "'1234-' has its minus behind, as SAP writes it; write -1234"),
    ("(1234)", "3", ",", "'(1234)' is a negative amount in accounting; write -1234"),
    ("1_000", "3", ",", "'1_000' is no plain number; write 1000"),
    ("1,10,000", "3", ",", "'1,10,000' is no plain number; write 110000"),
    ("\u0661\u066b\u0665", "3", ";", "is no plain number; write 1.5"),
    ("\u20135", "3", ",", "is no plain number; write -5"),
    ("0.5D+02", "3", ",", "'0.5D+02' is no plain number; write 0.5E+02"),
]


@pytest.mark.parametrize(("text", "beside", "separator", "why"), UNCLEAR)
def test_what_it_does_not_tell_is_refused_with_the_cause_and_kept_as_a_label(
    table, tmp_path, text, beside, separator, why
):
    quote = '"{}"' if separator == "," else "{}"
    rows = [f"{quote.format(text)}{separator}{beside}{separator}{i % 2}" for i in range(40)]
    path = table(f"a{separator}b{separator}y\n" + "\n".join(rows) + "\n")
    with pytest.raises(DataError) as caught:
        read_table(path, "y")
    assert why in str(caught.value)
    with pytest.raises(DataError) as caught:
        read_rows(path, ["a"])
    assert why in str(caught.value)
    assert read_table(path, "y", categorical=["a"]).categorical == {"a": (text,)}
    prices = f"n{separator}p\na{separator}{quote.format(text)}\nb{separator}{quote.format(beside)}"
    (tmp_path / "prices.csv").write_text(prices)
    with pytest.raises(CostframeError) as caught:
        CostModel.load(tmp_path / "prices.csv")
    assert why in str(caught.value)


def test_two_decimal_signs_are_refused_by_column(table, tmp_path):
    rows = [f"1.500,25;1,500.25;{i % 3}.5{i};{i % 2}" for i in range(40)]
    path = table("a;b;c;y\n" + "\n".join(rows) + "\n")
    with pytest.raises(DataError, match=r"column 'b': '1,500\.25' has a decimal point, where others .*\ncolumn 'c': "):
        read_table(path, "y")
    assert set(read_table(path, "y", categorical=["b"], ignore=["c"]).X[:, 0]) == {1500.25}
    (tmp_path / "prices.csv").write_text("a;1.500,25\nb;1,500.25\n")
    with pytest.raises(CostframeError, match=r"features\.b: .*'1,500\.25' has a decimal point, where others"):
        CostModel.load(tmp_path / "prices.csv")


def test_amounts_are_not_thousandths_for_lists_beside_them(table):
    rows = [f'"{a}","{c}",{i % 2}' for i, (a, c) in enumerate([("1,250", "1,3"), ("850", "2"), ("12,500", "1")] * 20)]
    path = table("\n".join(["amount,choice,y", *rows]))
    with pytest.raises(DataError) as caught:
        read_table(path, "y")
    assert "column 'amount': '1,250' may be 1250 or 1.250" in str(caught.value)
    assert "column 'choice': '1,3' may be 1.3 or a list; write 1.3" in str(caught.value)


def test_later_rows_tell_what_the_first_ones_do_not(table):
    begin = [f"1.500;{i % 2};{i}" for i in range(30_000)]
    path = table("\n".join(["a;y;b", *begin, "72,5;1;0"]))
    assert not TableFile.open(path).spelling.unclear
    assert set(read_table(path, "y").X[:, 0]) == {1500.0, 72.5}
    assert set(read_rows(path, ["a"])[:, 0]) == {1500.0, 72.5}


def test_labels_of_a_category_keep_their_spelling(table):
    rows = [f"{i % 7},25;{size};{i % 2}" for i, size in enumerate(["0,5", "S", "M", "L"] * 20)]
    path = table("\n".join(["h;size;y", *rows]))
    data = read_table(path, "y")
    assert data.categorical == {"size": ("0,5", "L", "M", "S")}
    assert set(read_rows(path, ["size"], categories={"size": data.categorical["size"]})[:, 0]) == {0, 1, 2, 3}
    alone = table('size\n"0,5"\n"-0,5"\n', "alone.csv")  # numbers, if the model did not know them as labels
    assert read_rows(alone, ["size"], categories={"size": ("-0,5", "0,5")})[:, 0].tolist() == [1, 0]


def test_a_target_of_numbers_that_are_not_read_is_no_classification(table):
    path = table("\n".join(["a;y", *(f"{i};1.{i:03}" for i in range(60))]))
    with pytest.raises(DataError, match=r"target 'y': '1\.000' may be 1000 or 1\.000; .* --task classification"):
        read_table(path, "y")


def test_codes_that_are_read_as_numbers_are_told(table):
    path = table("\n".join(["zip,y", *(f"0{7000 + i % 5},{i % 2}" for i in range(60))]))
    note = "'zip': read as numbers, 007 as 7; --categorical zip keeps such codes as they are written"
    assert note in read_table(path, "y").notes
    data = read_table(path, "y", categorical=["zip"])
    assert note not in data.notes
    assert data.categorical["zip"][0] == "07000"


def test_groups_are_of_three_digits():
    spelling = Spelling(",", frozenset())
    assert spelling.plain("1.234,5") == "1234.5"
    assert [spelling.plain(text) for text in ("1.23,5", "0.123", "12.34", "1,2,3", "x")] == [None] * 5


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("1.234", 1.234), ("1,5", 1.5), ("1e3", 1000.0), ("-0,25", -0.25), ("0,234", 0.234), ("1.234,5", 1234.5),
        ("1,234.5", 1234.5), ("1,234,567", 1234567.0), ("1 234", 1234.0), ("\u22122,5", -2.5), (" 7 ", 7.0),
    ],
)  # fmt: skip
def test_a_typed_number_has_a_point_or_a_comma(text, number):
    assert read_typed(text) == number


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("1,234", "1,234 can be 1.234 or 1234; write 1.234 or 1234"),
        ("-12,000", "-12,000 can be -12.000 or -12000"),
        ("much", "expected a number, as 1234.5 or 1234,5"),
        ("inf", "expected a number"), ("1e999", "expected a number"), ("", "expected a number"),
        ("1.2.3", "expected a number"), ("1,2,3", "expected a number"), ("5 CHF", "without signs"),
    ],
)  # fmt: skip
def test_a_typed_text_that_is_no_number_or_two_is_refused(text, problem):
    with pytest.raises(ValueError, match=problem):
        read_typed(text)
