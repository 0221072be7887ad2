"""Needs ../shared: all papers' figures and tables of claims, one after the other.

    python benchmarks/papers.py --quick                 # small tables and fits, two splits
    python benchmarks/papers.py --output figures        # all; less than two hours on two cores
    python benchmarks/papers.py cegb miser --keep done  # some; an interrupted run goes on with the same folder

Pictures, a table of claims for each paper and all tables together (papers.md) are in the output folder.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from pathlib import Path

from harness.tables import OUTPUT, require_shared

PAPERS = {
    "cronus": "Classifier cascade for minimizing feature evaluation cost (AISTATS 2012)",
    "cstc": "Cost-sensitive tree of classifiers (ICML 2013)",
    "miser": "The Greedy Miser (ICML 2012)",
    "cegb": "Cost efficient gradient boosting (NIPS 2017)",
    "adapt": "Adaptive classification for prediction under a budget (NIPS 2017)",
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("papers", nargs="*", metavar="PAPER", help=f"by default {' '.join(PAPERS)}")
    parser.add_argument("--quick", action="store_true", help="small tables and fits, two splits")
    parser.add_argument("--splits", help="re-splits of each table, 5 by default")
    parser.add_argument("--keep", type=Path, help="folder to keep what was measured, and to read it from in later runs")
    parser.add_argument("--output", **OUTPUT)
    asked = parser.parse_args()
    if unknown := [name for name in asked.papers if name not in PAPERS]:
        parser.error(f"no paper {unknown[0]!r}, there are {', '.join(PAPERS)}")
    require_shared()
    chosen, begun, text = asked.papers or list(PAPERS), time.perf_counter(), []
    given = ["--output", asked.output, *(["--quick"] if asked.quick else [])]
    for name in ("splits", "keep"):
        if getattr(asked, name) is not None:
            given += [f"--{name}", getattr(asked, name)]
    for number, paper in enumerate(chosen, start=1):
        print(f"paper {number} of {len(chosen)}: {PAPERS[paper]}", flush=True)
        script, began = Path(__file__).with_name(f"{paper}_paper.py"), time.perf_counter()
        subprocess.run([sys.executable, script, *map(str, given)], check=True)  # noqa: S603 - our own script
        table = (asked.output / f"{paper}_claims.md").read_text(encoding="utf-8")
        text.append(f"## {PAPERS[paper]}\n\n{(time.perf_counter() - began) / 60:.0f} minutes.\n\n{table}")
        (asked.output / "papers.md").write_text("\n".join(text), encoding="utf-8")
    print(f"all in {(time.perf_counter() - begun) / 60:.0f} minutes: {asked.output / 'papers.md'}")


if __name__ == "__main__":
    main()
