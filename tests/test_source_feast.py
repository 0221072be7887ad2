"""Feast's feature server: answers as it gives them (recorded from Feast 0.67), and answers that it must not give."""

import http.server
import json
import re
import threading

import pytest
from test_source_kinds import FRAME, agree, fetch

from costframe.core.errors import InquiryError, ParameterError
from costframe.sources import FeastSource, Sources
from costframe.sources.source import TripError

ROWS = {row["key"]: row for row in FRAME.to_dict("records")}
STATUSES = {"old": "OUTSIDE_MAX_AGE", "null": "NULL_VALUE", "strange": "INVALID"}
RECORDED = (
    b'{"results":[{"values":["k1","nulls","nobody"],"statuses":["PRESENT","PRESENT","PRESENT"],"event_timestamps":'
    b'["1970-01-01T00:00:00Z","1970-01-01T00:00:00Z","1970-01-01T00:00:00Z"]},{"values":[0.36159505490948474,null,null],'
    b'"statuses":["PRESENT","PRESENT","NOT_FOUND"],"event_timestamps":["2026-11-24T08:38:12Z","2026-11-24T08:38:12Z",'
    b'"1970-01-01T00:00:00Z"]},{"values":[true,false,null],"statuses":["PRESENT","PRESENT","NOT_FOUND"],'
    b'"event_timestamps":["2026-11-24T08:38:12Z","2026-11-24T08:38:12Z","1970-01-01T00:00:00Z"]}],"metadata":'
    b'{"feature_names":["person_id","blood__chol","profile__member"]}}'
)


class Server(http.server.BaseHTTPRequestHandler):
    """Answers of Feast: one column for the keys and each feature, in an order of its own."""

    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.server.asked.append((self.path, self.headers.get("authorization"), asked))
        status, headers, body = self.server.odd or (200, {}, None)
        if body is None:
            try:
                body = json.dumps(answer(asked)).encode()
            except ValueError:
                status, body = 500, b"\"invalid literal for int() with base 10: 'abc'\""
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def answer(asked):
    ((entity, keys),) = asked["entities"].items()
    kind = int if entity == "shop_id" else str
    keys = [kind(key) for key in keys]  # as Feast does: 1.5 becomes 1
    results = {entity: [(key, "PRESENT") for key in keys]}
    for name in reversed(asked["features"]):
        feature = name.partition(":")[2]
        results[name.replace(":", "__")] = [one(key, feature) for key in keys]
    columns = [{"values": [v for v, _ in each], "statuses": [s for _, s in each]} for each in results.values()]
    return {"results": columns, "metadata": {"feature_names": list(results)}}


def one(key, feature):
    if key in STATUSES:
        return None, STATUSES[key]
    row = ROWS.get(f"k{key}" if isinstance(key, int) else key)
    return (None, "NOT_FOUND") if row is None else (row[feature], "PRESENT")


@pytest.fixture
def server():
    pytest.importorskip("httpx", reason="needs httpx")
    found = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Server)
    found.asked, found.odd, found.daemon_threads = [], None, True
    threading.Thread(target=found.serve_forever, daemon=True).start()
    found.url = f"http://127.0.0.1:{found.server_port}"
    yield found
    found.shutdown()
    found.server_close()


def test_feast_gives_what_the_report_says(server):
    agree(lambda: FeastSource(server.url, "person_id", "blood"), FRAME.key.tolist())
    agree(lambda: FeastSource(server.url, "person_id"), FRAME.key.tolist(), "blood:{}".format)
    agree(lambda: FeastSource(server.url, "shop_id", "blood"), FRAME.number.tolist())


def test_a_recorded_answer_is_read(server):
    server.odd = (200, {}, RECORDED)
    places = ["profile:member", "blood:chol"]
    reply = fetch(FeastSource(server.url, "person_id"), dict.fromkeys(("k1", "nulls", "nobody"), places))
    assert reply == {
        "k1": {"blood:chol": 0.36159505490948474, "profile:member": True},
        "nulls": {"blood:chol": None, "profile:member": False},
    }
    ((path, _, asked),) = server.asked
    assert path == "/get-online-features"
    assert asked == {
        "features": ["blood:chol", "profile:member"],
        "entities": {"person_id": ["k1", "nulls", "nobody"]},
        "full_feature_names": True,
    }


