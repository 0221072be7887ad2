// Walks through the nodes of trees: the features on the way to each node, their number and their price.
#pragma once

#include <algorithm>
#include <vector>

#include "model.h"

namespace costframe {

// Set the features tested on the path to each node, as bits; parents come before their children.
inline void mark_paths(Vector<const i64> parent, Vector<const i32> feature, Matrix<u64> masks) {
    for (i64 node = 0; node < masks.rows; ++node) {
        if (parent[node] == node) continue;
        const i32 f = feature[parent[node]];
        std::ranges::copy(masks[parent[node]], masks[node].begin());
        masks(node, f >> 6) |= u64{1} << (f & 63);
    }
}

// Set the price of the comparisons on the path to each node; parents come before their children.
inline void price_paths(Vector<const i64> parent, Vector<const i32> feature, Vector<const double> split,
                        Vector<double> spent) {
    for (i64 node = 0; node < std::ssize(parent); ++node) {
        if (parent[node] != node) spent[node] = spent[parent[node]] + split[feature[parent[node]]];
    }
}

// Set the number of features tested on the path to each node, in time linear in the nodes.
inline void count_paths(Vector<const i64> parent, Vector<const i32> feature, Vector<i64> counts, i64 n_features) {
    const i64 n_nodes = std::ssize(parent);
    std::vector<i64> left(n_nodes), right(n_nodes), times(n_features), stack;
    for (i64 node = 0; node < n_nodes; ++node) {
        if (parent[node] != node) right[parent[node]] = node;
    }
    for (i64 node = n_nodes - 1; node >= 0; --node) {
        if (parent[node] != node) left[parent[node]] = node;
    }
    i64 distinct = 0;  // features with times > 0
    for (i64 root = 0; root < n_nodes; ++root) {
        if (parent[root] == root) stack.push_back(root);
        while (!stack.empty()) {
            const i64 node = stack.back();
            stack.pop_back();
            if (node < 0) {  // both ways below have been taken
                distinct -= --times[feature[-1 - node]] == 0;
                continue;
            }
            counts[node] = distinct;
            const i32 f = feature[node];
            if (f < 0) continue;
            distinct += times[f]++ == 0;
            stack.insert(stack.end(), {-1 - node, left[node], right[node]});
        }
    }
}

// Set the bits for look-ahead and the reads of a step from the number of features tested on the way to each node.
inline void look_below(Vector<const i64> counts, Vector<i64> word, Vector<i64> reads) {
    std::vector<i64> shortest(word.size());
    for (i64 v = std::ssize(word) - 1; v >= 0; --v) {  // children come after their parents
        const i64 steps = word[v] >> left_at, left = v + steps;
        if (steps == 0) continue;
        const i64 nearer = shortest[left + 1] < shortest[left];
        shortest[v] = 1 + shortest[left + nearer];
        reads[v] = i64{1} << (word[v] & 63) | reads[left] | reads[left + 1];
        word[v] |= (counts[left] - counts[v]) << fresh_at | nearer << nearer_at;
    }
}

}  // namespace costframe
