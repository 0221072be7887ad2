"""Pages that ask, in Chromium: they answer as Python does, to the bit, and people can use them."""

from __future__ import annotations

import json

import numpy as np
import pytest
from ask_cases import ANSWER, NAMES, answer_in_python, draw_cases, fit, needs_engine, prices, table
from attrs import evolve
from page_cases import HOSTILE
from test_page_in_browser import CHROMIUM, DRIVER, SIZES, browser

import costframe as cf
from costframe.core.numerals import read_typed
from costframe.page.render import render_ask_page
from costframe.plugin import PlannedPredictor, Rung, Stop

__all__ = ["browser"]  # a fixture

pytestmark = [
    needs_engine,
    pytest.mark.skipif(not (CHROMIUM and DRIVER), reason="needs chromium and chromedriver"),
    pytest.mark.filterwarnings("default::ResourceWarning"),  # of selenium's sockets
]
PHONE = {"width": 390, "height": 844, "deviceScaleFactor": 1, "mobile": True}
ERRORS = {"ill": {"well": 900.0}, "well": {"ill": 300.0}}
SPENT = {"split": 0.013, "learner": 0.021, "reuse": 0.0007}
ROUNDS = {
    "visit": {"cost": 15.1, "round": 0.405},
    "draw": {
        "cost": 2.3,
        "needs": ["visit"],
        "time": 5.0,
        "round_time": 0.0,
    },  # it stays: no further visit for it alone
    "day": {"cost": 0.2, "round": 0.17},
}


def rounds(**more):
    """Prices with further rounds: to what stays and what does not, directly and through others."""
    needs = ([], ["visit"], ["draw"], ["day"], ["visit", "draw"], ["draw", "day"])
    features = {name: {"cost": 0.1 + 0.37 * i, "needs": needs[i]} for i, name in enumerate(NAMES)}
    return cf.CostModel.from_dict({"unit": "CHF", "features": features, "resources": ROUNDS, **more})


KINDS = {
    "trees": lambda: (fit("cegb", n_estimators=100), prices()),
    "trees-spent": lambda: (fit("cegb", costs=prices(**SPENT), n_estimators=30, tradeoff=1e-3), prices(**SPENT)),
    "classes": lambda: (fit("cegb", classes=3, n_estimators=10), prices()),
    "labels": lambda: (fit("cegb", labelled=True, n_estimators=10), prices()),
    "regression": lambda: (fit("cegb", task="regression", n_estimators=20), prices()),
    "errors": lambda: (fit("planner", costs=prices(errors=ERRORS)), prices(errors=ERRORS)),
    "plan-regression": lambda: (fit("planner", task="regression", tradeoff=1e-4), prices()),
    "plan-labels": lambda: (fit("planner", classes=3, labelled=True, tradeoff=1e-3), prices()),
    "rounds": lambda: (fit("cegb", costs=rounds(), n_estimators=30, tradeoff=1e-3), rounds()),
    "plan-rounds": lambda: (fit("planner", task="regression", costs=rounds(), tradeoff=1e-4), rounds()),
    "stage-tree-rounds": lambda: (fit("cstc"), rounds()),
    "forest-rounds": lambda: (KINDS["forest-spared"]()[0], rounds(**SPENT)),
    "chain": lambda: (fit("cronus"), prices()),
    "stage-tree": lambda: (fit("cstc"), prices()),
    "plan": lambda: (fit("planner", tradeoff=1e-3), prices()),
    "plan-by-values": lambda: (by_values(fit("planner", tradeoff=1e-3)), prices()),
    "forest": lambda: adopt("ensemble.RandomForestClassifier", n_estimators=20, max_depth=6),
    "histogram": lambda: adopt("ensemble.HistGradientBoostingClassifier", max_iter=20),
    "xgboost": lambda: adopt("xgboost.XGBClassifier", n_estimators=20),
    "miser-labels": lambda: (fit("miser", classes=3, labelled=True, n_estimators=20), prices()),
    "forest-spared": lambda: adopt("ensemble.RandomForestClassifier", rows=True, n_estimators=20, max_depth=6),
    "forest-of-numbers": lambda: adopt("ensemble.RandomForestRegressor", rows=True, n_estimators=20, max_depth=6),
    "classes-spared": lambda: adopt("ensemble.HistGradientBoostingClassifier", classes=3, rows=True, max_iter=10),
    "xgboost-spared": lambda: adopt("xgboost.XGBClassifier", rows=True, n_estimators=20),
}


