"""The peer of service.py: for each request it fetches all columns of all tables, and predicts with LightGBM."""

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import lightgbm
import numpy as np
import sqlalchemy as sa
from fastapi import FastAPI, HTTPException
from sqlalchemy.ext.asyncio import create_async_engine

FOLDER = Path(os.environ.get("FOLDER", "."))  # of prepare.py
ROW = sa.text("select * from cells_outlines join cells_textures using (patient) where patient = :patient")  # one trip


@asynccontextmanager
async def lifespan(app: FastAPI) -> AsyncIterator[None]:
    """Load the model, and open the database."""
    app.state.booster = lightgbm.Booster(model_file=FOLDER / "lightgbm.txt")
    address = os.environ["DATABASE_URL"].replace("postgresql://", "postgresql+psycopg://")
    app.state.engine = create_async_engine(address, pool_size=10, isolation_level="AUTOCOMMIT")
    yield
    await app.state.engine.dispose()


app = FastAPI(lifespan=lifespan)


@app.get("/patients/{patient}")
async def malignant(patient: int) -> dict[str, Any]:
    """Predict one patient from all values."""
    async with app.state.engine.connect() as connection:
        row = (await connection.execute(ROW, {"patient": patient})).mappings().first()
    if row is None:
        raise HTTPException(404, "no such patient")
    values = np.array([[row[name.replace("_", " ")] for name in app.state.booster.feature_name()]])
    return {"malignant": float(app.state.booster.predict(values, num_threads=1)[0]), "values": values.size, "rounds": 1}
