"""Hostile files, logs, replies, documents and values: a CostframeError in plain words, or a right result.

`nox -s fuzz` tries 100,000 cases and more; COSTFRAME_MUTATIONS and the hypothesis profile say how many.
"""

import asyncio
import json
import math
import tomllib
from decimal import Decimal

import numpy as np
import pytest
import tomli_w
from hypothesis import given
from hypothesis import strategies as st
from live_cases import COSTS, NAMES, Doing, sources, table, tree
from mutations import copies, mutate_bytes, mutate_json, survive
from test_storage import forged, parts_of

import costframe as cf
from costframe import CostframeError
from costframe.core.errors import printable
from costframe.core.predictors.fitted import as_predictor
from costframe.errors import InquiryError
from costframe.sources import CallSource, Field, Lookup, Sources
from costframe.sources.audits import describe_audit
from costframe.sources.documents import resolve_pointer
from costframe.sources.http import _parse

FRAME, TREE = table(12), tree()
ROWS = FRAME[list(NAMES)].to_numpy()
ROW = dict(zip(NAMES, ROWS[0].tolist(), strict=True))
SECRET = "hunter2"  # noqa: S105 - nobody's
SOURCES = """
[sources.blood]
kind = "sql"
url = "postgresql://me:${FUZZ_SECRET}@127.0.0.1/test"
table = "$FUZZ_SECRET"
key = "customer"
timeout = 0.25
missing = ["n/a"]
[sources.profile]
kind = "redis"
url = "redis://:$FUZZ_SECRET@127.0.0.1:6379/0"
name = "$FUZZ_SECRET:{key}"
by = "person"
features = { age = "age", scan = { place = "s", type = "number" } }
[sources.service]
kind = "http"
url = "https://127.0.0.1/x/{key}?token=$FUZZ_SECRET"
headers = { authorization = "Bearer ${FUZZ_SECRET}" }
connections = 4
features = { other = "/v/0" }
"""


def plain(text):
    """Whether a text may go to a terminal and to anybody."""
    return all(line.isprintable() for line in text.split("\n")) and SECRET not in text


def check(error):
    texts = [str(error), repr(error), *getattr(error, "__notes__", ())]
    assert str(error).strip()
    assert all(map(plain, texts)), texts


def hostile(read, mutate, original, default=60):
    """Give hostile copies to a reader; its errors are readable, and tell no secret."""

    def checked(copy):
        try:
            read(copy)
        except CostframeError as error:
            check(error)
            raise

    return survive(checked, copies(mutate, original, default))


def without_none(document):
    """Return a document without nulls, for which TOML has no word."""
    if isinstance(document, dict):
        return {name: without_none(each) for name, each in document.items() if each is not None}
    return [without_none(each) for each in document if each is not None] if isinstance(document, list) else document


def as_toml(document):
    return tomli_w.dumps(without_none(document if isinstance(document, dict) else {"sources": document}))


@pytest.mark.parametrize("mutate", [mutate_bytes, mutate_json], ids=["bytes", "entries"])
def test_files_of_sources(mutate, tmp_path, monkeypatch):
    for module in ("psycopg", "httpx", "redis"):
        pytest.importorskip(module, reason=f"needs {module}")
    monkeypatch.setenv("FUZZ_SECRET", SECRET)
    path = tmp_path / "sources.toml"

    def read(copy):
        content = copy if isinstance(copy, bytes) else as_toml(copy).encode("utf-8", "surrogatepass")
        path.write_bytes(content)
        with Sources.load(path, COSTS) as found:
            assert plain(printable(repr(found)))
            assert all(plain(repr(lookup)) for lookup in found.lookups.values())

    read(SOURCES.encode())
    original = SOURCES.encode() if mutate is mutate_bytes else tomllib.loads(SOURCES)
    assert hostile(read, mutate, original).refused > 0


