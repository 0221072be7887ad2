// Parts of the word that stands for a node in walks of single rows: see `costframe/core/learners/row_nodes.py`.
#pragma once

#include "span.h"

namespace costframe {

constexpr i64 steps_at = 36, nearer_at = 35, fresh_at = 34;

}  // namespace costframe
