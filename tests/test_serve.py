"""The service answers what the model answers, to the bit; it refuses by name what it cannot take, and keeps nothing."""

from __future__ import annotations

import json
import math
import time
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from attrs import evolve

pytest.importorskip("starlette", reason="needs starlette")
pytest.importorskip("httpx", reason="needs httpx")
from serve_cases import NAMES, PRICES, client, model, post, rows, serve_file, talk

import costframe as cf
from costframe.core.predictors.fitted import FittedEstimator
from costframe.core.tables.categories import OTHER
from costframe.serve.conversation import Conversation
from costframe.serve.replies import describe_model
from costframe.serve.seals import Seal

JSON = {"content-type": "application/json"}


@pytest.fixture(scope="module", params=["cegb", "planner"])
def fitted(request):
    return model(request.param)


@pytest.fixture
def path(fitted, tmp_path):
    cf.save(fitted, tmp_path / "my.model")
    return tmp_path / "my.model"


@pytest.fixture
def http(path):
    with client(serve_file(path)) as opened:
        yield opened


def told(row):
    return {name: None if math.isnan(value) else value for name, value in zip(NAMES, row.tolist(), strict=True)}


def test_a_conversation_ends_as_the_inquiry_does_to_the_bit(fitted, http):
    X, _ = rows(40, seed=1)
    for row in X:
        last = talk(http, told(row))[-1]
        end = cf.predict_one(fitted, dict(zip(NAMES, row.tolist(), strict=True)))
        answer = last["answer"]
        assert answer["cost"] == end.cost == last["cost"]
        assert answer["acquired"] == list(end.acquired)
        assert answer["label"] == end.label
        assert answer["probabilities"][1] == {"label": "well", "probability": float(end.value)}
        assert (answer["rounds"], answer["reason"]) == (end.rounds, end.reason)
        assert last["state"] is None


def test_values_at_the_start_are_known_for_free(http):
    X, _ = rows(1, seed=2)
    steps = talk(http, told(X[0]), values={"age": 1.0, "scan": None})
    assert not {"age", "scan"} & set(steps[-1]["answer"]["acquired"])


def test_the_price_of_a_step_is_what_the_bill_grows_by(http):
    X, _ = rows(20, seed=3)
    for row in X:
        steps = talk(http, told(row))
        for before, after in pairwise(steps):
            assert after["cost"] == pytest.approx(before["cost"] + before["price"], abs=1e-9)


def test_what_cannot_be_had_is_gone_without_and_stays_on_no_bill(fitted, http):
    step = post(http, "/next", values={})
    while step["answer"] is None and "scan" not in {ask["name"] for ask in step["asks"]}:
        step = post(http, "/next", state=step["state"], values={ask["name"]: 0.1 for ask in step["asks"]})
    if step["answer"] is not None:
        pytest.skip("the model asks for no scan")
    paid = step["cost"]
    step = post(http, "/next", state=step["state"], unavailable=["scan"])
    while step["answer"] is None:
        step = post(http, "/next", state=step["state"], values={ask["name"]: 0.1 for ask in step["asks"]})
    assert "scan" not in step["answer"]["acquired"]
    assert step["answer"]["cost"] >= paid
    bought = step["answer"]["acquired"]
    assert step["answer"]["cost"] == fitted.costs_.full_cost(bought)


