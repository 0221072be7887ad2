// BudgetRF: a tree grows breadth-first by the split with the least price per drop of the impurity.
#pragma once

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "span.h"

namespace costframe::budget {

constexpr i64 missing = 255;     // bin of a row without the value
constexpr double least = 1e-10;  // drop, as a share of the node's impurity
constexpr i64 most_cells = 1 << 26;  // that a call looks at, about, so that it ends soon

// Impurities of class counts, as sums over pairs of classes, or over classes.
enum Impurity : i64 { pairs = 0, gini = 1, entropy = 2 };

// How a tree grows.
struct Rule {
    i64 impurity;
    double alpha;  // its threshold
    i64 minimax;   // the drop of the worse side, else of both together
    i64 max_features, max_depth;
    double min_leaf;  // weight of the rows of a leaf
    double base;      // added to the price of each split
};

// Prices of features, of comparisons and of resources, with all resources that each feature needs.
struct Prices {
    Vector<const double> feature, split, resource;
    Vector<const i64> first, need;

    Vector<const i64> needs(i64 f) const { return need.subspan(first[f], first[f + 1] - first[f]); }
};

// The nodes of a tree, at most 2 n - 1 for n rows.
struct Tree {
    Vector<i32> feature, bin;
    Vector<bool> missing_left;
    Vector<i32> left, right, parent, depth;
    Vector<i64> begin, end;  // of a node's rows
    Matrix<double> counts;   // weights of its rows by class
};

// Rows as bins, by column, with their classes.
struct Data {
    Matrix<const u8> columns;
    Vector<const i64> y;
    Vector<const double> weight;
};

// One side of a split: its rows' weights by class, their sum, and the sum of the classes' terms of the impurity.
struct Side {
    std::vector<double> counts;
    double total = 0.0, powers = 0.0;
};

// The best place to split a feature.
struct Cut {
    double drop = 0.0;
    i64 bin = -1;
    bool missing_left = false;
};

// A split of a node; feature -1 if none lowers its impurity.
struct Split {
    i64 feature = -1;
    double price = 0.0;
    Cut cut;
};

// How far a tree is: the next node to split, the nodes there are, and the state of the draws.
struct State {
    i64 node, n_nodes, draws;
};

// Memory for the search of a node's best split.
struct Room {
    std::vector<u8> bought, paid;  // features and resources
    std::vector<double> table;     // 256 rows of weights by class, and the weight of the bin
    std::vector<i64> bins;         // that occur, ascending
    std::vector<i64> classes;      // that occur in the node
    Vector<i64> order;             // of the features
    Side left, right;
    State& state;

