"""The peer of `costframe serve`: for each request it fetches all columns of all tables, and predicts with LightGBM."""

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import lightgbm
import numpy as np
import sqlalchemy as sa
from sqlalchemy.ext.asyncio import create_async_engine
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

FOLDER = Path(os.environ.get("FOLDER", "."))  # of prepare.py
ROW = sa.text("select * from cells_outlines join cells_textures using (patient) where patient = :patient")  # one trip


@asynccontextmanager
async def lifespan(app: Starlette) -> AsyncIterator[None]:
    """Load the model, and open the database."""
    app.state.booster = lightgbm.Booster(model_file=FOLDER / "lightgbm.txt")
    address = os.environ["DATABASE_URL"].replace("postgresql://", "postgresql+psycopg://")
    app.state.engine = create_async_engine(address, pool_size=10, isolation_level="AUTOCOMMIT")
    yield
    await app.state.engine.dispose()


async def predict(request: Request) -> JSONResponse:
    """Predict one patient from all values."""
    state, patient = request.app.state, int((await request.json())["key"])
    async with state.engine.connect() as connection:
        row = (await connection.execute(ROW, {"patient": patient})).mappings().first()
    if row is None:
        raise HTTPException(404, "no such patient")
    names = [name.replace("_", " ") for name in state.booster.feature_name()]
    chance = float(state.booster.predict(np.array([[row[name] for name in names]]), num_threads=1)[0])
    label = "malignant" if chance > 0.5 else "benign"
    return JSONResponse({"label": label, "probability": chance, "acquired": names, "rounds": 1})


app = Starlette(routes=[Route("/predict", predict, methods=["POST"])], lifespan=lifespan)
