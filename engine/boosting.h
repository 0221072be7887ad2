// Boosting without prices in one call; sums are of whole numbers.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "grow.h"
#include "losses.h"

namespace costframe::trees {

// Five numbers of a node that a caller keeps: feature, bin, missing left, left and right child.
struct KeptNode {
    i64 feature, bin, missing_left, left, right;
};

// A grown tree: nodes, the exponent of the gradients' unit, and powers of two that make gradients and hessians whole
// numbers with more digits than packed ones; no sum reaches 2^62.
struct Grown {
    i64 n_nodes;
    int exponent;
    double scale, hessian_scale;
};

// Rows to grow on, how often they count, and held-out rows.
struct Sides {
    Vector<const i64> counts;
    Vector<const i32> inside, outside;
};

// Multiply a power of two by another, within the range of doubles.
inline double refine(double scale, i64 bits) {
    return std::ldexp(1.0, std::min(exponent_of(scale) - 1 + static_cast<int>(bits), 1023));
}

// Grow a tree on one thread, in a room for all leaves, and write its nodes.
inline Grown grow_on(const Growth& g, Vector<const double> gradients, Vector<const double> hessians, const Sides& sides,
                     KeptNode* kept) {
    const auto [scale, hessian_scale] = pack_rows(g.task, {gradients, hessians, sides.counts});
    std::ranges::copy(sides.inside, g.rows.begin());
    g.room.state->leaves = 0;
    grow(g);
    const i64 n_nodes = 2 * g.room.state->leaves - 1;
    for (i64 at = 0; at < n_nodes; ++at) {
        const Node& node = g.room.nodes[at];
        kept[at] = {node.feature, node.bin, node.missing_left, node.left, node.right};
    }
    return {n_nodes, static_cast<int>(g.task.units->exponent), refine(scale, 61 - packed_bits(g.task.count_bits)),
            refine(hessian_scale, 61 - exact_bits)};
}

// Add the gain of each split to its feature, and to each pair of it with a feature tested above.
inline void note_gains(const KeptNode* nodes, Vector<const double> gains, i64 n_nodes, double unit,
                       Matrix<double> table) {
    std::vector<i64> parent(n_nodes, -1);
    for (i64 at = 0; at < n_nodes; ++at) {
        const i64 feature = nodes[at].feature;
        if (feature < 0) continue;
        parent[nodes[at].left] = parent[nodes[at].right] = at;
        const double gain = gains[at] * unit;
        table(feature, feature) += gain;
        for (i64 above = parent[at]; above >= 0; above = parent[above]) {
            const i64 other = nodes[above].feature;
            if (other == feature) continue;
            table(feature, other) += gain;
            table(other, feature) += gain;
        }
    }
}

// Write the outputs of a tree's leaves, -G/(H + l2) within `largest`, with sums of whole numbers.
inline void put_outputs(const Growth& g, Vector<const double> gradients, Vector<const double> hessians,
                        const Grown& grown, double largest, double* output) {
    for (i64 slot = 0; slot < g.room.state->leaves; ++slot) {
        const Sums sums = sum_leaf(gradients, hessians, g.rows_of(slot), {grown.scale, grown.hessian_scale});
        const double mass = g.task.limits->l2 + static_cast<double>(sums.second) / grown.hessian_scale;
        const double value = mass > 0 ? -(static_cast<double>(sums.first) / grown.scale) / mass : 0.0;
        output[g.room.place[slot].node] = std::min(std::max(value, -largest), largest);
    }
}

// Call `use(row, its leaf)` for all rows of a tree, and for held-out ones.
template <typename Use>
void for_leaves(const Growth& g, const Sides& sides, Use use) {
    for (i64 slot = 0; slot < g.room.state->leaves; ++slot) {
        for (i32 row : g.rows_of(slot)) use(row, g.room.place[slot].node);
    }
    const Records<const Node> nodes{g.room.nodes.data, g.room.nodes.count, g.room.nodes.width};
    for (i32 row : sides.outside) use(row, leaf_of(g.task.bins, nodes, row));
}

// Write some rows of a table after a round, as the item of this number.
inline void keep_rows(Matrix<const double> table, Vector<const i32> rows, i64 number, double* kept) {
    kept += number * std::ssize(rows) * table.columns;
    for (i32 row : rows) kept = std::ranges::copy(table[row], kept).out;
}

// What `add_rounds` writes: trees by round, output and node, with the leaves' outputs and the trees' numbers of nodes;
// the sum of the losses of held-out rows after each round, and their scores; and gains by pair of features.
struct Rounds {
    i64 n_rounds, n_outputs, most_nodes;
    KeptNode* nodes;
    double* values;
    i64* sizes;
    double *lost, *kept;
    Matrix<double> gain;
};

// Add one tree to one score of each row.
inline void add_tree(const Growth& g, const Fit& fit, const Sides& sides, Vector<const double> gradients,
                     Vector<const double> hessians, double largest, double step, i64 tree, const Rounds& rounds) {
    KeptNode* nodes = rounds.nodes + tree * rounds.most_nodes;
    double* output = rounds.values + tree * rounds.most_nodes;
    const Grown grown = grow_on(g, gradients, hessians, sides, nodes);
    rounds.sizes[tree] = grown.n_nodes;
    std::fill_n(output, grown.n_nodes, 0.0);
    put_outputs(g, gradients, hessians, grown, largest, output);
    const i64 k = tree % rounds.n_outputs;
    for_leaves(g, sides, [&](i32 row, i64 leaf) { fit.scores(row, k) += step * output[leaf]; });
    note_gains(nodes, g.room.gained, grown.n_nodes, std::ldexp(1.0, 2 * grown.exponent), rounds.gain);
}

// Write the derivatives of all rows' losses. Logistic ones follow from p after its rounding: keeping the digits of small
// p - y, as `derive` does, would change the models of folds in their last digits.
inline void derive_all(const Fit& fit, Matrix<double> gradients, Matrix<double> hessians) {
    if (fit.kind != logistic) return derive(fit, 0, std::ssize(fit.y), gradients, hessians);
    for (std::size_t row = 0; row < fit.y.size(); ++row) {
        const double p = 1.0 / (1.0 + std::exp(-fit.scores(row, 0)));
        gradients(0, row) = to_single(p - fit.y[row]);
        hessians(0, row) = to_single(std::max(p * (1.0 - p), least_hessian));
    }
}

// Add rounds of boosting: a tree for each output. `largest` is the largest output of a leaf.
inline void add_rounds(const Growth& g, const Fit& fit, Vector<const double> weight, const Sides& sides, double largest,
                       double step, const Rounds& rounds) {
    const i64 n = fit.scores.rows, n_outputs = fit.scores.columns;
    std::vector<double> first(n_outputs * n), second(n_outputs * n);
    const Matrix<double> gradients{first.data(), n_outputs, n}, hessians{second.data(), n_outputs, n};
    for (i64 round = 0; round < rounds.n_rounds; ++round) {
        derive_all(fit, gradients, hessians);
        for (i64 k = 0; k < n_outputs; ++k) {
            for (i64 row = 0; row < n; ++row) {
                gradients(k, row) *= weight[row];
                hessians(k, row) *= weight[row];
            }
            add_tree(g, fit, sides, gradients[k], hessians[k], largest, step, round * n_outputs + k, rounds);
        }
        rounds.lost[round] = sum_losses(fit, weight, sides.outside, g.task.count_bits);
        keep_rows(fit.scores, sides.outside, round, rounds.kept);
    }
}

}  // namespace costframe::trees