def by_values(fitted):
    """The plan, on a rung where values decide: more is expected of each stop, and of one after another even more."""
    model = fitted.predictor_
    plans = [
        stop.gains and evolve(stop.gains, intercept=stop.gains.intercept - 0.01 * (1 + number))
        for number, stop in enumerate(model.stops)
    ]
    stops = [evolve(stop, planned=planned) for stop, planned in zip(model.stops, plans, strict=True)]
    return cf.FittedEstimator(evolve(model, stops=stops, ladder=[Rung(0.0, 2.0 * model.tradeoff, planned=True)]))


def adopt(name, classes=2, *, rows=False, **settings):
    """A model of another library, with prices; with spare trees from rows, if there are any."""
    module, _, kind = name.rpartition(".")
    library = pytest.importorskip(module if module == "xgboost" else f"sklearn.{module}")
    X, y = table(classes=classes)
    model = cf.adopt(getattr(library, kind)(random_state=0, **settings).fit(X, y), feature_names=NAMES)
    return cf.FittedEstimator(model.with_fallbacks(X) if rows else model), prices()


def wait_for(browser, condition):
    from selenium.webdriver.support.ui import WebDriverWait

    WebDriverWait(browser, 300).until(lambda one: one.execute_script(f"return {condition}"))


def open_page(browser, tmp_path, fitted, costs, title="a model"):
    (path := tmp_path / "ask.html").write_text(render_ask_page(fitted, costs, title), encoding="utf-8")
    browser.get_log("browser")
    browser.set_script_timeout(300)
    browser.get(path.as_uri())
    wait_for(browser, "!!(window.page && window.page.told)")
    return path


def check_answers(browser, fitted, costs, cases):
    """Answer rows in the page and in Python, and compare all that both say, also why."""
    classes = fitted.predictor_.classes
    rows = browser.execute_async_script(ANSWER, cases)
    assert isinstance(rows, list), rows
    whole = browser.execute_script("return window.page.model.about.whole")
    ends = []
    for case, steps in zip(cases, rows, strict=True):
        expected, known, end, changes = answer_in_python(fitted, costs, case)
        assert [{name: step[name] for name in ("needs", "bill", "why")} for step in steps] == expected, case
        is_told = changes.reason is None and changes.changes + changes.unchanged and not whole
        assert steps[-1]["changes"] == (str(changes) if is_told else None)
        if not whole:
            assert [step["now"] for step in steps[:-1]] == [answer_from(fitted, costs, values) for values in known[:-1]]
        answer = steps[-1]["answer"]
        assert answer["values"] == np.ravel(end.value).tolist()
        assert (answer["cost"], answer["reason"]) == (end.cost, end.reason)
        assert (answer["acquired"], answer["rounds"], answer["exit"]) == (list(end.acquired), end.rounds, end.exit)
        assert (None if classes is None else classes.tolist()[answer["label"]]) == end.label
        ends.append(end)
    return ends


def answer_from(fitted, costs, values):
    """What a page shows of the answer if nothing but these values can be had."""
    predictor = fitted.predictor_
    rest = [name for name in predictor.used_features if name not in values]
    end = predictor.inquire(costs, known=values, unavailable=rest).answer
    label = None if predictor.classes is None else predictor.classes.tolist().index(end.label)
    return {"values": np.ravel(end.value).tolist(), "label": label}


def labelled_rows(kind, count, seed):
    """Rows whose first feature has the number of a label, where the model reads labels."""
    X, _ = table(count, seed=seed)
    if kind.endswith("labels"):
        X[:, 0] = np.random.default_rng(seed).integers(3, size=len(X))
    return X