@pytest.mark.parametrize("mutate", [mutate_bytes, mutate_json], ids=["bytes", "entries"])
@pytest.mark.parametrize("suffix", ["toml", "json"])
def test_files_of_costs(suffix, mutate, tmp_path):
    path, again = tmp_path / f"costs.{suffix}", tmp_path / "again.toml"
    write = {"toml": as_toml, "json": json.dumps}[suffix]

    def read(copy):
        path.write_bytes(copy if isinstance(copy, bytes) else write(copy).encode("utf-8", "surrogatepass"))
        costs = cf.CostModel.load(path)
        assert math.isfinite(costs.full_cost())
        costs.save(again)
        assert cf.CostModel.load(again) == costs

    original = COSTS.to_dict() if mutate is mutate_json else write(COSTS.to_dict()).encode()
    read(original)
    assert hostile(read, mutate, original).refused > 0


@pytest.mark.parametrize("mutate", [mutate_bytes, mutate_json], ids=["bytes", "entries"])
def test_logs_of_inquiries(mutate, tmp_path):
    path = tmp_path / "log.jsonl"

    def one_fails(trip, _wanted, values):
        if trip % 2:
            raise OSError
        return values

    with cf.sources.InquiryLog(path) as log, sources(FRAME, Doing(FRAME, one_fails), on_failure="missing") as found:
        list(cf.predict_stream(TREE, found, FRAME.key, observe=log, in_flight=4, deadline=60.0))
    content = path.read_bytes()
    costs = [json.loads(line).get("cost", 0.0) for line in content.splitlines()]
    text = content if mutate is mutate_bytes else [json.loads(line) for line in content.splitlines()]

    def read(copy):
        lines = copy if isinstance(copy, list | bytes) else [copy]
        path.write_bytes(lines if isinstance(copy, bytes) else "".join(json.dumps(x) + "\n" for x in lines).encode())
        found = cf.sources.audit(path, TREE)
        assert all(map(plain, (*describe_audit(found), *found.differences)))
        if found.agrees:  # whole rows may be gone, or there twice; what is there has its price
            rows = [json.loads(line) for line in path.read_text().splitlines(keepends=True) if line.endswith("\n")]
            assert all(np.isclose(row["cost"], costs, rtol=1e-9, atol=0.0).any() for row in rows if "cost" in row)

    read(text)
    assert hostile(read, mutate, text).refused > 0


@pytest.mark.parametrize("part", ["header", "numbers"])
def test_saved_models_with_a_valid_checksum(part, tmp_path):
    """Of files whose checksum does not fit, test_storage tries every byte."""
    path = tmp_path / "m"
    cf.save(TREE, path)
    header, payload = parts_of(path.read_bytes())

    def read(copy):
        path.write_bytes(forged(copy, payload) if part == "header" else forged(header, copy))
        predictor = as_predictor(cf.load(path))
        with np.errstate(all="ignore"):
            predictor.predict(ROWS)
            report = predictor.cost(ROWS)
        assert (report.per_row >= 0).all()

    original, mutate = (header, mutate_json) if part == "header" else (payload, mutate_bytes)
    read(original)
    assert hostile(read, mutate, original).refused > 0


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=9) | st.sampled_from(NAMES),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3) | st.sampled_from(NAMES), inner),
    max_leaves=8,
)


class Odd:
    """Raises whatever is done with it, and clears the terminal where it is shown."""

    def __repr__(self):
        return "\x1b[2J"

    def fail(self, *_):
        raise RuntimeError("odd")

    __float__ = __eq__ = __hash__ = fail


RAW = (
    JSON
    | st.binary(max_size=9)
    | st.decimals()
    | st.fractions()
    | st.complex_numbers()
    | st.dates()
    | st.sampled_from(["yes", b"F", " n/a ", "1_0", "1e400", "-inf", 10**400, Decimal("sNaN"), "\ud800", "\x1b[2J"])
    | st.sampled_from([np.float32(0.5), np.int8(3), np.bool_(1), np.str_("red"), np.datetime64("NaT"), np.array([1.0])])
    | st.builds(Odd)
    | st.builds(lambda: memoryview(b"12"))
    | st.sampled_from([OSError("no secret"), InquiryError("x")])
)


