// The rows of a tree: their division at a split, their way to a leaf, and sums by leaf; and finished nodes.
#pragma once

#include <vector>

#include "room.h"

namespace costframe::trees {

// Write the set of bins that go left of a threshold, as bits.
inline void list_bins(i64 bin, bool missing_left, i64* bins) {
    for (i64 word = 0; word < 4; ++word) {
        const i64 count = std::clamp<i64>(bin + 1 - 64 * word, 0, 64);
        bins[word] = count == 64 ? -1 : static_cast<i64>((u64{1} << count) - 1);
    }
    if (missing_left) bins[3] |= i64{1} << 63;
}

// Write whether each bin goes left, (256,), from the set of bins that do.
inline void mark_left(const i64* left_bins, Vector<bool> goes_left) {
    for (i64 bin = 0; bin < 256; ++bin) goes_left[bin] = (left_bins[bin >> 6] >> (bin & 63)) & 1;
}

// Move the rows that go left to the front, and copy the others to `scratch`, in order; return how many go left.
inline i64 divide_rows(Vector<const u8> column, Vector<const bool> goes_left, Vector<i32> rows, Vector<i32> scratch) {
    i64 n_left = 0, n_right = 0;
    for (std::size_t at = 0; at < rows.size(); ++at) {
        const i32 row = rows[at];
        const i64 to_left = goes_left[column[row]];
        rows[n_left] = row;  // writes both always: a branch would be mispredicted half of the time
        scratch[n_right] = row;
        n_left += to_left;
        n_right += 1 - to_left;
    }
    return n_left;
}

// Join parts of rows that `divide_rows` divided, those to the left first, in order; return how many go left.
// Part k begins at m k / parts in both `rows` and `scratch`; `counts` are the parts' rows that go left.
inline i64 join_rows(Vector<i32> rows, Vector<const i32> scratch, Vector<const i64> counts) {
    const i64 n_rows = rows.size(), parts = counts.size();
    i64 to = counts[0];
    for (i64 part = 1; part < parts; ++part) {
        const i64 first = n_rows * part / parts;
        for (i64 at = first; at < first + counts[part]; ++at) rows[to++] = rows[at];  // never overtakes what it reads
    }
    const i64 n_left = to;
    for (i64 part = 0; part < parts; ++part) {
        const i64 first = n_rows * part / parts, last = n_rows * (part + 1) / parts;
        for (i64 at = first; at < last - counts[part]; ++at) rows[to++] = scratch[at];
    }
    return n_left;
}

// Return the leaf of a row.
inline i64 leaf_of(Matrix<const u8> bins, Records<const Node> nodes, i64 row) {
    i64 at = 0;
    while (nodes[at].feature >= 0) {
        const Node& node = nodes[at];
        const i64 bin = bins(row, node.feature);
        at = (node.left_bins[bin >> 6] >> (bin & 63)) & 1 ? node.left : node.right;
    }
    return at;
}

// Write the leaf of the rows whose leaf is still negative.
inline void route_rows(Matrix<const u8> bins, Records<const Node> nodes, Vector<i32> leaf_of_row) {
    for (i64 row = 0; row < bins.rows; ++row) {
        if (leaf_of_row[row] < 0) leaf_of_row[row] = static_cast<i32>(leaf_of(bins, nodes, row));
    }
}

// Return sums of the gradients and hessians of some rows, as whole numbers; no hessians are ones.
inline Sums sum_leaf(Vector<const double> gradients, Vector<const double> hessians, Vector<const i32> rows,
                     Units scales) {
    Sums sums{0, hessians.empty() ? static_cast<i64>(rows.size()) : 0};
    for (i32 row : rows) {
        sums.first += round_to_whole(gradients[row] * scales.gradient);
        if (!hessians.empty()) sums.second += round_to_whole(hessians[row] * scales.hessian);
    }
    return sums;
}

// Arrays of a finished tree.
struct Tree {
    Vector<i32> feature;
    Vector<double> threshold;
    Vector<bool> missing_left;
    Vector<i32> left, right;
    Vector<double> outputs;
};

// Write the leaf of each of the tree's rows, and -1 of others; return sums of gradients and hessians by node.
inline std::vector<Sums> label_rows(const Growth& g, Vector<const double> gradients, Vector<const double> hessians,
                                    Units scales, Vector<i32> leaf_of_row) {
    const i64 n_leaves = g.room.state->leaves;
    std::vector<Sums> sums(2 * n_leaves - 1, Sums{0, 0});
    if (g.rows.size() < leaf_of_row.size()) std::ranges::fill(leaf_of_row, -1);
    for (i64 slot = 0; slot < n_leaves; ++slot) {
        const i64 node = g.room.place[slot].node;
        for (i32 row : g.rows_of(slot)) leaf_of_row[row] = static_cast<i32>(node);
        sums[node] = sum_leaf(gradients, hessians, g.rows_of(slot), scales);
    }
    sum_over_workers(g.task.address, Vector<i64>(&sums[0].first, 2 * sums.size()));
    return sums;
}

// Write the arrays of a tree. Cuts of feature f begin at first[f]. Outputs are -G/(H+l2), with sums of exact gradients
// and hessians, between the leaf's bounds.
inline void finish_tree(const Growth& g, Vector<const double> gradients, Vector<const double> hessians,
                        Vector<const i64> first, Vector<const double> cut, Vector<i32> leaf_of_row, const Tree& tree) {
    for (i64 at = 0; at < std::ssize(tree.feature); ++at) {
        const Node& node = g.room.nodes[at];
        tree.feature[at] = static_cast<i32>(node.feature);
        tree.left[at] = static_cast<i32>(node.left);
        tree.right[at] = static_cast<i32>(node.right);
        tree.missing_left[at] = node.missing_left == 1;
        tree.threshold[at] = node.feature >= 0 ? cut[first[node.feature] + node.bin] : 0.0;
        tree.outputs[at] = 0.0;
    }
    const double scale = leaf_scale(gradients, g.task.address), unit = g.task.units->output();
    const double hessian_scale = leaf_scale(hessians, g.task.address);  // a worker may have no rows
    const auto sums = label_rows(g, gradients, hessians, {scale, hessian_scale}, leaf_of_row);
    for (i64 slot = 0; slot < g.room.state->leaves; ++slot) {
        const i64 node = g.room.place[slot].node;
        const double weight = static_cast<double>(sums[node].second) / hessian_scale + g.task.limits->l2;
        const double value = -(static_cast<double>(sums[node].first) / scale) / (weight > 0 ? weight : infinity);
        const Bounds bounds = g.room.numbers[slot].bounds;
        tree.outputs[node] = std::min(std::max(value, unit * bounds.low), unit * bounds.high);
    }
}

}  // namespace costframe::trees
