"""Train both models, and write them beside the file of sources; write the patients into the database.

python prepare.py FOLDER    # into FOLDER/patients.db, or the database that DATABASE_URL names
"""

import os
import sys
from pathlib import Path

import lightgbm
import sqlalchemy as sa

import costframe as cf

TEXTURES = ("texture", "smoothness")  # the measurements that another laboratory keeps


def prepare(folder: Path, address: str = "") -> str:
    """Write cells.model, lightgbm.txt, sources.toml and the tables; return the database's address."""
    data = cf.datasets.load("breast-cancer")
    train, test = data.part("train"), data.part("test")
    model = cf.estimator("cegb", costs=data.costs, tradeoff=2e-3, n_estimators=50).fit(train.X, train.y)
    cf.save(model, folder / "cells.model")
    peer = lightgbm.LGBMClassifier(n_estimators=50, num_leaves=15, n_jobs=1, verbose=-1)
    names = [name.replace(" ", "_") for name in data.feature_names]  # LightGBM allows no spaces
    peer.fit(train.X, train.y, feature_name=names).booster_.save_model(folder / "lightgbm.txt")

    address = address or f"sqlite:///{(folder / 'patients.db').absolute()}"
    engine = sa.create_engine(address.replace("postgresql://", "postgresql+psycopg://"))
    schema, lines = sa.MetaData(), []
    with engine.begin() as connection:
        for name, is_texture in (("outlines", False), ("textures", True)):
            names = [name for name in data.feature_names if name.endswith(TEXTURES) == is_texture]
            key, columns = sa.Column("patient", sa.Integer, primary_key=True), [sa.Column(n, sa.Double) for n in names]
            table = sa.Table(f"cells_{name}", schema, key, *columns)
            table.drop(connection, checkfirst=True)
            table.create(connection)
            values = test.X[:, [data.feature_names.index(name) for name in names]].tolist()
            rows = [{"patient": i} | dict(zip(names, row, strict=True)) for i, row in enumerate(values)]
            connection.execute(table.insert(), rows)
            features = ", ".join(f'"{name}"' for name in names)
            lines += [f"[sources.{name}]", 'kind = "sql"', 'url = "$DATABASE_URL"', f'table = "{table.name}"']
            lines += ['key = "patient"', 'on_failure = "without"', f"features = [{features}]", ""]
    engine.dispose()
    (folder / "sources.toml").write_text("\n".join(lines), encoding="utf-8")
    return address


if __name__ == "__main__":
    prepare(Path(sys.argv[1]), os.environ.get("DATABASE_URL", ""))
