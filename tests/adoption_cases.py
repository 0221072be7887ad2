"""How each library's models are told and adopted part by part, without the check and the opaque way of `cf.adopt`."""

from costframe.adoption.catboost import adopt_catboost, adopt_catboost_file, is_catboost, looks_like_catboost
from costframe.adoption.checking import check_answers
from costframe.adoption.lightgbm import adopt_lightgbm, adopt_lightgbm_file, is_lightgbm, looks_like_lightgbm
from costframe.adoption.opaque import adopt_opaque
from costframe.adoption.pipelines import is_pipeline, prepare
from costframe.adoption.sklearn import adopt_sklearn, is_sklearn
from costframe.adoption.thresholds import float32_at_most
from costframe.adoption.xgboost import adopt_xgboost, adopt_xgboost_file, is_xgboost, looks_like_xgboost

__all__ = [
    "ADOPTS",
    "KNOWS",
    "LOOKS",
    "READS",
    "adopt_opaque",
    "check_answers",
    "float32_at_most",
    "is_pipeline",
    "prepare",
]

KNOWS = {"catboost": is_catboost, "lightgbm": is_lightgbm, "sklearn": is_sklearn, "xgboost": is_xgboost}
ADOPTS = {"catboost": adopt_catboost, "lightgbm": adopt_lightgbm, "sklearn": adopt_sklearn, "xgboost": adopt_xgboost}
READS = {"catboost": adopt_catboost_file, "lightgbm": adopt_lightgbm_file, "xgboost": adopt_xgboost_file}
LOOKS = {"catboost": looks_like_catboost, "lightgbm": looks_like_lightgbm, "xgboost": looks_like_xgboost}
