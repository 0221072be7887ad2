"""Feast's feature server: answers as it gives them (recorded from Feast 0.67), and answers that it must not give."""

import asyncio
import http.server
import json
import threading

import numpy as np
import pytest
from costframe_feast import FeastSource
from sklearn.tree import DecisionTreeRegressor

import costframe as cf
from costframe.plugin import ParameterError
from costframe.sources import KeyRefusedError

X = np.random.default_rng(0).standard_normal((40, 2))
STATUSES = {"old": "OUTSIDE_MAX_AGE", "null": "NULL_VALUE"}
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

    def log_message(self, *_):
        pass

    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.server.asked.append((self.path, self.headers.get("authorization"), asked))
        try:
            status, body = 200, self.server.answer or json.dumps(answer(asked)).encode()
        except ValueError:
            status, body = 500, b"\"invalid literal for int() with base 10: 'abc'\""
        self.send_response(status)
        self.end_headers()
        self.wfile.write(body)


def answer(asked):
    ((entity, keys),) = asked["entities"].items()
    keys = [int(key) for key in keys] if entity == "shop_id" else keys
    results = {entity: [(key, "PRESENT") for key in keys]}
    for name in reversed(asked["features"]):
        results[name.replace(":", "__")] = [one(key, name.partition(":")[2]) for key in keys]
    columns = [dict(zip(("values", "statuses"), zip(*each, strict=True), strict=True)) for each in results.values()]
    return {"results": columns, "metadata": {"feature_names": list(results)}}


def one(key, feature):
    if key in STATUSES:
        return None, STATUSES[key]
    row = int(str(key).lstrip("k")) if str(key).lstrip("k").isdigit() else len(X)
    return (X[row, "ab".index(feature)], "PRESENT") if row < len(X) else (None, "NOT_FOUND")


@pytest.fixture
def server():
    found = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Server)
    found.asked, found.answer, found.daemon_threads = [], None, True
    threading.Thread(target=found.serve_forever, daemon=True).start()
    found.url = f"http://127.0.0.1:{found.server_port}"
    yield found
    found.shutdown()
    found.server_close()


def fetch(source, wanted):
    async def main():
        try:
            return await source.fetch(wanted)
        finally:
            await source.close()

    return asyncio.run(main())


def test_live_rows_pay_what_the_model_says(server, tmp_path, monkeypatch):
    costs = {"features": {"a": 1.0, "b": {"cost": 0.0, "needs": ["blood"]}}, "resources": {"blood": 3.0}}
    tree = DecisionTreeRegressor(max_depth=3).fit(X, X[:, 0] * X[:, 1])
    model = cf.adopt(tree, feature_names=["a", "b"]).with_costs(cf.CostModel.of(costs, ["a", "b"]))
    monkeypatch.setenv("FEAST", server.url)
    path = tmp_path / "sources.toml"
    path.write_text(
        "[sources.all]\nkind = 'feast'\nurl = '$FEAST'\nentity = 'shop_id'\nview = 'blood'\nfeatures = ['a', 'b']\n"
    )
    with cf.sources.Sources.load(path) as sources:
        ends = dict(cf.predict_stream(model, sources, range(len(X))))
    assert [ends[key].cost for key in range(len(X))] == model.cost(X).per_row.tolist()
    assert [ends[key].value for key in range(len(X))] == model.predict(X).tolist()


def test_a_recorded_answer_is_read(server):
    server.answer = RECORDED
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
    reply = fetch(source, {"k1": ["a", "b"], "k2": ["a"], "k3": ["b", "a"]})
    assert reply == {
        "k1": dict(zip("ab", X[1], strict=True)),
        "k2": {"a": X[2, 0]},
        "k3": dict(zip("ab", X[3], strict=True)),
    }
    sent = sorted((asked["entities"]["person_id"], asked["features"]) for _, _, asked in server.asked)
    assert sent == [(["k1", "k3"], ["blood:a", "blood:b"]), (["k2"], ["blood:a"])]
    assert {token for _, token, _ in server.asked} == {"Bearer hunter2"}
    assert "hunter2" not in repr(source)


def test_statuses_become_values_missing_and_absent_rows(server):
    reply = fetch(FeastSource(server.url, "person_id", "blood"), dict.fromkeys(("k1", "null", "old", "nobody"), "a"))
    assert reply == {"k1": {"a": X[1, 0]}, "null": {"a": None}}


def test_a_key_of_a_wrong_type_gets_no_other_keys_row(server):
    reply = fetch(FeastSource(server.url, "shop_id", "blood"), dict.fromkeys((1, "abc", 1.5, 10**6), "a"))
    assert reply.keys() == {1, "abc", 1.5}
    assert reply[1] == {"a": X[1, 0]}
    assert "500" in str(reply["abc"])
    assert isinstance(reply[1.5], KeyRefusedError)
    assert isinstance(fetch(FeastSource(server.url, "shop_id", "blood"), {True: "a"})[True], KeyRefusedError)
    assert "'007' for 7" in str(fetch(FeastSource(server.url, "shop_id", "blood"), {"007": ["a"]})["007"])


@pytest.mark.parametrize("body", [b"<html>", b"[]", b'{"results": [], "metadata": {"feature_names": ["a"]}}', RECORDED])
def test_answers_of_another_form_fail_their_keys(server, body):
    server.answer = body
    reply = fetch(FeastSource(server.url, "person_id", "blood"), {"k1": ["a"]})
    assert isinstance(reply["k1"], Exception)


def test_an_address_without_a_scheme_is_refused():
    with pytest.raises(ParameterError, match="url"):
        FeastSource("127.0.0.1:6566", "person_id")
