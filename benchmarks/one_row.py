"""One row at a time through the compiled path, against LightGBM's one-row predict of the same model."""

from lightgbm_peer import as_predictor, table, train
from timing import ratio

CALLS = 500


def main() -> None:
    X, y = table(20_000)
    booster = train(X, y)
    predictor = as_predictor(booster)
    row = X[:1]
    ratio(
        f"predict one row, {CALLS} calls / LightGBM's",
        lambda: [predictor.predict(row) for _ in range(CALLS)],
        lambda: [booster.predict(row, num_threads=1) for _ in range(CALLS)],
        goal="<= 1",
    )


if __name__ == "__main__":
    main()
