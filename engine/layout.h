// How trees and their sums are laid out: nodes in level order, tables of cuts, gates, and what each node adds to scores.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "leaves.h"
#include "model.h"

namespace costframe {

// Put the nodes of each tree in level order, siblings side by side: set the node of the table at each place, its parent
// and the steps to its left child, 0 at leaves, and the depth of each tree.
inline void order_nodes(Vector<const i64> first, Vector<const i32> feature, Vector<const i32> left,
                        Vector<const i32> right, Vector<i64> origin, Vector<i64> parent, Vector<i64> steps,
                        Vector<i32> depth) {
    for (std::size_t tree = 0; tree < depth.size(); ++tree) {
        const i64 root = first[tree], end = first[tree + 1];
        i64 last = root;  // the last node that has a place
        origin[root] = parent[root] = root;
        for (i64 v = root; v < end; ++v) {
            const i64 node = origin[v];
            steps[v] = 0;
            if (feature[node] < 0) continue;
            steps[v] = last + 1 - v;
            for (const i32 child : {left[node], right[node]}) {
                origin[++last] = root + child;
                parent[last] = v;
            }
        }
        depth[tree] = 0;
        for (i64 v = end - 1; v != root; v = parent[v]) ++depth[tree];
    }
}

// Fill the tables of equal steps of features' cuts, which are zero; see `Cuts`.
inline void tabulate_cuts(Vector<const i64> first, Vector<const double> cut, Vector<double> low, Vector<double> scale,
                          Vector<const i64> first_step, Vector<i32> certain, Vector<i64> window) {
    constexpr double infinity = std::numeric_limits<double>::infinity();
    for (std::size_t f = 0; f < low.size(); ++f) {
        const auto cuts = cut.subspan(first[f], first[f + 1] - first[f]);
        const auto below = certain.subspan(first_step[f], first_step[f + 1] - first_step[f]);
        const i64 n = std::ssize(cuts);
        if (n == 0) continue;
        const double lowest = cuts[std::min<i64>(cuts[0] == -infinity, n - 1)];  // finite, if several cuts are
        const double highest = cuts[std::max<i64>(n - 1 - (cuts[n - 1] == infinity), 0)];
        if (highest > lowest) {
            low[f] = lowest;
            scale[f] = static_cast<double>(below.size()) / (highest - lowest);
        }
        const double last = static_cast<double>(below.size() - 1);
        for (const double value : cuts) ++below[step_of(value, low[f], scale[f], last)];
        window[f] = std::ranges::max(below);
        i64 sum = 0;
        for (i32& count : below) {  // the search stays inside the feature's cuts
            const i64 inside = count;
            count = static_cast<i32>(std::min(sum, n - window[f]));
            sum += inside;
        }
    }
}

// The leaves below each node of a tree, numbered from left to right.
struct LeafRanges {
    std::vector<i64> count, begin;

    LeafRanges(Vector<const i64> steps, i64 root, i64 end) : count(end - root, 1), begin(end - root, 0) {
        for (i64 v = end - root - 1; v >= 0; --v) {
            if (const i64 left = v + steps[root + v]; left > v) count[v] = count[left] + count[left + 1];
        }
        for (i64 v = 0; v < end - root; ++v) {
            const i64 left = v + steps[root + v];
            if (left == v) continue;
            begin[left] = begin[v];
            begin[left + 1] = begin[v] + count[left];
        }
    }

