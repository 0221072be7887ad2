"""The page in Chromium: the slider names what Python chooses, by keyboard too, without network, at two widths."""

from __future__ import annotations

import json
import shutil

import numpy as np
import pytest
from page_cases import HOSTILE, frontier, frontier_page, prices, render_page, rows

CHROMIUM, DRIVER = shutil.which("chromium") or shutil.which("google-chrome"), shutil.which("chromedriver")
SIZES = {"desktop": (1280, 800), "phone": (390, 844)}
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
    """Write a page of a frontier, and one with hostile names; return contents and paths."""
    folder = tmp_path_factory.mktemp("pages")
    found = frontier()
    named = frontier(names=HOSTILE, algorithms=HOSTILE)
    contents = {
        "frontier": frontier_page(found, rows(), prices(), title="patients"),
        "hostile": frontier_page(named, rows(), prices(HOSTILE), title=HOSTILE[0], facts=[(HOSTILE[1], HOSTILE[2])]),
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


def test_the_slider_goes_by_keyboard_through_the_choices_of_python(browser, open_page):
    from selenium.webdriver.common.keys import Keys

    page = open_page("frontier")
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


def test_models_are_picked_in_the_picture_and_by_name(browser, open_page):
    from selenium.webdriver.common.keys import Keys

    page = open_page("frontier")
    spots = browser.find_elements("css selector", ".spot[data-card]")
    names = [name for name in browser.find_elements("css selector", "button") if name.is_displayed()]
    assert min(len(spots), len(names)) > 3
    for one in [spots[0], spots[-1], names[0], names[-1]]:
        card = page.cards[int(one.get_attribute("data-card"))]
        if one in spots:
            browser.execute_script("arguments[0].dispatchEvent(new MouseEvent('click'))", one)
        else:
            one.send_keys(Keys.ENTER)
        assert shown(browser) == card.name
        assert said(browser) == f"Picked: {card.sentence}"


@pytest.mark.parametrize("name", ["frontier", "hostile"])
def test_no_script_shows_the_recommended_model(browser, open_page, name):
    browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
    try:
        page = open_page(name)
        assert shown(browser) == page.frontier.choice(np.inf)
        assert not browser.find_element("id", "control").is_displayed()
        assert page.title in browser.find_element("tag name", "h1").text
        assert not browser.find_elements("css selector", "img, b:not(.stages b, .often b), [onmouseover]")
    finally:
        browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})
