"""Pages that ask, in Chromium: they answer as Python does, to the bit, and people can use them."""

from __future__ import annotations

import json

import numpy as np
import pytest
from ask_cases import ANSWER, NAMES, answer_in_python, fit, needs_engine, prices, table
from test_page_in_browser import CHROMIUM, DRIVER, SIZES, browser

import costframe as cf
from costframe.page.render import render_ask_page

__all__ = ["browser"]  # a fixture

pytestmark = [
    needs_engine,
    pytest.mark.skipif(not (CHROMIUM and DRIVER), reason="needs chromium and chromedriver"),
    pytest.mark.filterwarnings("default::ResourceWarning"),  # of selenium's sockets
]
ERRORS = {"ill": {"well": 900.0}, "well": {"ill": 300.0}}
SPENT = {"split": 0.013, "learner": 0.021, "reuse": 0.0007}
KINDS = {
    "trees": lambda: (fit("cegb", n_estimators=100), prices()),
    "trees-spent": lambda: (fit("cegb", costs=prices(**SPENT), n_estimators=30, tradeoff=1e-3), prices(**SPENT)),
    "classes": lambda: (fit("cegb", classes=3, n_estimators=10), prices()),
    "labels": lambda: (fit("cegb", labelled=True, n_estimators=10), prices()),
    "regression": lambda: (fit("cegb", task="regression", n_estimators=20), prices()),
    "errors": lambda: (fit("planner", costs=prices(errors=ERRORS)), prices(errors=ERRORS)),
    "chain": lambda: (fit("cronus"), prices()),
    "stage-tree": lambda: (fit("cstc"), prices()),
    "plan": lambda: (fit("planner", tradeoff=1e-3), prices()),
    "forest": lambda: adopt("ensemble.RandomForestClassifier", n_estimators=20, max_depth=6),
    "histogram": lambda: adopt("ensemble.HistGradientBoostingClassifier", max_iter=20),
    "xgboost": lambda: adopt("xgboost.XGBClassifier", n_estimators=20),
}


def adopt(name, **settings):
    """A model of another library, with prices."""
    module, _, kind = name.rpartition(".")
    library = pytest.importorskip(module if module == "xgboost" else f"sklearn.{module}")
    X, y = table()
    model = getattr(library, kind)(random_state=0, **settings).fit(X, y)
    return cf.FittedEstimator(cf.adopt(model, feature_names=NAMES)), prices()


def open_page(browser, tmp_path, fitted, costs, title="a model"):
    from selenium.webdriver.support.ui import WebDriverWait

    (path := tmp_path / "ask.html").write_text(render_ask_page(fitted, costs, title), encoding="utf-8")
    browser.get_log("browser")
    browser.set_script_timeout(300)
    browser.get(path.as_uri())
    WebDriverWait(browser, 30).until(lambda one: one.execute_script("return !!(window.page && window.page.told)"))
    return path


def check_answers(browser, fitted, costs, X, absent):
    """Answer rows in the page and in Python, and compare all that both say."""
    names, classes = fitted.predictor_.feature_names, fitted.predictor_.classes
    rows = [[None if np.isnan(value) else value for value in row] for row in X.tolist()]
    places = [[names.index(name) for name in some] for some in absent]
    ends = browser.execute_async_script(ANSWER, rows, list(names), places)
    assert isinstance(ends, list), ends
    for row, without, (asks, answer) in zip(X, absent, ends, strict=True):
        expected_asks, end = answer_in_python(fitted, costs, row, without)
        assert [name for name, _, _ in asks] == expected_asks
        assert answer["values"] == np.ravel(end.value).tolist()
        assert (answer["cost"], answer["reason"]) == (end.cost, end.reason)
        assert (answer["acquired"], answer["rounds"], answer["exit"]) == (list(end.acquired), end.rounds, end.exit)
        assert (None if classes is None else classes.tolist()[answer["label"]]) == end.label
    return ends


@pytest.mark.parametrize("kind", KINDS)
def test_a_page_answers_as_python_does_to_the_bit(browser, tmp_path, kind):
    fitted, costs = KINDS[kind]()
    X, _ = table(60, seed=1)
    rng = np.random.default_rng(2)
    if kind == "labels":
        X[:, 0] = rng.integers(3, size=len(X))
    X[0] = np.nan
    absent = [[name for name in NAMES if i % 2 and rng.random() < 0.15] for i in range(len(X))]
    open_page(browser, tmp_path, fitted, costs)
    ends = check_answers(browser, fitted, costs, X, absent)
    assert any(end["reason"] == "unavailable" for _, end in ends)
    assert len({end["cost"] for _, end in ends}) > 1
    assert browser.get_log("browser") == []


def test_a_plan_with_a_spare_answers_whole_rows_and_offers_no_others(browser, tmp_path):
    fitted, costs = fit("planner", has_spare=True, tradeoff=1e-3), prices()
    X, _ = table(40, seed=5)
    open_page(browser, tmp_path, fitted, costs)
    check_answers(browser, fitted, costs, X, [[]] * len(X))
    assert not browser.find_element("id", "absent").is_displayed()
    refused = "window.page.model.next(null, {absent: ['age']}).catch((error) => arguments[0](error.message))"
    assert "cannot do without" in browser.execute_async_script(refused)
    assert browser.get_log("browser") == []


@pytest.mark.deep
@pytest.mark.parametrize("kind", ["trees", "stage-tree", "plan"])
def test_500_rows_are_answered_to_the_bit(browser, tmp_path, kind):
    fitted, costs = KINDS[kind]()
    X, _ = table(500, seed=3)
    rng = np.random.default_rng(4)
    absent = [[name for name in NAMES if rng.random() < 0.1] for _ in range(len(X))]
    open_page(browser, tmp_path, fitted, costs)
    check_answers(browser, fitted, costs, X, absent)


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
    assert browser.find_element("id", "problem").text == "Expected a number."
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