    // The leaves on the left of an inner node, as numbers of bits, and the bytes that hold them.
    i64 end_of_left(i64 v, i64 left) const { return begin[v] + count[left]; }
    i64 first_byte(i64 v) const { return begin[v] / 8; }
    i64 last_byte(i64 v, i64 left) const { return (end_of_left(v, left) - 1) / 8; }
};

// Set the words of leaves of each tree, 0 for those to walk, and where its gates begin. Those are walked that test for
// categories, or have many leaves, or many gates for their depth.
inline void count_gates(Vector<const i64> root, Vector<const i64> steps, Vector<const i32> depth,
                        Vector<const bool> by_category, Vector<i64> n_words, Vector<i64> gate_first) {
    constexpr i64 most_leaves = 64, level = 16;  // gates that take about as long as one level of a walk
    for (std::size_t tree = 0; tree < depth.size(); ++tree) {
        const i64 end = tree + 1 < depth.size() ? root[tree + 1] : std::ssize(steps);
        const LeafRanges leaves(steps, root[tree], end);
        i64 n_gates = 0;
        for (i64 v = 0; v < end - root[tree]; ++v) {
            const i64 left = v + steps[root[tree] + v];
            if (left > v) n_gates += leaves.last_byte(v, left) - leaves.first_byte(v) + 1;
        }
        const bool walked = by_category[tree] || leaves.count[0] > most_leaves || n_gates > level * depth[tree];
        n_words[tree] = walked ? 0 : (leaves.count[0] + 31) / 32;
        gate_first[tree + 1] = gate_first[tree] + (walked ? 0 : n_gates);
    }
}

// The gates of trees, and the nodes at which rows end.
template <typename Code>
struct Gates {
    Vector<i64> column;
    Vector<Code> rank;
    Vector<i64> byte;
    Vector<u8> kept;
    Vector<u32> exit;
};

// A gate fails for codes above its rank in a column; then the bits of a byte stay that are `kept`.
struct Gate {
    i64 byte, column, rank;
    u8 kept;
};

// Fill the gates of the trees that `count_gates` does not let walk, and their exits.
template <typename Code>
void fill_gates(Vector<const i64> root, Vector<const i64> steps, Vector<const i64> column, Vector<const i64> rank,
                Vector<const i64> n_words, Vector<const i64> gate_first, Gates<Code> gates) {
    i64 exit_first = 0;
    for (std::size_t tree = 0; tree < n_words.size(); exit_first += 32 * n_words[tree++]) {
        if (n_words[tree] == 0) continue;
        const i64 first = root[tree], end = tree + 1 < root.size() ? root[tree + 1] : std::ssize(steps);
        const LeafRanges leaves(steps, first, end);
        std::vector<Gate> made;
        for (i64 v = 0; v < end - first; ++v) {
            const i64 left = v + steps[first + v], begin = leaves.begin[v];
            if (left == v) {
                const u32 place = (u32{1} << begin % 32) * exit_places >> 27;
                gates.exit[exit_first + begin / 32 * 32 + place] = static_cast<u32>(first + v);
                continue;
            }
            for (i64 byte = leaves.first_byte(v); byte <= leaves.last_byte(v, left); ++byte) {
                const i64 low = std::max<i64>(begin - 8 * byte, 0);
                const i64 high = std::min<i64>(leaves.end_of_left(v, left) - 8 * byte, 8);
                made.push_back({byte, column[first + v], rank[first + v],
                                static_cast<u8>(255 ^ ((1 << high) - (1 << low)))});
            }
        }
        std::ranges::stable_sort(made, {}, [](const Gate& gate) { return std::pair{gate.byte, gate.column}; });
        for (i64 at = gate_first[tree]; const Gate& gate : made) {
            gates.column[at] = gate.column;
            gates.rank[at] = static_cast<Code>(gate.rank);
            gates.byte[at] = gate.byte;
            gates.kept[at++] = gate.kept;
        }
    }
}

// The uses of learners by stages; see `StageLayout` in Python.
struct UsesToLayOut {
    Vector<const u8> kind;
    Vector<const i32> width;
    Vector<const i64> place, target_first, target, payload_first;
    Vector<const i64> row;  // of a use's first weights
    Matrix<const double> weights;
};

// The values of a bank's trees: of node `first` of a use's tree and of those behind it, in the order of `origin`.
struct NodeValues {
    Vector<const i64> origin, first, value;
    Vector<const double> values;
};

// Set what each use adds to its targets: a row for each node of a tree, zero at inner nodes without a value; of other
// learners their weights, (width, targets).
inline void fill_payload(const UsesToLayOut& uses, const NodeValues& nodes, Vector<double> payload) {
    for (std::size_t use = 0; use < uses.kind.size(); ++use) {
        const auto targets = uses.target.subspan(uses.target_first[use],
                                                 uses.target_first[use + 1] - uses.target_first[use]);
        double* at = payload.data() + uses.payload_first[use];
        double* const end = payload.data() + uses.payload_first[use + 1];
        for (i64 within = 0; at < end; ++within) {
            if (uses.kind[use] != tree_kind) {
                for (const i64 k : targets) *at++ = uses.weights(uses.row[use] + within, k);
                continue;
            }
            const i64 root = uses.place[use];
            const i64 value = nodes.value[nodes.first[use] + nodes.origin[root + within] - nodes.origin[root]];
            for (const i64 k : targets) {
                *at++ = value < 0 ? 0.0
                                  : weigh_outputs(&uses.weights(uses.row[use], k), uses.weights.columns,
                                                  nodes.values.data() + value, uses.width[use]);
            }
        }
    }
}

}  // namespace costframe
