"""The page in Chromium: the slider names what Python chooses, by keyboard too, without network, at two widths."""

from __future__ import annotations

import json
import shutil

import numpy as np
import pytest
from page_cases import HOSTILE, PLAIN, cascade, frontier, prices, rows

import costframe as cf
from costframe.report.page import frontier_page, model_page, render_page

CHROMIUM, DRIVER = shutil.which("chromium") or shutil.which("google-chrome"), shutil.which("chromedriver")
SIZES = {"desktop": (1280, 800), "phone": (390, 844)}
DEAR = cf.CostModel.from_dict({"unit": "JPY", "features": dict.fromkeys(PLAIN, 1_234_567_890.0)})
FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync",
    "--disable-background-networking", "--disable-component-update", "--disable-dev-shm-usage",
)  # fmt: skip

pytestmark = [
    pytest.mark.skipif(not (CHROMIUM and DRIVER), reason="needs chromium and chromedriver"),
    pytest.mark.filterwarnings("default::ResourceWarning"),  # of selenium's sockets
]


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    webdriver = pytest.importorskip("selenium.webdriver", reason="needs selenium")
    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    for flag in (*FLAGS, f"--user-data-dir={tmp_path_factory.mktemp('chromium')}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(DRIVER))
    yield driver
    driver.quit()


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """Write a page of a frontier, one with hostile names, and one of a model; return contents and paths."""
    folder = tmp_path_factory.mktemp("pages")
    found = frontier()
    named = frontier(names=HOSTILE, algorithms=HOSTILE)
    one = {"rows": rows(), "report": cascade(5).cost(rows()), "paid_by": "40 rows"}
    contents = {
        "frontier": frontier_page(found, rows(), prices(), title="patients"),
        "far apart": frontier_page(frontier(stretch=1.8), rows(), prices(), title="patients"),
        "dear": model_page(
            cascade(5), DEAR, (), name="m", path=None, **one | {"report": cascade(5).cost(rows(), DEAR)}
        ),
        "hostile": frontier_page(named, rows(), prices(HOSTILE), title=HOSTILE[0], facts=[(HOSTILE[1], HOSTILE[2])]),
        "model": model_page(cascade(5), prices(), (("kind", "regressor"),), name="m", path="m.model", **one),
    }
    paths = {name: folder / f"{name}.html" for name in contents}
    for name, path in paths.items():
        path.write_text(render_page(contents[name]), encoding="utf-8")
    return contents, paths


@pytest.fixture(params=SIZES)
def open_page(request, browser, pages):
    """Open a page in a window of a size; at the end, refuse errors and requests."""
    width, height = SIZES[request.param]
    device = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": request.param == "phone"}
    contents, paths = pages
    opened = []

    def go(name):
        browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", device)
        browser.get_log("browser"), browser.get_log("performance")
        browser.get(paths[name].as_uri())
        opened.append(paths[name].as_uri())
        return contents[name]

    yield go
    assert browser.get_log("browser") == []
    events = [json.loads(entry["message"])["message"] for entry in browser.get_log("performance")]
    asked = [one["params"]["request"]["url"] for one in events if one["method"] == "Network.requestWillBeSent"]
    assert asked == opened
    assert browser.execute_script("return document.documentElement.scrollWidth") <= width


def said(browser):
    return browser.find_element("id", "said").get_attribute("textContent")


def shown(browser):
    """The visible heading of the one card that is shown."""
    cards = [card for card in browser.find_elements("css selector", ".card") if card.is_displayed()]
    assert len(cards) == 1
    return cards[0].find_element("tag name", "h2").text


def sentence(page, name):
    return next(card.sentence for card in page.cards if card.name == name)


def test_numbers_of_ten_digits_stand_on_one_line(browser, open_page):
    open_page("dear")
    lines = browser.execute_script("""
        const every = [...document.querySelectorAll(".payments td")];
        const cells = every.filter(cell => cell.offsetParent && cell.firstChild);
        return cells.map(cell => {
            const range = document.createRange();
            range.selectNode(cell.firstChild);
            return [cell.textContent, range.getClientRects().length];
        })""")
    assert any(text.startswith("1,234,567,890") for text, _ in lines)
    assert [text for text, count in lines if count > 1] == []


@pytest.mark.parametrize("name", ["frontier", "far apart"])
def test_the_slider_goes_by_keyboard_through_the_choices_of_python(browser, open_page, name):
    from selenium.webdriver.common.keys import Keys

    page = open_page(name)
    *rest, last = page.frontier.choices
    slider, amount = browser.find_element("id", "slider"), browser.find_element("id", "budget")
    assert len(rest) > 2
    assert said(browser) == f"Recommended at any budget: {sentence(page, last.name)}"
    slider.send_keys(Keys.HOME)
    for choice in rest:
        assert shown(browser) == choice.name
        assert float(amount.get_attribute("value")) == choice.budget
        assert said(browser) == f"Within {choice.budget:.12g} CAD per row: {sentence(page, choice.name)}"
        assert slider.get_attribute("aria-valuetext") == f"{choice.budget:.12g} CAD per row"
        slider.send_keys(Keys.ARROW_RIGHT)
    assert shown(browser) == last.name
    slider.send_keys(Keys.ARROW_LEFT)
    assert shown(browser) == rest[-1].name
    slider.send_keys(Keys.END)
    assert said(browser) == f"Recommended at any budget: {sentence(page, last.name)}"


def test_a_budget_can_be_typed(browser, open_page):
    page = open_page("frontier")
    budget = browser.find_element("id", "budget")
    for choice in page.frontier.choices:
        for amount in (choice.cost, choice.cost * 1.001 + 1e-6):
            budget.clear()
            budget.send_keys(repr(amount))
            assert shown(browser) == page.frontier.choice(amount)
    before = said(browser)
    for text in ("-1", "e", ""):
        budget.clear()
        budget.send_keys(text)
        assert said(browser) == before or text == "-1"
        assert shown(browser)


def test_models_are_picked_in_the_picture_and_by_name(browser, open_page):
    from selenium.webdriver.common.keys import Keys

    page = open_page("frontier")
    spots = browser.find_elements("css selector", ".spot[data-card]")
    names = [name for name in browser.find_elements("css selector", "button") if name.is_displayed()]
    assert min(len(spots), len(names)) > 3
    for one in [*spots, *names]:
        number = one.get_attribute("data-card")
        if one in spots:
            words = one.find_element("tag name", "title").get_attribute("textContent")
            assert words.startswith(f"{page.cards[int(number)].name}: ROC AUC 0.")
            browser.execute_script("arguments[0].dispatchEvent(new MouseEvent('click'))", one)
        else:
            assert one.text == page.cards[int(number)].name
            one.send_keys(Keys.ENTER)
        assert shown(browser) == page.cards[int(number)].name
        assert said(browser) == f"Picked: {page.cards[int(number)].sentence}"
        chosen = browser.find_elements("css selector", ".chosen")
        assert {each.get_attribute("data-card") for each in chosen} == {number}


def test_all_that_can_be_used_is_reached_by_tab_in_the_order_of_the_page(browser, open_page):
    from selenium.webdriver.common.action_chains import ActionChains
    from selenium.webdriver.common.keys import Keys

    open_page("frontier")
    wanted = browser.execute_script(
        "return [...document.querySelectorAll('input, button, [tabindex], summary')]"
        ".filter((one) => one.checkVisibility())"
        ".map((one) => one.outerHTML)"
    )
    reached = []
    for _ in wanted:
        ActionChains(browser).send_keys(Keys.TAB).perform()
        reached.append(browser.execute_script("return document.activeElement.outerHTML"))
    assert reached == wanted
    assert [text for text in reached if 'id="slider"' in text]


def test_the_accessibility_tree_has_names(browser, open_page):
    page = open_page("frontier")
    browser.execute_cdp_cmd("Accessibility.enable", {})
    nodes = browser.execute_cdp_cmd("Accessibility.getFullAXTree", {})["nodes"]
    named = [
        (n["role"]["value"], n.get("name", {}).get("value", "")) for n in nodes if not n["ignored"] and "role" in n
    ]
    roles = {role for role, _ in named}
    assert {"slider", "spinbutton", "button", "image", "table", "status", "heading", "main"} <= roles
    for role, name in named:
        assert name or role not in {"slider", "spinbutton", "button", "heading", "image", "region", "article"}, role
    assert ("slider", "Budget") in named
    assert ("spinbutton", "Budget per row") in named
    assert {choice.name for choice in page.frontier.choices} <= {name for role, name in named if role == "button"}
    browser.execute_cdp_cmd("Accessibility.disable", {})


def test_hostile_names_are_shown_and_nothing_else(browser, open_page):
    page = open_page("hostile")
    assert page.title in browser.find_element("tag name", "h1").text
    titles = browser.find_elements("css selector", ".spot title")
    assert any("onmouseover" in title.get_attribute("textContent") for title in titles)
    assert len(browser.find_elements("tag name", "script")) == 1
    assert not browser.find_elements("css selector", "img, b:not(.stages b, .often b), [onmouseover]")


def test_the_page_of_a_model_shows_it_without_a_script(browser, open_page):
    page = open_page("model")
    assert shown(browser) == page.cards[0].name
    text = browser.find_element("tag name", "main").text
    assert "cf.load('m.model')" in text
    assert "Where its money goes" in text
    for summary in browser.find_elements("tag name", "summary"):
        summary.click()
    opened = browser.find_element("tag name", "main").text
    assert "up is stage 2, down is stage 1" in opened
    assert "up if score > 0" in opened
    assert "draw of chol" in opened


def test_no_script_shows_the_recommended_model(browser, open_page):
    browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
    try:
        page = open_page("frontier")
        assert shown(browser) == page.frontier.choice(np.inf)
        assert not browser.find_element("id", "control").is_displayed()
        assert browser.find_element("css selector", ".plot svg").is_displayed()
        assert browser.find_element("css selector", ".tables table").is_displayed()
    finally:
        browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})
