// What the leaves of trees may add to scores, laid out for rows that end when their answer is certain.
#pragma once

#include <algorithm>
#include <cmath>
#include <tuple>
#include <vector>

#include "certain.h"

namespace costframe {

// See `Bounds`.
struct BoundsToLayOut {
    Vector<i64> test_first;
    Vector<LeafTest> test;
    Vector<u64> every;
    Vector<const i64> word_first, value_first;
    Vector<double> lowest, highest;
    Vector<bool> ascends;
};

// The leaves of a use's tree, by what they add to its first target, NaN last.
inline std::vector<i64> sort_leaves(const Model& model, const Use& use) {
    const bool is_last = use.tree + 1 == std::ssize(model.nodes.root);
    const i64 end = is_last ? std::ssize(model.word) : model.nodes.root[use.tree + 1];
    const i64 n_targets = use.target_end - use.target;
    std::vector<i64> leaves;
    for (i64 v = use.place; v < end; ++v) {
        if (model.is_leaf(v)) leaves.push_back(v);
    }
    std::ranges::stable_sort(leaves, [&](i64 one, i64 other) {
        const double a = model.payload_of(use)[(one - use.place) * n_targets];
        const double b = model.payload_of(use)[(other - use.place) * n_targets];
        return std::isnan(b) ? !std::isnan(a) : a < b;
    });
    return leaves;
}

// Set the values of a use's leaves; where infinities of both signs met in one, it may be anything.
inline void bound_leaves(const Model& model, i64 number, const std::vector<i64>& leaves, const BoundsToLayOut& bounds) {
    const Use& use = model.use[number];
    const i64 n_targets = use.target_end - use.target;
    i64 at = bounds.value_first[number];
    bounds.ascends[number] = n_targets == 1 && !leaves.empty();
    for (const i64 leaf : leaves) {
        for (i64 k = 0; k < n_targets; ++k, ++at) {
            const double value = model.payload_of(use)[(leaf - use.place) * n_targets + k];
            bounds.lowest[at] = std::isnan(value) ? -infinite : value;
            bounds.highest[at] = std::isnan(value) ? infinite : value;
            if (std::isnan(value)) bounds.ascends[number] = false;
        }
    }
}

// Set the bounds but for `test` if it has too little room; return the number of tests.
inline i64 lay_out_bounds(const Model& model, const BoundsToLayOut& bounds) {
    std::vector<LeafTest> tests;
    std::vector<i64> last(model.word.size(), -1);  // the last of a node's tests, one for each word with leaves below it
    std::ranges::fill(bounds.every, 0);
    std::ranges::fill(bounds.ascends, false);
    for (i64 number = 0; number < model.use.size; ++number) {
        if (model.use[number].kind != tree_kind) continue;
        const auto leaves = sort_leaves(model, model.use[number]);
        bound_leaves(model, number, leaves, bounds);
        for (i64 at = 0; at < std::ssize(leaves); ++at) {
            const i64 word = bounds.word_first[number] + at / 64;
            const u64 bit = u64{1} << at % 64;
            bounds.every[word] |= bit;
            for (i64 v = leaves[at], above; (above = model.nodes.parent[v]) != v; v = above) {
                if (last[above] < 0 || tests[last[above]].word != word) {
                    last[above] = std::ssize(tests);
                    tests.push_back({number, above, word, 0, 0});
                }
                LeafTest& test = tests[last[above]];
                (v == model.left(above) ? test.left : test.right) |= bit;
            }
        }
    }
    std::ranges::sort(tests, {}, [&](const LeafTest& test) {
        return std::tuple{model.nodes.feature[test.node], test.node, test.word};
    });
    const i64 n_tests = std::ssize(tests);
    for (i64 u = 0, at = 0; u < std::ssize(bounds.test_first); ++u) {
        while (at < n_tests && model.nodes.feature[tests[at].node] < u) ++at;
        bounds.test_first[u] = at;
    }
    if (std::ssize(bounds.test) >= n_tests) std::ranges::copy(tests, bounds.test.begin());
    return n_tests;
}

}  // namespace costframe