    Matrix<double> weights() { return {table.data(), 256, std::ssize(left.counts) + 1}; }
};

// The term of one class: n^2, or n log n for the entropy.
inline double power(i64 kind, double count) {
    if (kind == entropy) return count > 0.0 ? count * std::log(count) : 0.0;
    return count * count;
}

// The impurity of rows of weight `total` from the sum of their classes' terms.
inline double from_powers(i64 kind, double total, double powers) {
    if (total <= 0.0) return 0.0;
    if (kind == entropy) return std::max(total * std::log(total) - powers, 0.0);
    if (kind == gini) return std::max(total - powers / total, 0.0);
    return std::max(total * total - powers, 0.0);
}

// Threshold-Pairs: the sum over i != j of [[n_i - alpha]_+ [n_j - alpha]_+ - alpha^2]_+.
inline double count_pairs(Vector<const double> counts, Vector<const i64> classes, double alpha) {
    double found = 0.0;
    for (std::size_t a = 0; a < classes.size(); ++a) {
        const double one = counts[classes[a]] - alpha;
        if (one <= 0.0) continue;
        for (i64 k : classes.first(a)) {
            const double other = counts[k] - alpha;
            if (other > 0.0) found += std::max(one * other - alpha * alpha, 0.0);
        }
    }
    return 2.0 * found;
}

// The impurity of class counts, of which those of `classes` may differ from zero.
inline double impurity(const Rule& rule, Vector<const double> counts, Vector<const i64> classes) {
    if (rule.impurity == pairs && rule.alpha > 0.0) return count_pairs(counts, classes, rule.alpha);
    double total = 0.0, powers = 0.0;
    for (i64 k : classes) {
        total += counts[k];
        powers += power(rule.impurity, counts[k]);
    }
    return from_powers(rule.impurity, total, powers);
}

// The drop of the impurity `whole` by a split.
inline double drop(const Rule& rule, double whole, const Side& left, const Side& right, Vector<const i64> classes) {
    const auto of = [&](const Side& side) {
        if (rule.impurity == pairs && rule.alpha > 0.0) return impurity(rule, side.counts, classes);
        return from_powers(rule.impurity, side.total, side.powers);
    };
    const double below = of(left), above = of(right);
    return rule.minimax ? whole - std::max(below, above) : whole - below - above;
}

// Move weight of class k from one side to the other.
inline void move(i64 kind, Side& from, Side& to, i64 k, double weight) {
    from.powers -= power(kind, from.counts[k]);
    to.powers -= power(kind, to.counts[k]);
    from.counts[k] -= weight;
    to.counts[k] += weight;
    from.powers += power(kind, from.counts[k]);
    to.powers += power(kind, to.counts[k]);
    from.total -= weight;
    to.total += weight;
}

// Find the largest drop over the thresholds of a feature, with missing values on one side.
inline Cut scan(const Rule& rule, double whole, Vector<const double> counts, bool missing_left, Room& room) {
    Side &left = room.left, &right = room.right;
    const auto table = room.weights();
    left.total = left.powers = right.total = right.powers = 0.0;
    for (i64 k : room.classes) {
        left.counts[k] = 0.0;
        right.counts[k] = counts[k];
        right.total += counts[k];
        right.powers += power(rule.impurity, counts[k]);
    }
    if (missing_left) {
        for (i64 k : room.classes) move(rule.impurity, right, left, k, table(missing, k));
    }
    Cut best;
    for (i64 b : room.bins) {
        for (i64 k : room.classes) {
            if (table(b, k) > 0.0) move(rule.impurity, right, left, k, table(b, k));
        }
        if (!(left.total >= rule.min_leaf && right.total >= rule.min_leaf)) continue;
        const double found = drop(rule, whole, left, right, room.classes);
        if (found > best.drop * (1.0 + least)) best = {found, b, missing_left};
    }
    return best;
}

// Sum up the rows' weights by bin and class, and list the bins with values.
inline void fill(Vector<const u8> column, Vector<const i32> rows, const Data& data, Room& room) {
    const auto table = room.weights();
    const i64 total = table.columns - 1;
    room.bins.clear();
    for (i32 i : rows) {
        const i64 b = column[i];
        if (table(b, total) == 0.0 && b != missing) room.bins.push_back(b);
        table(b, data.y[i]) += data.weight[i];
        table(b, total) += data.weight[i];
    }
    std::sort(room.bins.begin(), room.bins.end());
}

// Whether at least half of the rows lie below a cut: a row without the value goes the way of most rows.
inline bool most_go_left(const Room& room, Matrix<const double> table, i64 cut) {
    double below = 0.0, all = 0.0;
    for (i64 b : room.bins) {
        const double weight = table(b, table.columns - 1);
        all += weight;
        below += b <= cut ? weight : 0.0;
    }
    return 2.0 * below >= all;
}

// Find the largest drop of one feature over some rows.
inline Cut search(Vector<const u8> column, Vector<const i32> rows, const Data& data, const Rule& rule, double whole,
                  Vector<const double> counts, Room& room) {
    const auto table = room.weights();
    fill(column, rows, data, room);
    const bool some_missing = table(missing, table.columns - 1) > 0.0;
    Cut best;
    if (room.bins.size() > 1 || some_missing) best = scan(rule, whole, counts, false, room);
    if (some_missing) {
        const Cut other = scan(rule, whole, counts, true, room);
        if (other.drop > best.drop) best = other;
        std::ranges::fill(table[missing], 0.0);
    } else if (best.bin >= 0) {
        best.missing_left = most_go_left(room, table, best.bin);
    }
    for (i64 b : room.bins) std::ranges::fill(table[b], 0.0);
    return best;
}

// Mark the features and the resources that are bought above a node.
inline void mark_bought(const Tree& tree, i64 node, const Prices& prices, Room& room) {
    std::ranges::fill(room.bought, false);
    std::ranges::fill(room.paid, false);
    while (node > 0) {
        node = tree.parent[node];
        const i64 f = tree.feature[node];
        room.bought[f] = true;
        for (i64 r : prices.needs(f)) room.paid[r] = true;
    }
}

// The price of a split by a feature, given purchases above.
inline double price_split(i64 f, const Prices& prices, const Room& room) {
    double price = prices.split[f];
    if (room.bought[f]) return price;
    price += prices.feature[f];
    for (i64 r : prices.needs(f)) {
        if (!room.paid[r]) price += prices.resource[r];
    }
    return price;
}

// Draw the next feature without repetition; the state times the factor stays below 2^63.
inline i64 draw_feature(Room& room, i64 place) {
    i64& draws = room.state.draws;
    draws = draws * 48271 % 2147483647;
    std::swap(room.order[place], room.order[place + draws % (std::ssize(room.order) - place)]);
    return room.order[place];
}

// Compare two splits by price over drop; of free splits, and of equal ratios, the larger drop is better, and of equal
// drops the first feature.
inline bool better(const Split& one, const Split& other) {
    const double ours = one.price * other.cut.drop, theirs = other.price * one.cut.drop;
    if (ours == theirs && one.cut.drop == other.cut.drop && one.feature < other.feature) return true;
    return ours != theirs ? ours < theirs : one.cut.drop > other.cut.drop;
}

// Find a node's best split; draw more features than the rule's as long as none of them lowers the impurity.
inline Split best_split(const Data& data, const Prices& prices, const Rule& rule, Vector<const i32> rows,
                        const Tree& tree, i64 node, double whole, Room& room) {
    mark_bought(tree, node, prices, room);
    Split best;
    for (i64 place = 0; place < data.columns.rows; ++place) {
        if (place >= rule.max_features && best.feature >= 0) break;
        const i64 f = draw_feature(room, place);
        const Cut cut = search(data.columns[f], rows, data, rule, whole, tree.counts[node], room);
        if (cut.bin < 0 || cut.drop <= least * whole) continue;
        const Split split{f, price_split(f, prices, room) + rule.base, cut};
        if (best.feature < 0 || better(split, best)) best = split;
    }
    return best;
}

// Put the rows of the left side first, both sides in order, and return their number.
inline i64 part(Vector<const u8> column, Vector<i32> rows, const Cut& cut) {
    const auto goes_left = [&](i32 i) {
        return column[i] == missing ? cut.missing_left : column[i] <= cut.bin;
    };
    return std::stable_partition(rows.begin(), rows.end(), goes_left) - rows.begin();
}

// Sum up the rows' weights by class, and list the classes that occur.
inline void count_classes(Vector<const i32> rows, const Data& data, Vector<double> counts, Room& room) {
    for (i32 i : rows) counts[data.y[i]] += data.weight[i];
    room.classes.clear();
    for (i64 k = 0; k < std::ssize(counts); ++k) {
        if (counts[k] > 0.0) room.classes.push_back(k);
    }
}

// Append the two children of a node.
inline void open_children(const Tree& tree, i64 node, const Split& split, i64 n_left, i64 n_nodes) {
    tree.feature[node] = split.feature;
    tree.bin[node] = split.cut.bin;
    tree.missing_left[node] = split.cut.missing_left;
    tree.left[node] = n_nodes;
    tree.right[node] = n_nodes + 1;
    const i64 middle = tree.begin[node] + n_left;
    tree.begin[n_nodes] = tree.begin[node];
    tree.end[n_nodes] = tree.begin[n_nodes + 1] = middle;
    tree.end[n_nodes + 1] = tree.end[node];
    for (i64 child : {n_nodes, n_nodes + 1}) {
        tree.parent[child] = node;
        tree.depth[child] = tree.depth[node] + 1;
    }
}

// Split the next nodes of a tree on `rows`, which it orders anew; `tree.counts` are zeros before. It ends early on many
// rows, with a node that is still to split.
inline void grow(const Data& data, const Prices& prices, const Rule& rule, Vector<i32> rows, const Tree& tree,
                 Vector<i64> order, State& state) {
    const i64 d = data.columns.rows, n_classes = tree.counts.columns;
    const Side side{std::vector<double>(n_classes)};
    Room room{std::vector<u8>(d), std::vector<u8>(prices.resource.size()), std::vector<double>(256 * (n_classes + 1)),
              {}, {}, order, side, side, state};
    const double stop = rule.impurity == pairs ? 0.0 : rule.alpha;
    i64 cells = 0;
    for (; state.node < state.n_nodes && cells < most_cells; ++state.node) {
        const i64 node = state.node;
        const auto mine = rows.subspan(tree.begin[node], tree.end[node] - tree.begin[node]);
        cells += std::ssize(mine) * std::min(d, rule.max_features);
        count_classes(mine, data, tree.counts[node], room);
        tree.feature[node] = tree.left[node] = tree.right[node] = -1;
        const double whole = impurity(rule, tree.counts[node], room.classes);
        if (room.classes.size() <= 1 || !(whole > stop) || tree.depth[node] >= rule.max_depth) continue;
        const Split split = best_split(data, prices, rule, mine, tree, node, whole, room);
        if (split.feature < 0) continue;
        open_children(tree, node, split, part(data.columns[split.feature], mine, split.cut), state.n_nodes);
        state.n_nodes += 2;
    }
}

}  // namespace costframe::budget
