"""A small CatBoost document by hand, and copies with changes."""

import copy


def number(value, index=0, border=0.5):
    return {"split_index": value, "split_type": "FloatFeature", "float_feature_index": index, "border": border}


ONE_HOT = {"split_index": 3, "split_type": "OneHotFeature", "cat_feature_index": 0, "value": 1121341681}
CTR = {"split_index": 5, "split_type": "OnlineCtr", "border": 1.5}
FLOATS = {"has_nans": True, "nan_value_treatment": "AsTrue", "feature_id": ""}
DOCUMENT = {
    "features_info": {
        "float_features": [
            FLOATS | {"feature_index": 0, "flat_feature_index": 0, "borders": [0.5, 0.7]},
            FLOATS | {"feature_index": 1, "flat_feature_index": 2, "borders": [-1], "nan_value_treatment": "AsIs"},
        ],
        "categorical_features": [
            {"feature_index": 0, "flat_feature_index": 3, "feature_id": "city", "values": [1121341681, -1438285038]}
        ],
        "ctrs": [
            {"borders": [1.5], "elements": [{"cat_feature_index": 0, "combination_element": "cat_feature_value"}]}
        ],
    },
    "model_info": {
        "params": {"loss_function": {"type": "MultiClass", "params": {}}},
        "class_params": {"class_names": ["no", "yes"], "class_label_type": "String"},
    },
    "oblivious_trees": [
        {"splits": [number(0), ONE_HOT], "leaf_values": [1, -1, 2, -2, 3, -3, 4, -4]},
        {"splits": [], "leaf_values": [0.5, 0.25]},
        {"splits": [number(2, 1, -1.0)], "leaf_values": [0, 0, 10, 20]},
    ],
    "scale_and_bias": [1, [0, 0.125]],
}


def changed(*changes):
    """The document with other values at some paths; a path without a value is deleted."""
    document = copy.deepcopy(DOCUMENT)
    for path, *value in changes:
        part = document
        for step in path[:-1]:
            part = part[step]
        if value:
            part[path[-1]] = value[0]
        else:
            del part[path[-1]]
    return document


TREE = {
    "split": number(0),
    "left": {"value": [1, 2], "weight": 3},
    "right": {"split": ONE_HOT, "left": {"value": [3, 4]}, "right": {"value": [5, 6]}},
}


def free(*trees):
    return changed([["oblivious_trees"]], [["trees"], list(trees)])
