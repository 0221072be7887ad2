"""Parts of the word that stands for a node in walks of single rows, which wait for memory more than for arithmetic.

They are the steps to the left child, which the right one follows, 0 at leaves; whether the right child is nearer to a
leaf; whether the node is the first test of its feature on the way; whether it tests for categories; whether NaN goes
left; the reading of the value, see `TreeTable`; and the feature.
"""

STEPS_AT, NEARER_AT, FRESH_AT, NAMED_AT, MISSING_LEFT_AT, READING_AT = 36, 35, 34, 33, 32, 30
FEATURE = (1 << READING_AT) - 1
