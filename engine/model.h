// A stage tree over trees, columns and opaque learners: the one description of a model, for tables and for single rows.
#pragma once

#include "nodes.h"

namespace costframe {

enum Kind : i64 { tree_kind, column_kind, opaque_kind };  // of weak learners

// Parts of the word that stands for a node in walks of single rows: steps to the left child, which the right one
// follows, 0 at leaves; whether the right child is nearer to a leaf; whether the node is the first test of its feature on
// the way; whether it tests for categories; whether NaN goes left; the reading of the value; the feature.
constexpr int left_at = 36, nearer_at = 35, fresh_at = 34, by_category_at = 33, missing_left_at = 32, reading_at = 30;
constexpr i64 feature_bits = (i64{1} << reading_at) - 1;

// A learner that a stage uses; `place` is the root of a tree, a column of X, or the first output of an opaque learner.
struct Use {
    i64 learner, kind, width, read, read_end, place, payload, target, target_end, tree, fresh;
};

// Its uses, the stages behind it, -1 at answers, and the code columns that its trees read.
struct Stage {
    i64 first, last, below, above, column, column_end;
};

// The sum of an opaque learner's weighted outputs for a target, in their order; weights are `step` apart.
inline double weigh_outputs(const double* weights, i64 step, const double* outputs, i64 width) {
    double total = 0.0;
    bool begun = false;
    for (i64 o = 0; o < width; ++o) {
        const double weight = weights[o * step];
        if (weight == 0.0) continue;
        const double term = weight * outputs[o];
        total = begun ? total + term : term;
        begun = true;
    }
    return total;
}

// See `StageLayout` in Python; features are numbered among the U that the model uses.
struct Model {
    Nodes nodes;                     // of all trees, for tables
    Vector<const i64> path_count;    // (nodes,): features tested on the way; the next five are for single rows
    Vector<const i64> word;          // (nodes,)
    Vector<const i64> reads;         // (nodes,): features tested here or below, as bits of their number modulo 64
    Vector<const double> threshold;  // (nodes,)
    Matrix<const i64> span;          // (nodes, 2): first category, and last + 1; none if no node tests for categories
    Vector<const double> category;
    Vector<const i64> used;          // (U,) columns
    RecordRows<Use> use;             // (L, 11)
    Matrix<const double> use_value;  // (L, 2): e_t in its unit; fill
    Vector<const i64> read;
    Vector<const i64> target;
    Vector<const double> payload;
    RecordRows<Stage> stage;           // (stages, 6)
    Matrix<const double> stage_value;  // (stages, 1 + K): threshold, intercept
    Vector<const i64> column;
    i64 n_learners;
    i64 n_opaque;  // outputs of opaque learners
    i64 depth;     // of the deepest tree

    i64 n_used() const { return std::ssize(used); }
    i64 n_outputs() const { return stage_value.columns - 1; }
    bool is_leaf(i64 v) const { return word[v] >> left_at == 0; }
    i64 left(i64 v) const { return v + (word[v] >> left_at); }
    i64 nearer(i64 v) const { return left(v) + (word[v] >> nearer_at & 1); }
    i64 feature(i64 v) const { return word[v] & feature_bits; }
    const double* values_of(i64 at) const { return stage_value.data + at * stage_value.columns; }
    Vector<const i64> reads_of(const Use& by) const { return read.subspan(by.read, by.read_end - by.read); }
    Vector<const i64> targets_of(const Use& by) const { return target.subspan(by.target, by.target_end - by.target); }
    const double* payload_of(const Use& by) const { return payload.data() + by.payload; }

    // The child of an inner node that a value goes to.
    i64 child(i64 v, double value) const {
        const bool missing_left = word[v] >> missing_left_at & 1;
        value = read_value(value, word[v] >> reading_at & 3);
        bool right = std::isnan(value) ? !missing_left : !(value <= threshold[v]);
        if (word[v] >> by_category_at & 1) {
            right = is_member(value, category.data() + span(v, 0), category.data() + span(v, 1)) == missing_left;
        }
        return left(v) + right;
    }

    // What a use's column learner gives: its value, or the fill value for NaN.
    double filled(i64 number, double value) const { return std::isnan(value) ? use_value(number, 1) : value; }

    // Add the weighted outputs of a learner to its targets: of a tree at a node, of a column with a value, or of an
    // opaque learner, whose outputs are summed by target before.
    void add_outputs(const Use& use, i64 v, double value, const double* opaque, double* scores) const {
        const auto to = targets_of(use);
        const double* weights = payload_of(use);
        if (use.kind == opaque_kind) {
            for (std::size_t j = 0; j < to.size(); ++j) {
                scores[to[j]] += weigh_outputs(weights + j, std::ssize(to), opaque + use.place, use.width);
            }
            return;
        }
        if (use.kind == tree_kind) weights += (v - use.place) * std::ssize(to);
        for (std::size_t j = 0; j < to.size(); ++j) scores[to[j]] += weights[j] * value;
    }
};

}  // namespace costframe
