// Scores of stages for tables of rows, with marks of the features that rows read.
#pragma once

#include "leaves.h"
#include "model.h"

namespace costframe {

enum Notes : i64 { no_notes, reads, spending };  // what `score_rows` records

// See `marks_for` in Python; W words of 64 features.
struct Marks {
    i64 notes;
    i64 by_path;
    Matrix<const u64> node_mask;      // (nodes, W), or (0, W)
    Vector<const double> node_spent;  // (nodes,): price of the comparisons before a leaf; or none
};

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
    if (n_targets == 2) {
        const i64 first = targets[0], second = targets[1];
        for (i64 i = 0; i < sums.rows; ++i) {
            const double* leaf = payload + 2 * i64{at[i] - root};
            sums(i, first) += leaf[0], sums(i, second) += leaf[1];
        }
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
inline void note_spending(const BlockRows& block, Matrix<double> spent, const Marks& marks, const Model& model,
                          const Use& use, const u32* at) {
    const bool is_tree = use.kind == tree_kind, splits = is_tree && marks.by_path;
    for (i64 i = 0; i < block.count; ++i) {
        if (is_tree) spent(block.rows[i], 0) += marks.node_spent[at[i]];
        spent(block.rows[i], 1) += static_cast<double>(splits ? model.path_count[at[i]] : use.read_end - use.read);
    }
}

// What all blocks of a call have in common.
template <typename Code>
struct Scoring {
    Matrix<const double> X;
    Codes<Code> codes;
    const Model& model;
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
    const double* intercept = s.model.values_of(stage) + 1;
    for (i64 i = 0; i < block.count; ++i) std::copy_n(intercept, block.sums.columns, block.sums[i].begin());
    for (i64 number = s.model.stage[stage].first; number < s.model.stage[stage].last; ++number) {
        const Use& use = s.model.use[number];
        const auto targets = s.model.targets_of(use);
        const double* payload = s.model.payload_of(use);
        if (use.kind == tree_kind) {
            find_leaves(at, room, codes, begin, block.count, s.model.nodes, use.tree);
            if (one_word && targets.size() == 1) {
                add_and_note(block, targets[0], payload, at, static_cast<u32>(use.place), s.marks.node_mask.data);
            } else {
                add_leaves(block.sums, targets, payload, at, static_cast<u32>(use.place));
                if (by_path) note_path(block, s.masks, at, s.marks, s.model.nodes);
            }
        } else if (use.kind == column_kind) {
            add_column(block, targets, payload, s.X, use.place, s.model.use_value(number, 1));
        } else {
            add_opaque(block, targets, payload, s.opaque, use.place, use.width);
        }
        if (s.marks.notes == spending && use.fresh) note_spending(block, s.spent, s.marks, s.model, use, at);
    }
}

// Mark what a stage's learners read for all `rows`: all their features, unless they are trees that are noted by leaves.
inline void note_whole(const Model& model, const Stage& stage, bool by_path, Matrix<u64> masks, Vector<const i64> rows) {
    std::vector<u64> mask(masks.columns);
    for (i64 number = stage.first; number < stage.last; ++number) {
        const Use& use = model.use[number];
        if (use.kind == tree_kind && by_path) continue;
        for (i64 u : model.reads_of(use)) mask[u >> 6] |= u64{1} << (u & 63);
    }
    if (std::ranges::all_of(mask, [](u64 word) { return word == 0; })) return;
    for (i64 row : rows) {
        for (i64 w = 0; w < masks.columns; ++w) masks(row, w) |= mask[w];
    }
}

// Score `rows` of X, ascending, at a stage: scores[i] is for rows[i]; masks and spent are for X's rows. `marks.notes`
// says what else to record: features read, prices of comparisons, and pairs of a learner and a feature read, the latter
// two for learners that no earlier stage evaluated.
template <typename Code>
void score_rows(const Scoring<Code>& s, Vector<const i64> rows, i64 stage, Matrix<double> scores) {
    const bool some = static_cast<i64>(rows.size()) < s.codes.rows;
    std::vector<u32> at(block);
    std::vector<u64> read(s.marks.node_mask.rows > 0 ? block * s.masks.columns : 0);
    using Value = std::remove_const_t<Code>;
    std::vector<Value> gathered(some ? s.codes.columns * block : 0);
    const Codes<Value> own{gathered.data(), s.codes.columns, block};
    GateRoom room;
    if (s.marks.notes != no_notes) note_whole(s.model, s.model.stage[stage], s.marks.by_path, s.masks, rows);
    for (i64 start = 0; start < static_cast<i64>(rows.size()); start += block) {
        const i64 count = std::min<i64>(block, rows.size() - start);
        const BlockRows part{rows.data() + start,
                             count,
                             {scores.data + start * scores.columns, count, scores.columns},
                             {read.data(), s.marks.node_mask.rows > 0 ? block : 0, s.masks.columns}};
        if (some) {
            for (i64 c = s.model.stage[stage].column; c < s.model.stage[stage].column_end; ++c) {
                const i64 column = s.model.column[c];
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

}  // namespace costframe