@pytest.mark.parametrize("kind", KINDS)
def test_a_page_answers_and_says_why_as_python_does_to_the_bit(browser, tmp_path, kind):
    fitted, costs = KINDS[kind]()
    X = labelled_rows(kind, 72, 1)
    X[0] = np.nan
    open_page(browser, tmp_path, fitted, costs)
    ends = check_answers(browser, fitted, costs, draw_cases(NAMES, X, seed=2))
    assert {end.reason for end in ends} == {"complete", "max_cost", "unavailable"}
    assert browser.execute_script("return window.page.model.about.whole") is None
    assert len({end.cost for end in ends}) > 1
    assert browser.get_log("browser") == []


def test_a_plan_whose_gains_have_weights_offers_no_absence_and_says_why(browser, tmp_path):
    fitted, costs = KINDS["plan"]()
    stops = [
        stop if stop.gains is None else evolve(stop, gains=evolve(stop.gains, weights=0.5 * stop.gains.weights))
        for stop in fitted.predictor_.stops
    ]
    fitted = cf.FittedEstimator(evolve(fitted.predictor_, stops=stops))
    open_page(browser, tmp_path, fitted, costs)
    cases = [case | {"absent": []} for case in draw_cases(NAMES, table(24, seed=5)[0])]
    dearest = fitted.predictor_.cost(table(24, seed=5)[0], costs).per_row.max()
    cases = [case | {"cap": case["cap"] and case["cap"] + dearest} for case in cases if case["cap"] != 0.0]
    check_answers(browser, fitted, costs, cases)
    refused = "window.page.model.next(null, {cap: 0.0}).catch((error) => arguments[0](error.message))"
    assert "within a cap that pays for no set" in browser.execute_async_script(refused)
    assert not browser.find_element("id", "absent").is_displayed()
    assert "gains have weights" in browser.find_element("id", "whole").text
    refused = "window.page.model.next(null, {absent: ['age']}).catch((error) => arguments[0](error.message))"
    assert "cannot do without a test" in browser.execute_async_script(refused)
    assert browser.get_log("browser") == []


@pytest.mark.parametrize("kind", ["rounds", "plan-rounds"])
def test_caps_hold_to_the_cent_where_going_again_has_a_price(browser, tmp_path, kind):
    fitted, costs = KINDS[kind]()
    open_page(browser, tmp_path, fitted, costs)
    cases = [case | {"absent": [], "known": {}} for case in draw_cases(NAMES, table(100, seed=8)[0])]
    ends = [answer_in_python(fitted, costs, case | {"cap": None})[2] for case in cases]
    goes_again = [end.cost > costs.full_cost(end.acquired) for end in ends]
    capped = [
        case | {"cap": end.cost - less}
        for case, end, again in zip(cases, ends, goes_again, strict=True)
        for less in (0.0, 0.001, 0.3)
        if again
    ]
    found = check_answers(browser, fitted, costs, capped)
    assert {end.reason for end in found} == {"complete", "max_cost"}


def test_a_plan_adds_up_what_it_pays_for_going_again(browser, tmp_path):
    """It goes from feature to feature, each a visit, as far as a cap allows."""
    answer, names = cf.Answer([], np.empty((0, 1)), [0.0], "sigmoid"), NAMES[:4]
    gains = [cf.Answer([], np.empty((0, left)), [-1.0, *[0.0] * (left - 1)]) for left in (4, 3, 2, 1)]
    stops = [Stop(list(range(k)), answer, gain) for k, gain in enumerate([*gains, None])]
    banks = [cf.WeakLearnerBank.columns(columns, []) for columns in (names, (*names, "score 0"))]
    visit = {"cost": 10.0, "round": 0.4}
    costs = {"features": {name: {"cost": 1.0, "needs": ["visit"]} for name in names}, "resources": {"visit": visit}}
    costs = cf.CostModel.from_dict(costs)
    fitted = cf.FittedEstimator(PlannedPredictor(*banks, stops, costs=costs, classes=["no", "yes"]))
    open_page(browser, tmp_path, fitted, costs)
    cases = [
        {"row": dict.fromkeys(names, 1.0), "absent": [], "known": {}, "cap": cap}
        for cap in (None, 15.2, 15.1, 14.2, 13.8, 13.7, 11.0, 10.9)
    ]
    ends = check_answers(browser, fitted, costs, cases)
    assert [end.cost for end in ends] == [15.2, 15.2, 13.8, 13.8, 13.8, 12.4, 11.0, 0.0]


