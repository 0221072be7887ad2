// BudgetPrune: the prices of a forest's tests that trees share, its dual, and prunings by dynamic programs.
#pragma once

#include <algorithm>
#include <vector>

#include "span.h"

namespace costframe::pruning {

constexpr double smallest = 1e-5;  // share, so that it can grow again

// All trees' nodes; parents come before their children.
struct Nodes {
    Vector<const i64> tree_first;
    Vector<const i64> parent;       // -1 at roots
    Vector<const i64> left, right;  // -1 at leaves
    Vector<const double> error;     // of a leaf there
    Vector<const double> fixed;     // price of a test there that no other tree shares
    Vector<const i64> item_first;
    Vector<const i32> item;         // that a test buys first on its way
    Vector<const i64> up;           // the nearest node above that buys an item, or -1

    Vector<const i32> items(i64 node) const {
        return item.subspan(item_first[node], item_first[node + 1] - item_first[node]);
    }
};

// All pairs of a row and an item, row by row, and in each the nodes that buy it, one of a tree.
struct Purchases {
    Vector<i64> first;
    Vector<i32> row, item;  // of each pair
    Vector<i32> node;       // of each entry

    Vector<i32> buyers(i64 pair) const { return node.subspan(first[pair], first[pair + 1] - first[pair]); }
};

// All resources that each feature needs.
struct ClosedNeeds {
    Vector<const i64> first, need;

