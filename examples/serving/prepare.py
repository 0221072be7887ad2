"""Train the model that is served, and write it beside a SQLite database of patients and the file of sources."""

import json
import sqlite3
import sys
from pathlib import Path

import costframe as cf

TEXTURES = ("texture", "smoothness")  # the measurements that another laboratory keeps


def prepare(folder: Path) -> None:
    """Write cells.model, patients.db and sources.toml."""
    data = cf.datasets.load("breast-cancer")
    train, test = data.part("train"), data.part("test")
    model = cf.estimator("cegb", costs=data.costs, tradeoff=2e-3, n_estimators=50).fit(train.X, train.y)
    cf.save(model, folder / "cells.model")

    file, lines = (folder / "patients.db").absolute(), []
    with sqlite3.connect(file) as database:
        for table, is_texture in (("outlines", False), ("textures", True)):
            names = [name for name in data.feature_names if name.endswith(TEXTURES) == is_texture]
            columns = [data.feature_names.index(name) for name in names]
            rows = [(i, *row) for i, row in enumerate(test.X[:, columns].tolist())]
            quoted = ", ".join(f'"{name}" real' for name in names)
            database.execute(f"create table {table} (patient integer primary key, {quoted})")
            database.executemany(f"insert into {table} values ({', '.join('?' * len(rows[0]))})", rows)  # noqa: S608 - our own names
            lines += [f"[sources.{table}]", 'kind = "sql"', f"url = {json.dumps(f'sqlite:///{file}')}"]
            lines += [
                f'table = "{table}"',
                'key = "patient"',
                'on_failure = "without"',
                f"features = {json.dumps(names)}",
                "",
            ]
    database.close()
    (folder / "sources.toml").write_text("\n".join(lines), encoding="utf-8")


if __name__ == "__main__":
    prepare(Path(sys.argv[1]))