@given(RAW, st.sampled_from([None, "number", "text", "truth"]), st.sampled_from([None, ("red", "blue")]))
def test_raw_values(raw, kind, labels):
    """A field reads a number, or refuses the value; whatever else it raises, lookups catch."""
    field = Field("x", kind, ("", "n/a"))
    try:
        number = field.read(raw, labels)
    except InquiryError as error:
        check(error)
        return
    except (RuntimeError, OSError):
        assert isinstance(raw, Odd | OSError)  # as lookups know
        return
    assert type(number) is float
    if isinstance(raw, float) and kind in {None, "number"} and labels is None:
        assert number == raw or math.isnan(raw)
    if labels is not None and kind in {None, "text"} and isinstance(raw, str):
        assert number == labels.index(raw) if raw in labels else math.isnan(number)


class Replies:
    """Functions whose replies come from a list, and then are right."""

    def __init__(self, replies):
        self.replies = list(replies)

    def next(self, right):
        return self.replies.pop() if self.replies else right

    def one(self, names):
        return self.next({name: ROW[name] for name in names})

    async def later(self, names):
        return self.one(names)

    def many(self, wanted):
        return self.next({key: {name: ROW[name] for name in names} for key, names in wanted.items()})

    def each(self, _key, places):
        return self.next({place: ROW[place] for place in places})


def ended(work):
    """Return the result of a driver, or None with a readable error."""
    try:
        return work()
    except CostframeError as error:
        check(error)
        return None


@given(
    st.lists(RAW | st.fixed_dictionaries({"age": RAW}) | st.dictionaries(st.sampled_from(["k", 1]), RAW), max_size=2)
)
def test_replies_through_every_driver(replies):
    """A reply is refused, or its values are used; the rows of other keys, and of later trips, are right."""
    right = cf.predict_one(TREE, ROW)
    drivers = [
        lambda r: [cf.predict_one(TREE, r.one)],
        lambda r: [asyncio.run(cf.predict_one_async(TREE, r.later))],
        lambda r: cf.predict_many(TREE, r.many, ["k"]),
    ]
    for drive in drivers:
        end = ended(lambda drive=drive: drive(Replies(replies)))
        assert replies or (end[0].value, end[0].cost) == (right.value, right.cost)
    for call, each in (("many", False), ("each", True)):
        source = CallSource(getattr(Replies(replies), call), each=each)
        with Sources({"all": Lookup(source, NAMES)}) as found:
            ends = list(cf.predict_stream(TREE, found, ["k", 1], in_flight=1))
            done = not source.calls.__self__.replies
            again = cf.predict_one(TREE, found, key="k") if done else right
        assert [key for key, _ in ends] == ["k", 1]
        assert all(isinstance(end, cf.Prediction) or plain(str(end)) for _, end in ends)
        assert (again.value, again.cost) == (right.value, right.cost)


def walk(document, pointer):
    """Return the value at a JSON pointer, written once more by the letter of RFC 6901; else a KeyError."""
    for step in pointer.split("/")[1:]:
        name = step.replace("~1", "/").replace("~0", "~")
        if isinstance(document, list):
            if name != "0" and (not name.isascii() or not name.isdigit() or name.startswith("0")):
                raise KeyError(name)
            if len(name) > 9 or int(name) >= len(document):
                raise KeyError(name)
            document = document[int(name)]
        elif isinstance(document, dict):
            document = document[name]
        else:
            raise KeyError(name)
    return document


STEPS = st.text(max_size=3) | st.sampled_from([*NAMES, "0", "1", "01", "-", "~0", "~1", "٣", "9" * 5000])


@given(JSON, st.lists(STEPS, max_size=4), st.data())
def test_documents_and_pointers(document, steps, data):
    pointer = "".join(f"/{step}" for step in steps) or "/"
    content = json.dumps(document).encode()
    if data.draw(st.booleans()):
        content = mutate_bytes(content, np.random.default_rng(data.draw(st.integers(0, 10**6))))
    try:
        document = _parse(content)
    except InquiryError as error:
        check(error)
        return
    try:
        right = walk(document, pointer)
    except KeyError:
        assert resolve_pointer(document, pointer) == []
        return
    (found,) = resolve_pointer(document, pointer)
    if isinstance(right, dict | list):
        assert isinstance(found, InquiryError)
    else:
        assert found is right