def test_a_part_of_what_is_asked_can_be_told(http):
    step = post(http, "/next", unavailable=["scan"])
    asks = [ask["name"] for ask in step["asks"]]
    one = post(http, "/next", state=step["state"], values={asks[0]: 0.3})
    if len(asks) > 1:
        assert [ask["name"] for ask in one["asks"]] == asks[1:]
        assert one["cost"] <= step["cost"] + step["price"]
        together = post(http, "/next", state=one["state"], values=dict.fromkeys(asks[1:], 0.2))
        at_once = post(http, "/next", state=step["state"], values={asks[0]: 0.3} | dict.fromkeys(asks[1:], 0.2))
        assert together == at_once


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ({"values": {"blod": 1}}, "'blod'"),
        ({"values": {"age": "old"}}, "value of 'age': expected a number"),
        ({"values": {"age": "1,234"}}, "value of 'age': 1,234 can be 1.234 or 1234; write 1.234 or 1234"),
        ({"known": {"age": "1,234"}}, "1,234 can be 1.234 or 1234"),
        ({"values": [1]}, "values: expected an object"),
        ({"valus": {}}, "did you mean 'values'"),
        ({"state": 3}, "state: expected a text"),
        ({"state": "plain.e30"}, "state"),
        ({"state": "plain.@@"}, "state"),
        ({"state": "signed.e30.00"}, "signature"),
        ({"unavailable": "scan"}, "unavailable: expected a list"),
        ({"unavailable": ["mri"]}, "mri"),
        ({"max_cost": "5"}, "max_cost: expected a number"),
        ({"max_cost": -1}, "max_cost"),
        ({"max_cost": True}, "max_cost"),
        ({"known": 3}, "known"),
        ({"include": ["all"]}, "include"),
        ({"values": {"age": {"a": 1}}}, "'age'"),
    ],
)
def test_what_is_not_as_expected_is_refused_by_name(http, content, text):
    assert text in post(http, "/next", status=400, **content)["error"]


def test_numbers_may_be_texts_as_people_type_them(http):
    first = post(http, "/next", values={"age": 0.5, "glucose": -1.25, "iron": 1000.0})
    assert post(http, "/next", values={"age": "0,5", "glucose": " -1.25", "iron": "1e3"}) == first
    row = {"age": 0.5, "glucose": 1.5, "iron": 0.25, "scan": 2.0}
    typed = {"age": "0.5", "glucose": "1,5", "iron": 0.25, "scan": "2"}
    assert post(http, "/predict", values=typed) == post(http, "/predict", values=row)


def test_labels_that_stand_for_others_are_not_listed(tmp_path):
    fitted = table_of_labels("3")
    labels = (*fitted.predictor_.categories["grade"], OTHER)
    cf.save(cf.FittedEstimator(fitted.predictor_.with_categories({"grade": labels})), tmp_path / "a.model")
    with client(serve_file(tmp_path / "a.model")) as http:
        (feature,) = http.get("/model").json()["features"]
        assert feature["other"]
        assert feature["labels"] == list(labels[:-1])


def test_a_model_tells_the_limits_that_it_takes(fitted, http):
    of_plans = ["tradeoff"] if fitted.predictor_.card.plans else []
    assert http.get("/model").json()["takes"] == ["max_cost", "unavailable", *of_plans]
    told = describe_model(cf.certain(model("cegb"), "class"), cf.CostModel.of(PRICES), "a", ())
    assert told["takes"] == []


def test_terms_belong_to_the_start(http):
    state = post(http, "/next")["state"]
    assert "max_cost" in post(http, "/next", status=400, state=state, max_cost=3)["error"]


def test_values_told_twice_are_refused(http):
    first = post(http, "/next")
    values = {ask["name"]: 0.5 for ask in first["asks"]}
    second = post(http, "/next", state=first["state"], values=values)
    if second["state"] is not None:
        assert "begin again" in post(http, "/next", status=400, state=second["state"], values=values)["error"]


@pytest.mark.parametrize(("body", "kind", "status"), [
    (b"{", "application/json", 400), (b"[]", "application/json", 400), (b"\xff", "application/json", 400),
    (b'{"max_cost": NaN}', "application/json", 400), (b"{}", "text/plain", 415),
    (b"[" * 100_000, "application/json", 400), ('{"max_cost": 3}'.encode("utf-16"), "application/json", 400),
    (b'{"values": {"age": "\xed\xa0\x80"}}', "application/json", 400),
    (b" " * (1 << 21), "application/json", 413),
])  # fmt: skip
def test_other_bodies_are_refused(http, body, kind, status):
    response = http.post("/next", content=body, headers={"content-type": kind})
    assert response.status_code == status
    assert response.json().keys() == {"error"}