def test_a_plan_is_left_for_the_best_set_that_a_cap_pays_for(browser, tmp_path):
    """By its plan it buys the first test, as it counts on the second one after that."""
    answer, names = cf.Answer([], np.empty((0, 1)), [0.0], "sigmoid"), NAMES[:2]
    gains, planned = (cf.Answer([], np.empty((0, 3)), [-first, -2.0, -3.0]) for first in (1.0, 3.0))
    later = [cf.Answer([], np.empty((0, left)), [-1.0, -2.0][:left]) for left in (2, 1)]
    stops = [
        Stop([], answer, gains, planned),
        Stop([0], answer, later[0]),
        Stop([1], answer, later[1]),
        Stop([0, 1], answer),
    ]
    banks = [cf.WeakLearnerBank.columns(columns, []) for columns in (names, (*names, "score 0"))]
    costs = cf.CostModel.of({names[0]: 3.0, names[1]: 39.0})
    ladder = (Rung(0.0, 0.05, planned=True),)
    fitted = cf.FittedEstimator(PlannedPredictor(*banks, stops, 0.01, costs, ladder=ladder, classes=["no", "yes"]))
    open_page(browser, tmp_path, fitted, costs)
    cases = [
        {"row": dict.fromkeys(names, 1.0), "absent": [], "known": {}, "cap": cap}
        for cap in (None, 42.0, 41.9, 39.0, 38.9)
    ]
    ends = check_answers(browser, fitted, costs, cases)
    assert [end.cost for end in ends] == [42.0, 42.0, 39.0, 39.0, 3.0]


def test_spare_trees_answer_where_a_test_is_not_available(browser, tmp_path):
    fitted, costs = KINDS["trees"]()
    predictor = fitted.predictor_
    alone = evolve(predictor, fallbacks=predictor.fallbacks, spare=None)
    open_page(browser, tmp_path, fitted, costs)
    first = predictor.inquire(costs).needs
    cases = [case | {"absent": [*first[:1]], "cap": None} for case in draw_cases(NAMES, table(40, seed=7)[0])]
    ends = check_answers(browser, fitted, costs, cases)
    gone = [case["row"] | case["known"] for case in cases]
    others = [cf.predict_one(alone, row, costs, unavailable=first[:1]) for row in gone]
    assert np.mean([end.value != other.value for end, other in zip(ends, others, strict=True)]) > 0.5
    assert browser.get_log("browser") == []


@pytest.mark.deep
@pytest.mark.parametrize("kind", KINDS)
def test_500_rows_are_answered_to_the_bit(browser, tmp_path, kind):
    fitted, costs = KINDS[kind]()
    open_page(browser, tmp_path, fitted, costs)
    check_answers(browser, fitted, costs, draw_cases(NAMES, labelled_rows(kind, 500, 3), seed=4))


def test_a_page_marks_when_it_asks_first(browser, tmp_path):
    """As `benchmarks/pages.py` reads."""
    path = open_page(browser, tmp_path, *KINDS["trees"]())
    browser.get(path.as_uri())
    wait_for(browser, "performance.getEntriesByName('asked').length === 1")


TYPED = "00112345.,,' +-\u2212eE()x\u00a0"


def read_in_python(text):
    """The number in a text, or why it is none."""
    try:
        return read_typed(text), None
    except ValueError as error:
        return None, str(error)


