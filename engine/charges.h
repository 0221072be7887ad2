// Sums of prices: of the features that rows acquire in a tree, and of sets of rows as bits in words of 64.
#pragma once

#include <bit>

#include "nodes.h"
#include "row_prices.h"

namespace costframe {

// One tree of a `TreeTable`.
struct Tree {
    Vector<const i32> feature;  // (nodes,), like the next four
    Vector<const double> threshold;
    Vector<const bool> missing_left;
    Vector<const i32> left;
    Vector<const i32> right;
    Vector<const i64> category_first;  // (nodes + 1,)
    Vector<const double> categories;
    Vector<const u8> reading;  // (nodes,)

    i64 child(i64 node, double value) const {
        if (reading[node] != plain) value = read_value(value, reading[node]);
        const double* begin = categories.data() + category_first[node];
        const double* end = categories.data() + category_first[node + 1];
        bool goes_left = std::isnan(value) ? missing_left[node] : value <= threshold[node];
        if (begin < end) goes_left = missing_left[node] != is_member(value, begin, end);
        return goes_left ? left[node] : right[node];
    }
};

// What rows pay for one tree: prices of comparisons, of its evaluation, and of a use.
struct TreePrices {
    const double* split;  // (d,)
    double learner, reuse;
};

// What rows have bought of trees before, and what this one adds.
struct TreeAccount {
    Matrix<u64> masks;  // features bought
    double* computed;   // price of learners, comparisons and uses
    double* bought;     // price of features and resources
    i64* leaves;
};

// Set the leaf of each row in one tree, and pay for it; return whether any row paid. For a tree that is used once, this
// is faster than a layout with codes.
inline bool pay_tree(Matrix<const double> X, const Tree& tree, const TreePrices& own, const RowPrices& prices,
                     const TreeAccount& account) {
    std::vector<u8> paid(prices.needs.resources());
    std::vector<i64> found(prices.needs.resources()), path;
    bool paid_by_any = false;
    for (i64 i = 0; i < X.rows; ++i) {
        i64 node = 0, uses = 0;
        double spent = 0.0;
        bool fresh = false;
        path.clear();
        while (tree.feature[node] >= 0) {
            const i64 f = tree.feature[node];
            u64& mask = account.masks(i, f >> 6);
            fresh |= (mask >> (f & 63) & 1) == 0;
            mask |= u64{1} << (f & 63);
            spent += own.split[f];
            if (own.reuse != 0) {
                uses += std::find(path.begin(), path.end(), f) == path.end();
                path.push_back(f);
            }
            node = tree.child(node, X(i, f));
        }
        account.leaves[i] = node;
        if (fresh) account.bought[i] = price_row(account.masks[i], prices, paid.data(), found.data());
        spent += own.learner + own.reuse * static_cast<double>(uses);
        account.computed[i] += spent;
        paid_by_any |= fresh || spent != 0.0;
    }
    return paid_by_any;
}

// The weight of the rows in one word: mass(place + byte, bits) is that of the rows that a byte's bits name.
inline double weigh_word(u64 word, i64 place, Matrix<const double> mass) {
    double total = 0.0;
    for (i64 byte = 0; byte < 8; ++byte) total += mass(place + byte, word >> (8 * byte) & 255);
    return total;
}

// Set found[i] to the weight of the rows in set i; see `SampledPrices.mass`.
inline void weigh_sets(Matrix<const u64> sets, Matrix<const double> mass, double* found) {
    for (i64 i = 0; i < sets.rows; ++i) {
        double total = 0.0;
        for (i64 w = 0; w < sets.columns; ++w) {
            if (sets(i, w) != 0) total += weigh_word(sets(i, w), 8 * w, mass);
        }
        found[i] = total;
    }
}

// Unite the sets of each group's entries whose output is used; the entries of group g begin at first[g].
inline void unite_sets(const i32* first, const i32* output, const bool* used, Matrix<const u64> sets, Matrix<u64> found) {
    for (i64 g = 0; g < found.rows; ++g) {
        for (i64 entry = first[g]; entry < first[g + 1]; ++entry) {
            if (!used[output[entry]]) continue;
            for (i64 w = 0; w < found.columns; ++w) found(g, w) |= sets(entry, w);
        }
    }
}

// Add the unpaid prices of each output to its offer; the entries of group g begin at first[g].
inline void price_offers(const i64* first, const i64* output, Vector<const double> price, Matrix<const u64> reads,
                         Matrix<const u64> paid, Matrix<const double> mass, double* offers) {
    for (i64 g = 0; g < static_cast<i64>(price.size()); ++g) {
        if (price[g] == 0.0) continue;
        for (i64 entry = first[g]; entry < first[g + 1]; ++entry) {
            double due = 0.0;
            for (i64 w = 0; w < reads.columns; ++w) {
                const u64 fresh = reads(entry, w) & ~paid(g, w);
                if (fresh != 0) due += weigh_word(fresh, 8 * w, mass);
            }
            offers[output[entry]] += price[g] * due;
        }
    }
}

// Set the bits of the rows that read each feature in one tree, whose nodes are base to end - 1, parents first; feature
// f has the entry entry[f].
inline void note_tree(Matrix<const i32> leaves, i64 tree, i64 base, i64 end, const i64* parent, const i32* feature,
                      const i64* entry, Matrix<u64> reads) {
    std::vector<u64> room((end - base) * reads.columns);
    const Matrix<u64> come{room.data(), end - base, reads.columns};
    for (i64 i = 0; i < leaves.rows; ++i) come(leaves(i, tree) - base, i >> 6) |= u64{1} << (i & 63);
    for (i64 node = end - 1; node >= base; --node) {
        for (i64 w = 0; w < reads.columns; ++w) {
            if (feature[node] >= 0) reads(entry[feature[node]], w) |= come(node - base, w);
            if (node > base) come(parent[node] - base, w) |= come(node - base, w);
        }
    }
}

// Needs of learners on sampled rows: see `note_reads`.
struct LearnerReads {
    const i64* root;  // (trees + 1,)
    const i64* parent;
    const i32* feature;
    Vector<const i64> tree;  // of each learner, negative without one
    const i64* first;        // (learners + 1,)
    const i64* group;
    Matrix<const bool> needs;  // (features, resources)
};

// Set the bits of the rows that read each feature of a tree, and that need each resource, for all trees. Row i ends at
// node leaves(i, t) of tree t, whose nodes begin at root[t]. The entries of learner l begin at first[l]: one of its own,
// then all features that it tests, and their resources. Groups are the learners, the features, and the resources.
inline void note_reads(Matrix<const i32> leaves, const LearnerReads& learners, Matrix<u64> reads) {
    const i64 n_learners = learners.tree.size(), n_features = learners.needs.rows;
    std::vector<i64> entry_of(n_features);
    for (i64 learner = 0; learner < n_learners; ++learner) {
        const i64 tree = learners.tree[learner], begin = learners.first[learner] + 1, end = learners.first[learner + 1];
        if (tree < 0) continue;
        i64 middle = begin;
        for (; middle < end && learners.group[middle] < n_learners + n_features; ++middle) {
            entry_of[learners.group[middle] - n_learners] = middle;
        }
        note_tree(leaves, tree, learners.root[tree], learners.root[tree + 1], learners.parent, learners.feature,
                  entry_of.data(), reads);
        for (i64 entry = begin; entry < middle; ++entry) {
            const i64 f = learners.group[entry] - n_learners;
            for (i64 other = middle; other < end; ++other) {
                if (!learners.needs(f, learners.group[other] - n_learners - n_features)) continue;
                for (i64 w = 0; w < reads.columns; ++w) reads(other, w) |= reads(entry, w);
            }
        }
    }
}

}  // namespace costframe