def test_a_fault_of_ours_is_not_told(http, monkeypatch):
    def fail(*_):
        raise RuntimeError("the password is 1234")

    monkeypatch.setattr("costframe.serve.service.describe_step", fail)
    response = http.post("/next", json={})
    assert (response.status_code, "1234" in response.text) == (500, False)
    assert "internal error" in response.text


def test_a_cap_holds_through_what_cannot_be_had(http):
    X, _ = rows(20, seed=5)
    for row in X:
        step = post(http, "/next", max_cost=8)
        while step["answer"] is None:
            assert step["cost"] + step["price"] <= 8
            names = [ask["name"] for ask in step["asks"]]
            values = {name: told(row)[name] for name in names[1:]}
            step = post(http, "/next", state=step["state"], values=values, unavailable=names[:1])
        assert step["answer"]["cost"] <= 8


def test_states_are_signed_by_a_key(path, tmp_path):
    key = tmp_path / "key"
    key.write_bytes(b"0123456789abcdef\n")
    with client(serve_file(path, seal=Seal.of_file(key))) as http, client(serve_file(path)) as other:
        state = post(http, "/next")["state"]
        content = state.split(".")[1]
        assert "signature" in post(http, "/next", status=400, state=f"plain.{content}")["error"]
        assert (
            "signature"
            in post(http, "/next", status=400, state=f"signed.{content[:-4]}AAAA.{state.split('.')[2]}")["error"]
        )
        assert "signature" in post(other, "/next", status=400, state=state)["error"]
        assert post(http, "/next", state=state)["state"] == state
    key.write_bytes(b"short")
    with pytest.raises(cf.errors.ParameterError, match="at least 16 bytes"):
        Seal.of_file(key)


def test_a_new_model_serves_and_conversations_go_on_with_theirs(path):
    with client(serve_file(path)) as http:
        first = post(http, "/next")
        names = [ask["name"] for ask in first["asks"]]
        expected = post(http, "/next", state=first["state"], values=dict.fromkeys(names, 0.4))
        cf.save(model("cegb", tradeoff=0.5), path)
        before = http.get("/model").json()
        for _ in range(100):
            time.sleep(0.1)
            if http.get("/model").json()["facts"] != before["facts"]:
                break
        else:
            pytest.fail("the new model does not serve")
        assert post(http, "/next", state=first["state"], values=dict.fromkeys(names, 0.4)) == expected
        path.write_bytes(b"no model")
        for _ in range(100):
            time.sleep(0.1)
            if http.get("/health").json()["status"] == "degraded":
                break
        else:
            pytest.fail("health does not tell of the file")
        assert post(http, "/next")["state"]


def test_rows_with_their_values_are_predicted(fitted, http):
    X, _ = rows(5, seed=7)
    for row in X:
        end = cf.predict_one(fitted, dict(zip(NAMES, row.tolist(), strict=True)))
        assert post(http, "/predict", values=told(row))["cost"] == end.cost
    assert "expected either" in post(http, "/predict", status=400)["error"]
    assert "no sources" in post(http, "/predict", status=400, key=1)["error"]


def test_rows_of_sources_are_predicted(fitted, path):
    import pandas as pd

    from costframe.sources import Lookup, Policy, Sources, TableSource

    X, _ = rows(5, seed=8)
    table = pd.DataFrame(X, columns=list(NAMES)).assign(id=range(5))
    lookup = Lookup(TableSource(table, "id"), list(NAMES), policy=Policy(on_failure="raise"))
    service = serve_file(path, open_sources=lambda: Sources({"all": lookup}))
    with client(service) as http:
        for key, row in enumerate(X):
            end = cf.predict_one(fitted, dict(zip(NAMES, row.tolist(), strict=True)))
            assert post(http, "/predict", key=key)["cost"] == end.cost
        error = post(http, "/predict", status=502, key=99)["error"]
        assert "99" not in error
        assert "costframe_rows_total" in http.get("/metrics").text