def test_keys_that_want_the_same_go_together_and_no_feature_is_read_in_vain(server):
    source = FeastSource(f"{server.url}/", "person_id", "blood", {"authorization": "Bearer hunter2"})
    wanted = {"k1": ["age", "chol"], "k2": ["age"], b"k3": ["chol", "age"]}
    reply = fetch(source, wanted)
    assert reply == {
        key: {p: ROWS[key if isinstance(key, str) else key.decode()][p] for p in wanted[key]} for key in wanted
    }
    sent = sorted((asked["entities"]["person_id"], asked["features"]) for _, _, asked in server.asked)
    assert sent == [(["k1", "k3"], ["blood:age", "blood:chol"]), (["k2"], ["blood:age"])]
    assert {token for _, token, _ in server.asked} == {"Bearer hunter2"}
    assert "hunter2" not in repr(source)


def test_statuses_become_values_missing_and_absent_rows(server):
    source = FeastSource(server.url, "person_id", "blood")
    reply = fetch(source, {key: ["age"] for key in ("k1", "null", "old", "nobody", "strange")})
    assert reply.keys() == {"k1", "null", "strange"}
    assert reply["null"] == {"age": None}
    assert "'age' the status 'INVALID'" in str(reply["strange"])


def test_a_key_of_a_wrong_type_gets_no_other_keys_row(server):
    source = FeastSource(server.url, "shop_id", "blood")
    reply = fetch(source, {key: ["age"] for key in (1, "abc", 1.5, False, 10**6)})
    assert reply.keys() == {1, "abc", 1.5, False}
    assert reply[1] == {"age": ROWS["k1"]["age"]}
    assert "status 500" in str(reply["abc"])
    for key in (1.5, False):
        assert "a text or a whole number" in str(reply[key])
    assert "took the key for 7" in str(fetch(source, {"007": ["age"]})["007"])


@pytest.mark.parametrize(
    ("status", "headers", "body", "why"),
    [
        (500, {}, b"{}", "status 500"),
        (307, {"location": "http://127.0.0.1:1/"}, b"", "status 307"),
        (200, {}, b"<html>", "else than JSON"),
        (200, {}, b"[]", "not of the form"),
        (200, {}, b'{"results": [], "metadata": {"feature_names": ["person_id"]}}', "not of the form"),
        (200, {}, RECORDED, "3 values|1 values"),
        (200, {}, RECORDED.replace(b"profile__member", b"blood__chol"), "each feature once"),
        (200, {}, b'{"results": [], "metadata": {"feature_names": []}}', "no 'person_id'"),
        (200, {}, b" " * 3000, "more than 2,000 bytes"),
    ],
    ids=["error", "redirect", "html", "list", "lengths", "rows", "twice", "empty", "long"],
)
def test_other_answers_fail_their_keys(server, status, headers, body, why):
    server.odd = (status, headers, body)
    reply = fetch(FeastSource(server.url, "person_id", "blood", most_bytes=2000), {"k1": ["age"]})
    assert isinstance(reply["k1"], InquiryError if why != "status 500" else TripError)
    assert re.search(why, str(reply["k1"]))
    assert len(server.asked) == 1


def test_feast_in_a_file_of_sources(server, tmp_path, monkeypatch):
    monkeypatch.setenv("FEAST", server.url)
    path = tmp_path / "sources.toml"
    path.write_text(
        "[sources.blood]\nkind = 'feast'\nurl = '$FEAST'\nentity = 'person_id'\nview = 'blood'\nfeatures = ['chol']\n"
    )
    with Sources.load(path) as found:
        assert found.lookups["blood"].features.keys() == {"chol"}
        assert repr(found.lookups["blood"].source) == "FeastSource('blood')"


def test_settings_are_refused_by_name():
    pytest.importorskip("httpx", reason="needs httpx")
    for url in ("127.0.0.1:6566", "ftp://host", "http://", "http://host?a=1", 3):
        with pytest.raises(ParameterError, match="url"):
            FeastSource(url, "person_id")
    for wrong in ({"entity": ""}, {"view": 3}, {"headers": {"a": 1}}, {"connections": 0}, {"most_bytes": "x"}):
        with pytest.raises(ParameterError, match=next(iter(wrong))):
            FeastSource(**{"url": "http://host", "entity": "person_id"} | wrong)