def test_numbers_are_read_as_everywhere(browser, tmp_path):
    open_page(browser, tmp_path, *KINDS["trees"]())
    rng = np.random.default_rng(0)
    texts = ["1,234", "1.234", "1,5", "1e3", "-1,234", "1,234.5", "1.234,5", "inf", "1e999", "much", "", " 7 ", "1_000"]
    texts += ["".join(rng.choice(list(TYPED), rng.integers(1, 8))) for _ in range(3000)]
    read = """
    return arguments[0].map((text) => {
      try { return [window.page.numbers.read(text), null]; } catch (error) { return [null, error.message]; }
    });"""
    numbers = 0
    for text, (number, problem) in zip(texts, browser.execute_script(read, texts), strict=True):
        expected, why = read_in_python(text)
        assert number == expected, text
        assert problem == (why if why is None or " can be " in why else "expected a number, as 1234.5 or 1234,5")
        numbers += number is not None
    assert numbers > 300


def test_amounts_in_sentences_are_written_as_in_python(browser, tmp_path):
    open_page(browser, tmp_path, *KINDS["trees"]())
    rng = np.random.default_rng(1)
    values = [0.0, -0.0, 0.125, 2.5, 1234.5, 1235.5, 99995.0, 9.9995, 1e-5, 123456.0, 1e300, 5e-324]
    values += [float(v) for v in np.ldexp(rng.integers(1, 4096, 500), rng.integers(-20, 12, 500))]
    values += (10.0 ** rng.uniform(-9, 9, 500)).tolist()
    shares = [number / 512 for number in range(6, 513)]
    script = "return [arguments[0].map((v) => [formatDigits(v, 3), formatDigits(v, 4)]), arguments[1].map(formatShare)]"
    found, written = browser.execute_script(script, values, shares)
    assert found == [[f"{value:.3g}", f"{value:.4g}"] for value in values]
    assert written == [f"{share:.0%}" for share in shares]


def test_what_may_be_spent_is_a_cap(browser, tmp_path):
    from selenium.webdriver.common.keys import Keys

    fitted, costs = KINDS["plan"]()
    open_page(browser, tmp_path, fitted, costs)
    browser.execute_script("document.getElementById('before').open = true")
    most = browser.find_element("id", "most")
    for text, said in (("1,234", "1,234 can be 1.234 or 1234; write 1.234 or 1234"), ("-1", "from 0 on")):
        most.clear()
        most.send_keys(text, Keys.ENTER)
        assert said in browser.find_element("id", "wrong").text
    most.clear()
    most.send_keys("17,5", Keys.ENTER)
    wait_for(browser, "window.page.cap === 17.5")
    assert browser.find_element("id", "wrong").text == ""
    assert browser.find_element("id", "paid").text == "Paid so far, of at most 17.5 CHF"
    inquiry = fitted.inquire(costs, max_cost=17.5)
    assert [need["name"] for need in browser.execute_script("return window.page.told.needs")] == list(inquiry.needs)
    browser.find_element("id", "again").click()
    wait_for(browser, "window.page.cap === null && !window.page.waiting")
    assert most.get_attribute("value") == ""
    assert browser.find_element("id", "paid").text == "Paid so far"
    assert browser.get_log("browser") == []


def test_the_end_of_a_row_says_what_would_change_its_class(browser, tmp_path):
    fitted, costs = KINDS["trees"]()
    open_page(browser, tmp_path, fitted, costs)
    said = "document.getElementById('changes').textContent"
    for cap in (0.0, 17.5):
        inquiry = fitted.inquire(costs, max_cost=cap)
        browser.execute_async_script(f"window.page.start({{}}, {cap}).then(arguments[0])")
        while inquiry.needs:
            inquiry.supply(dict.fromkeys(inquiry.needs, np.nan))
        while not browser.find_element("id", "answer").is_displayed():
            browser.find_element("id", "unknown").click()
            wait_for(browser, "!window.page.waiting")
        wait_for(browser, f"{said} !== ''")
        changes = inquiry.changes()
        assert changes.changes
        assert browser.execute_script(f"return {said}") == f"T{str(changes)[1:]}."
    browser.find_element("id", "back").click()
    wait_for(browser, "window.page.told.answer === null")
    assert not browser.find_element("id", "changes").is_displayed()
    assert browser.get_log("browser") == []