def test_the_bill_of_a_row_says_what_its_sources_were_paid(fitted, path):
    from costframe.sources import Lookup, PaidCall, Policy, Sources

    def fetch(key):
        if key < 0:
            raise ConnectionError("password 1234")
        return dict.fromkeys(NAMES, 0.25)

    call = PaidCall(fetch, lambda key, _: "0.7" if key == 9 else 0.7, max_price=1, total_cost=4)
    policy = Policy(on_failure="raise", retries=1, backoff=0.0)
    service = serve_file(path, open_sources=lambda: Sources({"all": Lookup(call, list(NAMES), policy=policy)}))
    with client(service) as http:
        told = post(http, "/predict", key=1)
        end = cf.predict_one(fitted, dict.fromkeys(NAMES, 0.25))
        assert (told["cost"], told["paid"]) == (end.cost, 0.7)  # later rounds find the answer at hand
        lost = post(http, "/predict", key=-1, status=502)
        assert lost["paid"] == 2.0  # both calls, at the most that they could cost
        assert "1234" not in str(lost)
        assert post(http, "/predict", key=2)["paid"] == 0.7
        left = post(http, "/predict", key=3, status=503)
        assert (left["paid"], left["cost"]) == (0.0, 0.0)
        assert "may pay in all" in left["error"]


def test_the_document_of_the_interface_names_features(http):
    document = http.get("/openapi.json").json()
    step = document["components"]["schemas"]["Step"]["properties"]
    assert step["values"]["properties"].keys() <= set(NAMES)
    takes = http.get("/model").json()["takes"]
    for term in ("max_cost", "tradeoff"):
        assert (term in step) == (term in takes)
        assert term in takes or "only a plan" in post(http, "/next", status=400, **{term: 0.0})["error"]
    names = step["unavailable"]["items"]["enum"]
    assert "blood" in names
    for term in ("state", "values", "unavailable", "known", "include", *{"max_cost", "tradeoff"}.intersection(takes)):
        assert "null" in (step[term].get("type") or [kind["type"] for kind in step[term]["anyOf"]])
        assert post(http, "/next", **{term: None})["asks"]
    for name in names:
        assert post(http, "/next", unavailable=[name])
        assert post(http, "/next", known=[name])
        assert post(http, "/next", known={name: None})
    paths = set(document["paths"])
    assert {"/next", "/predict", "/health", "/metrics"} <= paths
    for name in set(json.dumps(document).split('"#/components/schemas/')[1:]):
        assert name.split('"')[0] in document["components"]["schemas"]


def test_other_hosts_are_refused_in_json(path):
    with client(serve_file(path, hosts=("localhost", "[::1]", "Name.example"))) as http:
        for host in ("evil.example", "", "localhost.evil.example", "[::1", "[::2]", "localhost:80:80", "::1", "*"):
            response = http.get("/health", headers={"host": host})
            assert (response.status_code, "--allow-host" in response.json()["error"]) == (400, True)
        for host in ("localhost:8000", "[::1]:8000", "[::1]", "name.EXAMPLE"):
            assert http.get("/health", headers={"host": host}).status_code == 200
    with client(serve_file(path, hosts=("*",))) as http:
        assert http.get("/health", headers={"host": "evil.example"}).status_code == 200


def test_an_address_has_one_form(http):
    for path_ in ("/next/", "/nothing", "/health/"):
        response = http.post(path_, json={}, follow_redirects=False)
        assert (response.status_code, response.json().keys()) == (404, {"error"})
    assert http.get("/next").headers["allow"] == "POST"


def test_why_and_so_far_are_told_where_asked(http):
    step = post(http, "/next", include=["why", "so_far", "changes"])
    assert step["why"]["text"]
    assert math.isclose(sum(p["probability"] for p in step["so_far"]["probabilities"]), 1.0)
    assert "why" not in post(http, "/next", include=[])


