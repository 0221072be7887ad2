// The walk of a single row through all stages, by its values, without codes, blocks and marks.
#pragma once

#include "scores.h"

namespace costframe {

// Parts of the word that stands for a node in walks of single rows: steps to the left child, which the right one
// follows, 0 at leaves; whether it tests for categories; whether NaN goes left; the reading of the value; the feature.
constexpr int row_steps_at = 36, row_named_at = 33, row_missing_left_at = 32, row_reading_at = 30;
constexpr i64 row_feature = (i64{1} << row_reading_at) - 1;

// See `RowLayout` in Python.
struct RowModel {
    const i64* word;  // (nodes,)
    i64 n_nodes;
    const double* threshold;  // (nodes,)
    const i64* span;          // (nodes, 2): first category, and last + 1; none if no node tests for categories
    i64 n_spans;
    const double* category;
    i64 n_categories;
    const i64* use;  // (L, 5): whether it is a tree; place; first of payload; first target, and last + 1
    i64 n_uses;
    const double* fill;  // (L,)
    const i64* target;
    i64 n_targets;
    const double* payload;
    i64 n_payload;
    const i64* stage;  // (stages, 4): first use, and last + 1; below; above
    i64 n_stages;
    const double* stage_value;  // (stages, 1 + K): threshold, intercept
    i64 n_values;

    // The child of an inner node that a value goes to.
    i64 child(i64 v, double value) const {
        const i64 test = word[v];
        const bool missing_left = test >> row_missing_left_at & 1;
        value = read_value(value, test >> row_reading_at & 3);
        bool right = std::isnan(value) ? !missing_left : !(value <= threshold[v]);
        if (test >> row_named_at & 1) {
            const double *begin = category + span[2 * v], *end = category + span[2 * v + 1];
            const bool has_nan = end > begin && std::isnan(end[-1]);
            const double* at = std::lower_bound(begin, end - has_nan, value);
            const bool found = std::isnan(value) ? has_nan : at < end - has_nan && *at == value;
            right = found == missing_left;
        }
        return v + (test >> row_steps_at) + right;
    }
};

// Set the scores of a row without opaque learners, and return its exit.
inline i64 walk_row(const double* x, const RowModel& model, Vector<double> scores) {
    for (i64 stage = 0;;) {
        const double* values = model.stage_value + stage * model.n_values;
        const i64* ways = model.stage + 4 * stage;
        std::copy_n(values + 1, scores.size(), scores.begin());
        for (i64 use = ways[0]; use < ways[1]; ++use) {
            const i64 *part = model.use + 5 * use, n_targets = part[4] - part[3];
            const double* payload = model.payload + part[2];
            double value = 1.0;
            if (part[0]) {
                i64 at = part[1];
                while (model.word[at] >> row_steps_at) at = model.child(at, x[model.word[at] & row_feature]);
                payload += (at - part[1]) * n_targets;
            } else {
                value = std::isnan(x[part[1]]) ? model.fill[use] : x[part[1]];
            }
            for (i64 j = 0; j < n_targets; ++j) scores[model.target[part[3] + j]] += payload[j] * value;
        }
        if (ways[2] < 0) return stage;
        stage = scores[0] > values[0] ? ways[3] : ways[2];
    }
}

}  // namespace costframe
