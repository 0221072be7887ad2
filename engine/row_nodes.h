// Parts of the word that stands for a node in walks of single rows: steps to the left child, which the right one
// follows, 0 at leaves; whether the right child is nearer to a leaf; whether the node is the first test of its feature on
// the way; whether it tests for categories; whether NaN goes left; the reading of the value; the feature.
#pragma once

#include "span.h"

namespace costframe {

constexpr int left_at = 36, nearer_at = 35, fresh_at = 34, by_category_at = 33, missing_left_at = 32, reading_at = 30;
constexpr i64 feature_bits = (i64{1} << reading_at) - 1;

}  // namespace costframe