def test_steps_are_the_same_whichever_process_takes_them(path):
    X, _ = rows(1, seed=9)
    with client(serve_file(path)) as one, client(serve_file(path)) as other:
        row, steps, turn = told(X[0]), [post(one, "/next")], 0
        while steps[-1]["answer"] is None:
            turn += 1
            values = {ask["name"]: row[ask["name"]] for ask in steps[-1]["asks"]}
            steps.append(post((one, other)[turn % 2], "/next", state=steps[-1]["state"], values=values))
        assert steps[-1]["answer"] == talk(one, row)[-1]["answer"]


def test_missing_values_are_paid(http):
    step = post(http, "/next")
    asks = [ask["name"] for ask in step["asks"]]
    after = post(http, "/next", state=step["state"], values=dict.fromkeys(asks))
    assert after["cost"] == step["cost"] + step["price"]
    assert np.isfinite(after["cost"])


@pytest.mark.parametrize("path_", ["/next", "/predict"])
@pytest.mark.parametrize(("body", "text"), [
    ('{"values": {"age": 1, "age": 2}}', "stands twice"),
    ('{"max_cost": 1e999, "values": {}}', "1e999"),
    ('{"values": {"age": -1e999}}', "-1e999"),
    ('{"values": {"blood": 3}}', "'blood': it is no feature"),
    ('{"values": {"blod": 3}}', "'blod': it is no feature"),
    ('{"values": {}, "known": {"blood": 3}}', "'blood': it is no feature"),
])  # fmt: skip
def test_what_json_leaves_open_is_refused(http, path_, body, text):
    response = http.post(path_, content=body, headers=JSON)
    assert response.status_code == 400
    assert text in response.json()["error"]


@pytest.mark.parametrize("state", ["plain.aa.\ud800", "signed.\ud800.x", "\ud800", "plain.é"])
def test_states_of_other_letters_are_refused(path, state):
    for key in (None, b"k" * 16):
        with client(serve_file(path, seal=Seal(key))) as http:
            response = http.post("/next", content=json.dumps({"state": state}).encode(), headers=JSON)
            assert (response.status_code, "state" in response.json()["error"]) == (400, True)


def test_values_that_a_row_lacks_are_named(http):
    assert "give null" in post(http, "/predict", status=400, values={"age": 1})["error"]


def table_of_labels(first):
    frame = pd.DataFrame({"grade": pd.Categorical(["1", "2", first, "2"] * 30)})
    y = np.where(frame["grade"] == "1", "ill", "\ud800")
    return cf.estimator("cegb", costs=cf.CostModel.uniform(["grade"]), tradeoff=1e-4).fit(frame, y)


def test_a_label_is_a_text_and_not_its_number(tmp_path):
    cf.save(table_of_labels("3"), tmp_path / "a.model")
    with client(serve_file(tmp_path / "a.model")) as http:
        state = post(http, "/next")["state"]
        for asked in ({"values": {"grade": 1}}, {"known": {"grade": True}}, {"state": state, "values": {"grade": 1.0}}):
            assert "expected a label as a text" in post(http, "/next", status=400, **asked)["error"]
        assert "expected a label" in post(http, "/predict", status=400, values={"grade": 1})["error"]
        assert post(http, "/predict", values={"grade": "1"})["label"] == "ill"


def test_a_lone_surrogate_in_a_label_is_told(tmp_path):
    cf.save(table_of_labels("3"), tmp_path / "a.model")
    with client(serve_file(tmp_path / "a.model")) as http:
        assert "\ud800" in http.get("/model").json()["classes"]
        assert post(http, "/predict", values={"grade": "2"})["label"] == "\ud800"


def wait_until(http, status):
    for _ in range(100):
        http.get("/model")
        if (told := http.get("/health").json())["status"] == status:
            return told
        time.sleep(0.1)
    raise AssertionError(told)


def test_health_tells_of_a_file_that_is_gone_or_broken_and_not_where_it_is(path, caplog):
    content = path.read_bytes()
    with client(serve_file(path)) as http:
        path.unlink()
        assert "gone" in wait_until(http, "degraded")["problem"]
        path.write_bytes(content)
        wait_until(http, "ok")
        path.write_bytes(b"no model")
        told = wait_until(http, "degraded")["problem"]
        assert str(path.parent) not in told
        assert post(http, "/next")["asks"]
    assert str(path) in caplog.text


