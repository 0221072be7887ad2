"""Measures a page of `costframe page` in Chromium: its size, and the time until it asks its first question.

    python benchmarks/pages.py [--trees 100] [--loads 9]

The model is CEGB's on the embedded data. Times are those of the browser's own clock, from the start of a load.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
from pathlib import Path

from selenium import webdriver
from selenium.webdriver.support.ui import WebDriverWait

import costframe as cf
from costframe.page.render import render_ask_page

TOOK = "return performance.getEntriesByName('asked').map((mark) => mark.startTime)[0]"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trees", type=int, default=100)
    parser.add_argument("--loads", type=int, default=9)
    asked = parser.parse_args()
    data = cf.datasets.load("breast-cancer")
    train, options = data.part("train"), webdriver.ChromeOptions()
    fitted = cf.CEGBClassifier(data.costs, n_estimators=asked.trees).fit(train.X, train.y)
    for option in ("--headless=new", "--no-sandbox"):
        options.add_argument(option)
    with tempfile.TemporaryDirectory() as folder, webdriver.Chrome(options=options) as browser:
        path, took = Path(folder) / "ask.html", []
        path.write_text(render_ask_page(cf.FittedEstimator(fitted.predictor_), data.costs, "a model"), "utf-8")
        for _ in range(asked.loads):
            browser.get(path.as_uri())
            took.append(WebDriverWait(browser, 300).until(lambda one: one.execute_script(TOOK)))
        print(f"{path.stat().st_size / 1e3:.0f} kB; first question after {statistics.median(took):.0f} ms")
        print(f"(median of {asked.loads} loads, {min(took):.0f} to {max(took):.0f} ms)")


if __name__ == "__main__":
    main()
