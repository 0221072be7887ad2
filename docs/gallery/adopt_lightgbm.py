"""LightGBM: what a trained model costs, and what cheaper ones cost.

`cf.adopt` reads the booster; it answers as before. LightGBM's lazy penalties make it cheaper, and so does training with
costframe, which knows that two values of one draw of blood need one draw.
"""

import lightgbm as lgb
import numpy as np
from sklearn.metrics import roc_auc_score

import costframe as cf

data = cf.datasets.read_table("heart.csv", target="ill", costs="prices.toml")
train, valid, test = (data.part(name) for name in ("train", "valid", "test"))
X, y = np.vstack([valid.X, test.X]), np.concatenate([valid.y, test.y])  # neither trains here
settings = {"n_estimators": 60, "max_depth": 3, "verbose": -1, "n_jobs": 1, "deterministic": True}
alone = [data.costs.full_cost([name]) for name in data.feature_names]  # LightGBM has no resources
models = {"LightGBM": lgb.LGBMClassifier(**settings)}
for tradeoff in (0.0005, 0.005):
    penalties = {"cegb_tradeoff": 2 * tradeoff, "cegb_penalty_feature_lazy": alone}
    models[f"LightGBM, penalties at {tradeoff}"] = lgb.LGBMClassifier(**settings, **penalties)
    models[f"planner at {tradeoff}"] = cf.PlannerClassifier(data.costs, tradeoff=tradeoff)
for name, model in models.items():
    fitted = model.fit(train.X, train.y)
    priced = fitted if name.startswith("planner") else cf.adopt(fitted, feature_names=data.feature_names)
    area = roc_auc_score(y == "yes", fitted.predict_proba(X)[:, 1])
    print(f"{name:30} ROC AUC {area:.3f}, {priced.cost(X, costs=data.costs).mean:6.2f} CAD")