def test_a_process_that_starts_beside_a_broken_file_serves_what_the_others_serve(path, tmp_path, caplog):
    spare = tmp_path / "spare.model"
    with pytest.raises(cf.errors.CostframeError):
        serve_file(tmp_path / "nothing", spare)
    state = serve_file(path, spare).step(b"{}")["state"]
    for content in (b"no model", path.read_bytes()[:1000], None):
        path.unlink() if content is None else path.write_bytes(content)
        later = serve_file(path, spare)
        assert later.models.problem
        assert later.step(json.dumps({"state": state}).encode())["asks"]
    assert {entry.name for entry in tmp_path.iterdir()} == {"spare.model"}
    assert str(path) in caplog.text
    assert "spare" not in caplog.text


def test_a_conversation_goes_on_at_the_prices_that_it_began_with(tmp_path):
    fitted, path = model("planner"), tmp_path / "my.model"
    cf.save(fitted, path)
    dearer = {**PRICES, "features": PRICES["features"] | {"scan": 26}}
    with client(serve_file(path)) as http:
        first = post(http, "/next")
        other = evolve(fitted.predictor_, costs=cf.CostModel.of(dearer))
        cf.save(FittedEstimator(other, "classifier"), path)
        for _ in range(100):
            prices = [feature["price"] for feature in http.get("/model").json()["features"]]
            if 26 in prices:
                break
            time.sleep(0.1)
        assert 26 in prices
        assert post(http, "/next", state=first["state"])["price"] == first["price"]
    cf.save(fitted, path)
    with client(serve_file(path)) as http:
        old = post(http, "/next")["state"]
    cf.save(FittedEstimator(other, "classifier"), path)
    with client(serve_file(path)) as http:
        assert "the prices have changed" in post(http, "/next", status=400, state=old)["error"]


def test_a_file_that_is_written_anew_pushes_no_other_model_out(tmp_path):
    path = tmp_path / "my.model"
    cf.save(model("cegb"), path)
    service = serve_file(path)
    first = service.step(b"{}")["state"]
    cf.save(model("planner"), path)
    for _ in range(6):
        path.touch()
        service.models._looked = 0.0
        assert service.models.model
        with service.models._reading:  # it is read
            pass
    assert service.step(json.dumps({"state": first}).encode())["asks"]


@pytest.mark.parametrize("algorithm", ["cegb", "planner"])
def test_parts_of_a_round_are_billed_as_one_round(algorithm):
    """Answers that come one by one are of the round that asked for them; only what waits is priced and explained."""
    costs = cf.CostModel.of({**PRICES, "resources": {"blood": {"cost": 5, "round": 3}}})
    predictor, (X, _) = model(algorithm).predictor_, rows(20, seed=4)
    asked_by_parts = 0  # questions
    for row in X:
        values, inquiry = dict(zip(NAMES, row.tolist(), strict=True)), predictor.inquire(costs)
        talk = Conversation.begin(predictor, costs)
        lost = "iron" in inquiry.needs  # the row begins again, and goes to the laboratory twice
        if lost:
            inquiry = inquiry.without(["scan"], {"glucose": values["glucose"]})
            talk = talk.tell({"glucose": values["glucose"]}, ["scan"])
        while inquiry.needs:
            for name in inquiry.needs:
                before, (each, together) = talk.cost, talk.quotes()
                told = talk.inquiry.why(tuple(talk.told))
                assert {*talk.needs} == {ask for part in told.asks for ask in part.names}
                assert told.price == together
                talk = talk.tell({name: values[name]})
                assert talk.cost == pytest.approx(before + each[0])
                asked_by_parts += 1
            inquiry.supply({name: values[name] for name in inquiry.needs})
            assert talk.cost == inquiry.cost
        assert talk.inquiry.answer.cost == inquiry.answer.cost
    assert asked_by_parts