def test_hostile_names_are_shown_as_texts_on_a_phone(browser, tmp_path):
    names = (*HOSTILE, "Age", "Age ", "long name " * 30, "__proto__", "constructor")
    fitted, costs = fit_hostile(names)
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", PHONE)
    open_page(browser, tmp_path, fitted, costs, HOSTILE[0])
    strange = "return document.querySelectorAll('main img, main i, main b, main script, [onerror], [onclick]').length"
    browser.execute_script("document.getElementById('before').open = true")
    for turn in range(60):
        assert browser.execute_script(strange) == 0
        text = browser.execute_script("return document.body.innerText")
        assert not {"\u202e", "\x1b", "\x00", "\u2028"} & {*text}
        assert browser.execute_script("return document.documentElement.scrollWidth") <= PHONE["width"]
        if browser.execute_script("return window.page.told.answer !== null"):
            break
        browser.find_element("id", "unknown").click()
        wait_for(browser, f"window.page.past.length === {turn + 1}")
    assert turn > 1
    assert "\\u{202e}" in browser.find_element("id", "known").text
    assert "Age\\u{20}" in browser.find_element("id", "known").text
    assert browser.get_log("browser") == []


def fit_hostile(names):
    """A model of three classes with hostile names and labels, one of whose features is free."""
    rng = np.random.default_rng(0)
    pandas = pytest.importorskip("pandas", reason="needs pandas")
    frame = pandas.DataFrame(rng.normal(size=(300, len(names))), columns=list(names))
    score = frame.to_numpy()[:, :8].sum(axis=1)
    frame[names[0]] = np.array(HOSTILE)[np.digitize(score + rng.normal(size=300), [-3, -2, -1, 1, 2])]
    classes = np.array([HOSTILE[3], "</option><b>", HOSTILE[0]])[np.digitize(score, [-2, 2])]
    features = {name: {"cost": 0.0 if i == 1 else 0.1 + i, "needs": ["<br>"]} for i, name in enumerate(names)}
    costs = cf.CostModel.from_dict({"unit": "<i>€\u202e", "features": features, "resources": {"<br>": 2.0}})
    model = cf.estimator("cegb", costs=costs, n_estimators=20, tradeoff=1e-6).fit(frame, classes)
    return cf.FittedEstimator(model.predictor_), costs


def test_a_print_shows_the_answers_and_no_controls(browser, tmp_path):
    open_page(browser, tmp_path, *KINDS["trees"]())
    browser.find_element("id", "unknown").click()
    wait_for(browser, "window.page.past.length === 1")
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    try:
        for name in ("give", "value", "back", "before", "problem"):
            assert not browser.find_element("id", name).is_displayed()
        for name in ("given", "bill", "chance", "asked"):
            assert browser.find_element("id", name).is_displayed()
    finally:
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})


def test_clicks_at_once_answer_one_question_and_a_reload_begins_again(browser, tmp_path):
    path = open_page(browser, tmp_path, *KINDS["trees"]())
    browser.execute_script(
        "for (const id of ['unknown', 'absent', 'give', 'unknown']) document.getElementById(id).click()"
    )
    wait_for(browser, "window.page.past.length > 0 && !window.page.waiting")
    assert browser.execute_script("return [window.page.past.length, window.page.lines.length]") == [1, 1]
    browser.execute_script("for (let i = 0; i < 3; ++i) document.getElementById('back').click()")
    assert browser.execute_script("return [window.page.past.length, window.page.lines.length]") == [0, 0]
    browser.find_element("id", "unknown").click()
    wait_for(browser, "window.page.past.length === 1")
    browser.get(path.as_uri())
    wait_for(browser, "window.page && window.page.told")
    assert browser.execute_script("return [window.page.past.length, window.page.told.bill]") == [0, 0]
    assert browser.get_log("browser") == []


