"""The page of a service in Chromium: by keyboard, on a phone, with what is unknown and what cannot be had."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from serve_cases import model, started
from test_page_in_browser import CHROMIUM, DRIVER, SIZES, browser

import costframe as cf

pytest.importorskip("uvicorn", reason="needs uvicorn")
pytest.importorskip("httpx", reason="needs httpx")

__all__ = ["browser"]  # a fixture

pytestmark = [
    pytest.mark.skipif(not (CHROMIUM and DRIVER), reason="needs chromium and chromedriver"),
    pytest.mark.filterwarnings("default::ResourceWarning"),  # of selenium's sockets
]
VALUES = {"age": "0.3", "glucose": "-1.25", "iron": "0.5", "scan": "0,75"}


@pytest.fixture(scope="module")
def fitted():
    return model("planner")


@pytest.fixture(scope="module")
def address(fitted, tmp_path_factory):
    path = tmp_path_factory.mktemp("served") / "cells & co.model"
    cf.save(fitted, path)
    with started(path) as (http, _):
        yield str(http.base_url)


@pytest.fixture(params=SIZES)
def page(request, browser, address):
    """Open the page in a window of a size; at the end, refuse errors of its script."""
    from selenium.webdriver.support.ui import WebDriverWait

    width, height = SIZES[request.param]
    device = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": request.param == "phone"}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", device)
    browser.get_log("browser")
    browser.get(address)
    WebDriverWait(browser, 300).until(lambda one: one.execute_script("return !!(window.page && window.page.told)"))
    yield browser
    assert not [entry for entry in browser.get_log("browser") if entry["source"] != "network"]


def text(page, name):
    return page.execute_script("return document.getElementById(arguments[0]).textContent", name)


def wait_for(page, condition):
    from selenium.webdriver.support.ui import WebDriverWait

    WebDriverWait(page, 300).until(lambda one: one.execute_script(f"return {condition}"))


def answered(page):
    return page.execute_script("return window.page.told.answer")


def test_a_row_is_answered_by_keyboard_as_the_model_does(page, fitted):
    from selenium.webdriver.common.keys import Keys

    row = {name: float(value.replace(",", ".")) for name, value in VALUES.items()}
    end, inquiry, known = cf.predict_one(fitted, row), fitted.inquire(), {}
    turn = 0
    while answered(page) is None:
        turn += 1
        asked = text(page, "asked")
        assert asked in VALUES
        assert text(page, "price").startswith("It costs ")
        told = page.execute_script("return window.page.told")
        assert text(page, "why").startswith(asked)  # the first of what is asked together
        assert told["why"] == str(inquiry.why(tuple(known)))
        known[asked] = row[asked]
        if known.keys() == set(inquiry.needs):
            inquiry.supply(known)
            known = {}
        assert text(page, "chance").endswith(" %")
        page.switch_to.active_element.send_keys(VALUES[asked], Keys.ENTER)
        wait_for(page, f"window.page.past.length === {turn}")
    assert text(page, "result") == f"Answer: {end.label}"
    assert str(inquiry.why()) in text(page, "reason")
    assert float(text(page, "bill").split()[0]) == end.cost
    wide = page.execute_script("return document.documentElement.scrollWidth <= document.documentElement.clientWidth")
    assert wide


def test_unknown_is_paid_and_what_cannot_be_had_is_not(page, fitted):
    del fitted
    page.execute_script("document.getElementById('unknown').click()")
    wait_for(page, "window.page.past.length === 1")
    paid = page.execute_script("return window.page.told.bill")
    turn = 1
    while answered(page) is None:
        turn += 1
        page.execute_script("document.getElementById('absent').click()")
        wait_for(page, f"window.page.past.length === {turn}")
    assert answered(page)["cost"] == paid


def test_a_question_is_answered_once_however_often_somebody_clicks(page):
    page.execute_script("for (const id of ['unknown', 'absent', 'unknown']) document.getElementById(id).click()")
    wait_for(page, "window.page.past.length > 0 && !window.page.waiting")
    assert page.execute_script("return [window.page.past.length, window.page.lines.length]") == [1, 1]


def test_a_feature_may_have_any_name(browser, tmp_path):
    names = ["__proto__", "</script>", "constructor"]
    X = np.random.default_rng(0).normal(size=(200, 3))
    fitted = cf.estimator("cegb", costs=cf.CostModel.uniform(names), tradeoff=1e-4)
    fitted.fit(pd.DataFrame(X, columns=names), X.sum(axis=1) > 0)
    cf.save(fitted, tmp_path / "my.model")
    with started(tmp_path / "my.model") as (http, _):
        browser.get(str(http.base_url))
        wait_for(browser, "window.page && window.page.told")
        fill = "for (const name of arguments[0]) document.getElementById(`known ${name}`).value = '0.5';"
        browser.execute_script(f"{fill} document.getElementById('known').requestSubmit()", names)
        wait_for(browser, "window.page.told.answer !== null")
        assert answered(browser)["cost"] == 0.0


def test_a_wrong_value_stays_on_the_page(page):
    from selenium.webdriver.common.keys import Keys

    page.switch_to.active_element.send_keys("much", Keys.ENTER)
    wait_for(page, "document.getElementById('problem').textContent !== ''")
    assert page.execute_script("return window.page.past.length") == 0


def test_what_may_be_spent_is_a_cap(page, fitted):
    from selenium.webdriver.common.keys import Keys

    page.execute_script("document.getElementById('before').open = true")
    most = page.find_element("id", "most")
    most.send_keys("1,234", Keys.ENTER)
    assert text(page, "wrong") == "1,234 can be 1.234 or 1234; write 1.234 or 1234"
    most.clear()
    most.send_keys("6,5", Keys.ENTER)
    wait_for(page, "window.page.cap === 6.5")
    assert text(page, "paid") == "Paid so far, of at most 6.5 CHF"
    row = {name: float(value.replace(",", ".")) for name, value in VALUES.items()}
    turn = 0
    while answered(page) is None:
        turn += 1
        page.execute_script("document.getElementById('value').value = arguments[0]", VALUES[text(page, "asked")])
        page.find_element("id", "give").click()
        wait_for(page, f"window.page.past.length === {turn}")
    end = cf.predict_one(fitted, row, max_cost=6.5)
    assert (answered(page)["cost"], text(page, "result")) == (end.cost, f"Answer: {end.label}")
    inquiry = fitted.inquire(max_cost=6.5)
    while inquiry.needs:
        inquiry.supply({name: row[name] for name in inquiry.needs})
    wait_for(page, "document.getElementById('changes').textContent !== ''")
    assert text(page, "changes") == f"T{str(inquiry.changes())[1:]}."


def test_a_model_without_limits_offers_none(browser, tmp_path):
    cf.save(model("cegb"), tmp_path / "my.model")
    with started(tmp_path / "my.model", "--until", "class") as (http, _):
        browser.get(str(http.base_url))
        wait_for(browser, "window.page && window.page.told")
        assert not browser.find_element("id", "absent").is_displayed()
        browser.execute_script("document.getElementById('before').open = true")
        assert not browser.find_element("id", "most").is_displayed()


def test_what_the_service_refuses_is_told(page):
    page.execute_script("window.page.told.state = 'plain.e30'; document.getElementById('unknown').click()")
    wait_for(page, "document.getElementById('problem').textContent.includes('state')")


def test_a_service_that_does_not_answer_loses_nothing(page):
    page.execute_cdp_cmd("Network.enable", {})
    offline = {"latency": 0, "downloadThroughput": -1, "uploadThroughput": -1}
    page.execute_cdp_cmd("Network.emulateNetworkConditions", offline | {"offline": True})
    try:
        page.find_element("id", "unknown").click()
        wait_for(page, "document.getElementById('problem').textContent.includes('does not answer')")
    finally:
        page.execute_cdp_cmd("Network.emulateNetworkConditions", offline | {"offline": False})
    assert page.execute_script("return window.page.past.length") == 0
    page.find_element("id", "unknown").click()
    wait_for(page, "window.page.past.length === 1")
    assert text(page, "problem") == ""


def test_only_its_own_host_is_asked(page):
    policy = page.execute_script("return document.querySelector('meta[http-equiv]').content")
    assert "default-src 'none'" in policy
    assert "connect-src 'self'" in policy