    i64 n_features() const { return std::ssize(first) - 1; }
    Vector<const i64> of(i64 f) const { return need.subspan(first[f], first[f + 1] - first[f]); }
};

// Visit the purchases on the way to a leaf: nodes, and their items.
template <typename Visit>
void each_purchase(const Nodes& nodes, i64 leaf, Visit visit) {
    for (i64 node = nodes.up[leaf]; node >= 0; node = nodes.up[node]) {
        for (i32 k : nodes.items(node)) visit(node, k);
    }
}

// Set the priced items that each test buys first on its way, and return their number; count if `item` is empty. Items
// are the d features, then the resources.
inline i64 list_items(Vector<const i64> parent, Vector<const i32> feature, Vector<const u8> priced, const ClosedNeeds& needs,
                      Vector<i64> first, Vector<i32> item) {
    const i64 d = needs.n_features();
    std::vector<i64> mark(priced.size(), -1);  // the last node with the item above
    i64 found = 0;
    for (i64 node = 0; node < std::ssize(parent); ++node) {
        first[node] = found;
        if (feature[node] < 0) continue;
        for (i64 above = parent[node]; above >= 0; above = parent[above]) {
            mark[feature[above]] = node;
            for (i64 r : needs.of(feature[above])) mark[d + r] = node;
        }
        const auto buy = [&](i64 k) {
            if (mark[k] == node || !priced[k]) return;
            if (!item.empty()) item[found] = k;
            ++found;
        };
        buy(feature[node]);
        for (i64 r : needs.of(feature[node])) buy(d + r);
    }
    first[parent.size()] = found;
    return found;
}

struct Sizes {
    i64 entries, pairs;
};

// Count the entries and the pairs of `Purchases`.
inline Sizes count_purchases(Matrix<const i64> leaves, const Nodes& nodes, i64 n_items) {
    Sizes found{0, 0};
    std::vector<i64> mark(n_items, -1);  // the last row that buys the item
    for (i64 i = 0; i < leaves.rows; ++i) {
        for (i64 leaf : leaves[i]) {
            each_purchase(nodes, leaf, [&](i64, i32 k) {
                ++found.entries;
                found.pairs += mark[k] != i;
                mark[k] = i;
            });
        }
    }
    return found;
}

// Set the entries, sorted by row and item.
inline void fill_purchases(Matrix<const i64> leaves, const Nodes& nodes, i64 n_items, const Purchases& found) {
    std::vector<i64> count(n_items), place(n_items);
    i64 pair = 0, entry = 0;
    for (i64 i = 0; i < leaves.rows; ++i) {
        std::ranges::fill(count, 0);
        for (i64 leaf : leaves[i]) each_purchase(nodes, leaf, [&](i64, i32 k) { ++count[k]; });
        for (i64 k = 0; k < n_items; ++k) {
            if (count[k] == 0) continue;
            found.first[pair] = place[k] = entry;
            found.row[pair] = i;
            found.item[pair++] = k;
            entry += count[k];
        }
        for (i64 leaf : leaves[i]) {
            each_purchase(nodes, leaf, [&](i64 node, i32 k) { found.node[place[k]++] = node; });
        }
    }
    found.first[pair] = entry;
}

// Multiply the shares of kept tests by a factor, let those of each pair sum to one, and sum up what nodes pay: for an
// entry weight * price * share, beta_kit in the paper times a constant.
inline void raise_shares(Vector<float> share, Vector<const u8> kept, double factor, const Purchases& bought,
                         Vector<const double> weight, Vector<const double> price, Vector<double> load) {
    std::ranges::fill(load, 0.0);
    for (i64 pair = 0; pair < std::ssize(bought.row); ++pair) {
        const i64 begin = bought.first[pair], end = bought.first[pair + 1];
        double total = 0.0;
        for (i64 e = begin; e < end; ++e) {
            if (kept[bought.node[e]]) share[e] = static_cast<float>(share[e] * factor);
            total += share[e];
        }
        const double scale = 1.0 / total, whole = weight[bought.row[pair]] * price[bought.item[pair]];
        for (i64 e = begin; e < end; ++e) {
            load[bought.node[e]] += share[e] * scale * whole;
            share[e] = static_cast<float>(std::max(share[e] * scale, smallest));
        }
    }
}

// Set the least sum of errors and prices below each node from `first` to `last`, and the tests worth keeping.
inline void prune(const Nodes& nodes, Vector<const double> load, i64 first, i64 last, Vector<double> value,
                  Vector<u8> kept) {
    for (i64 node = last - 1; node >= first; --node) {
        value[node] = nodes.error[node];
        kept[node] = 0;
        if (nodes.left[node] < 0) continue;
        const double below = value[nodes.left[node]] + value[nodes.right[node]] + nodes.fixed[node] + load[node];
        if (below < value[node]) {
            value[node] = below;
            kept[node] = 1;
        }
    }
    for (i64 node = first; node < last; ++node) {
        if (nodes.parent[node] >= 0 && !kept[nodes.parent[node]]) kept[node] = 0;
    }
}

// Add the price of each pair to the sum of its highest level.
inline void price_levels(Vector<const u8> level, const Purchases& bought, Vector<const double> weight,
                         Vector<const double> price, Vector<double> sums) {
    for (i64 pair = 0; pair < std::ssize(bought.row); ++pair) {
        u8 highest = 0;
        for (i32 node : bought.buyers(pair)) highest = std::max(highest, level[node]);
        sums[highest] += weight[bought.row[pair]] * price[bought.item[pair]];
    }
}

// Change how many trees buy each item for each row, by the purchases of one tree.
inline void count_tree(Matrix<const i64> leaves, i64 t, const Nodes& nodes, Vector<const u8> kept, Matrix<i32> count,
                       i32 change) {
    for (i64 i = 0; i < leaves.rows; ++i) {
        each_purchase(nodes, leaves(i, t), [&](i64 node, i32 k) {
            if (kept[node]) count(i, k) += change;
        });
    }
}

// Count the trees that buy each item for each row.
inline void count_buyers(Matrix<const i64> leaves, const Nodes& nodes, Vector<const u8> kept, Matrix<i32> count) {
    for (i64 t = 0; t < leaves.columns; ++t) count_tree(leaves, t, nodes, kept, count, 1);
}

// Prune each tree at its best, given the purchases of all others.
inline void prune_one_by_one(Matrix<const i64> leaves, const Nodes& nodes, Vector<const double> weight,
                             Vector<const double> price, Vector<u8> kept, Matrix<i32> count, Vector<double> load,
                             Vector<double> value) {
    for (i64 t = 0; t < leaves.columns; ++t) {
        count_tree(leaves, t, nodes, kept, count, -1);
        const i64 first = nodes.tree_first[t], last = nodes.tree_first[t + 1];
        std::fill(load.begin() + first, load.begin() + last, 0.0);
        for (i64 i = 0; i < leaves.rows; ++i) {
            each_purchase(nodes, leaves(i, t), [&](i64 node, i32 k) {
                if (count(i, k) == 0) load[node] += weight[i] * price[k];
            });
        }
        prune(nodes, load, first, last, value, kept);
        count_tree(leaves, t, nodes, kept, count, 1);
    }
}

// Sum up the weights of rows by node and class.
inline void count_labels(Matrix<const i64> leaves, Vector<const i64> parent, Vector<const i64> y,
                         Vector<const double> weight, Matrix<double> counts) {
    for (i64 t = 0; t < leaves.columns; ++t) {
        for (i64 i = 0; i < leaves.rows; ++i) counts(leaves(i, t), y[i]) += weight[i];
    }
    for (i64 node = std::ssize(parent) - 1; node >= 0; --node) {
        if (parent[node] < 0) continue;
        for (i64 k = 0; k < counts.columns; ++k) counts(parent[node], k) += counts(node, k);
    }
}

// Give nodes without rows the class shares of the node above.
inline void inherit_shares(Vector<const i64> parent, Vector<const double> total, Matrix<double> shares) {
    for (i64 node = 0; node < std::ssize(parent); ++node) {
        if (parent[node] >= 0 && total[node] <= 0.0) std::ranges::copy(shares[parent[node]], shares[node].begin());
    }
}

}  // namespace costframe::pruning