@pytest.mark.parametrize("size", SIZES)
def test_people_answer_by_keyboard_and_see_the_bill(browser, tmp_path, size):
    from selenium.webdriver.common.keys import Keys

    width, height = SIZES[size]
    device = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": size == "phone"}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", device)
    fitted, costs = KINDS["trees"]()
    browser.get_log("performance")
    open_page(browser, tmp_path, fitted, costs, "Who is ill?")
    row, shown = table(1, seed=9)[0][0], lambda name: browser.find_element("id", name).text
    inquiry = fitted.inquire(costs)
    values = dict(zip(NAMES, row.tolist(), strict=True))
    while inquiry.needs:
        for name in inquiry.needs:
            assert shown("asked") == name
            assert "It costs" in shown("price")
            assert browser.switch_to.active_element.get_attribute("id") == "value"
            if np.isnan(values[name]):
                browser.find_element("id", "unknown").send_keys(Keys.ENTER)
            else:
                browser.switch_to.active_element.send_keys(repr(values[name]), Keys.ENTER)
            browser.execute_async_script("setTimeout(arguments[0], 30)")  # the page goes on
        inquiry.supply({name: values[name] for name in inquiry.needs})
        amount, unit = shown("bill").split()
        assert (amount, unit) == (f"{inquiry.cost:.12g}", "CHF")
        assert browser.execute_script("return window.page.told.bill") == inquiry.cost
    assert shown("result") == f"Answer: {inquiry.answer.label}"
    assert browser.switch_to.active_element.get_attribute("id") == "result"
    assert f"{100 * inquiry.answer.value:.1f} %" == shown("chance")
    assert browser.execute_script("return document.documentElement.scrollWidth") <= width
    labels = browser.find_elements("css selector", "label")
    assert all(browser.find_elements("id", label.get_attribute("for")) for label in labels)
    browser.find_element("id", "back").send_keys(Keys.ENTER)
    assert browser.find_element("id", "question").is_displayed()
    assert browser.get_log("browser") == []
    events = [json.loads(entry["message"])["message"] for entry in browser.get_log("performance")]
    urls = [one["params"]["request"]["url"] for one in events if one["method"] == "Network.requestWillBeSent"]
    assert all(url.startswith("file:") for url in urls)
    assert len(urls) == 1


def test_labels_are_chosen_from_a_list(browser, tmp_path):
    fitted, costs = KINDS["labels"]()
    open_page(browser, tmp_path, fitted, costs)
    while browser.find_element("id", "asked").text != NAMES[0]:
        browser.find_element("id", "unknown").click()
        browser.execute_async_script("setTimeout(arguments[0], 50)")
    options = browser.find_elements("css selector", "#value option")
    assert [option.text for option in options[1:]] == list(fitted.predictor_.card.categories[NAMES[0]])
    next(option for option in options if option.text == "<i>low</i>").click()
    browser.find_element("id", "give").click()
    browser.execute_async_script("setTimeout(arguments[0], 50)")
    row = next(row for row in browser.find_elements("css selector", "#given tbody tr") if NAMES[0] in row.text)
    assert "<i>low</i>" in row.text
    assert browser.get_log("browser") == []


def test_known_values_are_free_and_words_are_no_numbers(browser, tmp_path):
    from selenium.webdriver.common.keys import Keys

    fitted, costs = KINDS["plan"]()
    open_page(browser, tmp_path, fitted, costs)
    field = browser.find_element("id", "value")
    field.send_keys("much", Keys.ENTER)
    assert browser.find_element("id", "problem").text == "expected a number, as 1234.5 or 1234,5"
    asked = browser.find_element("id", "asked").text
    browser.execute_script("document.getElementById('before').open = true")
    known = browser.find_element("id", f"known {asked}")
    known.send_keys("0.5", Keys.ENTER)
    browser.execute_async_script("setTimeout(arguments[0], 50)")
    inquiry = fitted.inquire(costs, known={asked: 0.5})
    told = browser.execute_script("return window.page.told")
    assert [need["name"] for need in told["needs"]] == list(inquiry.needs)
    assert told["bill"] == inquiry.cost == 0.0
    assert browser.get_log("browser") == []
