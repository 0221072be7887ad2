// Scores of stages for tables of rows, with marks of the features that rows read, and the walk of a single row.
#pragma once

#include "leaves.h"

namespace costframe {

enum Kind : u8 { tree_kind, column_kind, opaque_kind };  // of weak learners
enum Notes : i64 { no_notes, reads, spending };           // what `score_rows` records

// See `StageLayout` in Python: L uses of learners, grouped by stage.
struct Stages {
    Vector<const i64> used;                // (U,) columns
    Vector<const i64> stage_first;         // (stages + 1,)
    Vector<const i64> stage_column_first;  // (stages + 1,)
    Vector<const i64> stage_column;
    Vector<const u8> kind;       // (L,), like the next four
    Vector<const i64> place;     // root node, column of X, or first opaque output
    Vector<const i64> tree;
    Vector<const i32> width;
    Vector<const double> fill;
    Vector<const i64> target_first;  // (L + 1,)
    Vector<const i64> target;
    Vector<const i64> payload_first;  // (L,)
    Vector<const double> payload;
    Matrix<const double> intercept;  // (stages, K)
    Vector<const double> threshold;  // (stages,), like the next two
    Vector<const i64> below;         // -1 at answers
    Vector<const i64> above;
    Vector<const bool> fresh;  // (L,)
};

// See `ReadingMarks` in Python; W words of 64 features.
struct Marks {
    i64 notes;
    i64 by_path;
    Matrix<const u64> node_mask;      // (nodes, W), or (0, W)
    Matrix<const double> node_spent;  // (nodes, 2), or none
    Vector<const double> use_spent;   // (L,), or none
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

// A block of rows at a stage: places of rows in the table, their sums, and the features read in this block.
struct BlockRows {
    const i64* rows;
    i64 count;
    Matrix<double> sums;
    Matrix<u64> read;  // (block, W), no rows without masks of nodes
};

// Add the outputs of each row's leaf to each target.
inline void add_leaves(Matrix<double> sums, Vector<const i64> targets, const double* payload, const u32* at, u32 root) {
    const u64 n_targets = targets.size();
    if (n_targets == 1) {
        for (i64 i = 0; i < sums.rows; ++i) sums(i, targets[0]) += payload[at[i] - root];
        return;
    }
    const bool all = static_cast<i64>(n_targets) == sums.columns;  // in order
    for (i64 i = 0; i < sums.rows; ++i) {
        const double* leaf = payload + (at[i] - root) * n_targets;
        for (u64 j = 0; j < n_targets; ++j) sums(i, all ? static_cast<i64>(j) : targets[j]) += leaf[j];
    }
}

// Mark the features on the path to each row's leaf: in a block's marks, or without masks of nodes node by node.
inline void note_path(const BlockRows& block, Matrix<u64> masks, const u32* at, const Marks& marks, const Nodes& nodes) {
    if (marks.node_mask.rows == 0) {
        for (i64 i = 0; i < block.count; ++i) {
            for (i64 node = at[i]; nodes.parent[node] != node;) {
                node = nodes.parent[node];
                masks(block.rows[i], nodes.feature[node] >> 6) |= u64{1} << (nodes.feature[node] & 63);
            }
        }
    } else if (marks.node_mask.columns == 1) {
        for (i64 i = 0; i < block.count; ++i) block.read.data[i] |= marks.node_mask.data[at[i]];
    } else {
        for (i64 i = 0; i < block.count; ++i) {
            for (i64 w = 0; w < block.read.columns; ++w) block.read(i, w) |= marks.node_mask(at[i], w);
        }
    }
}

// Do as `add_leaves` for one target and `note_path` for one word do, in one loop.
inline void add_and_note(const BlockRows& block, i64 target, const double* payload, const u32* at, u32 root,
                         const u64* node_mask) {
    for (i64 i = 0; i < block.count; ++i) {
        block.sums(i, target) += payload[at[i] - root];
        block.read.data[i] |= node_mask[at[i]];
    }
}

// Add weight * value to each target; the fill value replaces NaN.
inline void add_column(const BlockRows& block, Vector<const i64> targets, const double* payload, Matrix<const double> X,
                       i64 column, double fill) {
    for (i64 i = 0; i < block.count; ++i) {
        double value = X(block.rows[i], column);
        if (std::isnan(value)) value = fill;
        for (std::size_t j = 0; j < targets.size(); ++j) block.sums(i, targets[j]) += payload[j] * value;
    }
}

inline void add_opaque(const BlockRows& block, Vector<const i64> targets, const double* payload,
                       Matrix<const double> opaque, i64 first, i64 width) {
    const i64 step = targets.size();
    for (i64 i = 0; i < block.count; ++i) {
        const double* outputs = opaque.data + block.rows[i] * opaque.columns + first;
        for (i64 j = 0; j < step; ++j) block.sums(i, targets[j]) += weigh_outputs(payload + j, step, outputs, width);
    }
}

// Add the price of the comparisons and the number of features read, for all rows.
inline void note_spending(const BlockRows& block, Matrix<double> spent, const Marks& marks, const u32* at, i64 use,
                          bool by_leaf) {
    for (i64 i = 0; i < block.count; ++i) {
        spent(block.rows[i], 0) += by_leaf ? marks.node_spent(at[i], 0) : 0.0;
        spent(block.rows[i], 1) += by_leaf ? marks.node_spent(at[i], 1) : marks.use_spent[use];
    }
}

// What all blocks of a call have in common.
template <typename Code>
struct Scoring {
    Matrix<const double> X;
    Codes<Code> codes;
    const Nodes& nodes;
    const Stages& stages;
    const Marks& marks;
    Matrix<const double> opaque;
    Matrix<u64> masks;
    Matrix<double> spent;
};

// Evaluate a stage's learners for a block, whose codes begin at `begin`.
template <typename Code>
void score_block(const Scoring<Code>& s, i64 stage, const BlockRows& block, Codes<Code> codes, i64 begin, u32* at,
                 GateRoom& room) {
    const bool by_path = s.marks.notes != no_notes && s.marks.by_path;
    const bool one_word = by_path && s.marks.node_mask.rows > 0 && s.masks.columns == 1;
    for (i64 i = 0; i < block.count; ++i) {
        for (i64 k = 0; k < block.sums.columns; ++k) block.sums(i, k) = s.stages.intercept(stage, k);
    }
    for (i64 use = s.stages.stage_first[stage]; use < s.stages.stage_first[stage + 1]; ++use) {
        const i64 first = s.stages.target_first[use], place = s.stages.place[use];
        const auto targets = s.stages.target.subspan(first, s.stages.target_first[use + 1] - first);
        const double* payload = s.stages.payload.data() + s.stages.payload_first[use];
        const u8 kind = s.stages.kind[use];
        if (kind == tree_kind) {
            find_leaves(at, room, codes, begin, block.count, s.nodes, s.stages.tree[use]);
            if (one_word && targets.size() == 1) {
                add_and_note(block, targets[0], payload, at, static_cast<u32>(place), s.marks.node_mask.data);
            } else {
                add_leaves(block.sums, targets, payload, at, static_cast<u32>(place));
                if (by_path) note_path(block, s.masks, at, s.marks, s.nodes);
            }
        } else if (kind == column_kind) {
            add_column(block, targets, payload, s.X, place, s.stages.fill[use]);
        } else {
            add_opaque(block, targets, payload, s.opaque, place, s.stages.width[use]);
        }
        if (s.marks.notes == spending && s.stages.fresh[use]) {
            note_spending(block, s.spent, s.marks, at, use, kind == tree_kind);
        }
    }
}

// Score `rows` of X, ascending, at a stage: scores[i] is for rows[i]; masks and spent are for X's rows. `marks.notes`
// says what else to record: features read by trees on their paths, prices of comparisons, and pairs of a learner and a
// feature read, the latter two for learners that no earlier stage evaluated.
template <typename Code>
void score_rows(const Scoring<Code>& s, Vector<const i64> rows, i64 stage, Matrix<double> scores) {
    const bool some = static_cast<i64>(rows.size()) < s.codes.rows;
    std::vector<u32> at(block);
    std::vector<u64> read(s.marks.node_mask.rows > 0 ? block * s.masks.columns : 0);
    using Value = std::remove_const_t<Code>;
    std::vector<Value> gathered(some ? s.codes.columns * block : 0);
    const Codes<Value> own{gathered.data(), s.codes.columns, block};
    GateRoom room;
    for (i64 start = 0; start < static_cast<i64>(rows.size()); start += block) {
        const i64 count = std::min<i64>(block, rows.size() - start);
        const BlockRows part{rows.data() + start,
                             count,
                             {scores.data + start * scores.columns, count, scores.columns},
                             {read.data(), s.marks.node_mask.rows > 0 ? block : 0, s.masks.columns}};
        if (some) {
            for (i64 c = s.stages.stage_column_first[stage]; c < s.stages.stage_column_first[stage + 1]; ++c) {
                const i64 column = s.stages.stage_column[c];
                for (i64 i = 0; i < count; ++i) own[column][i] = s.codes[column][part.rows[i]];
            }
        }
        std::fill(read.begin(), read.end(), 0);
        const Codes<Code> coded = some ? Codes<Code>{own.data, own.columns, own.rows} : s.codes;
        score_block(s, stage, part, coded, some ? 0 : start, at.data(), room);
        if (s.masks.rows == 0 || part.read.rows == 0) continue;
        for (i64 i = 0; i < count; ++i) {
            for (i64 w = 0; w < s.masks.columns; ++w) s.masks(part.rows[i], w) |= part.read(i, w);
        }
    }
}

// Mark some features as read by all `rows`.
inline void note_all(Matrix<u64> masks, Vector<const i64> rows, Vector<const i64> features) {
    std::vector<u64> mask(masks.columns);
    for (i64 f : features) mask[f >> 6] |= u64{1} << (f & 63);
    for (i64 row : rows) {
        for (i64 w = 0; w < masks.columns; ++w) masks(row, w) |= mask[w];
    }
}

}  // namespace costframe
