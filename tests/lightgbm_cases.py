"""A small file of LightGBM, and what it answers for some rows."""

import numpy as np

TEXT = b"""tree
version=v4
num_class=1
num_tree_per_iteration=1
label_index=0
max_feature_idx=2
objective=binary sigmoid:1
feature_names=age zone size
feature_infos=[0:99] -1:0:3:70 [0:1]
tree_sizes=300 90

Tree=0
num_leaves=4
num_cat=1
split_feature=0 1 2
split_gain=1 1 1
threshold=40.5 0 inf
decision_type=2 1 8
left_child=1 -1 -3
right_child=2 -2 -4
leaf_value=0.5 -0.25 0.125 2
cat_boundaries=0 3
cat_threshold=9 0 64
is_linear=0
shrinkage=1


Tree=1
num_leaves=1
num_cat=0
split_feature=
leaf_value=-0.0625
shrinkage=0.1


end of trees

feature_importances:
age=1

parameters:
[categorical_feature: 1]
end of parameters

pandas_categorical:null
"""
ROWS = np.array([[40.5, 0.9, 5.0], [np.nan, 70.0, 5.0], [40.0, 2.0, 5.0], [41.0, 0.0, np.inf], [41.0, 0.0, np.nan]])
SCORES = np.array([0.4375, 0.4375, -0.3125, 0.0625, 1.9375])
