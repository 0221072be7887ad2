// The look ahead of a row on its way through a stage tree: the features that it certainly needs.
#pragma once

#include <bit>

#include "step.h"

namespace costframe {

class Lookahead {
   public:
    explicit Lookahead(const StepRow& row)
        : row_(row), model_(row.model), n_words_((model_.n_used() + 63) >> 6), room_(2 * model_.depth + 4) {
        for (i64 u = 0; n_words_ == 1 && u < model_.n_used(); ++u) known_ |= static_cast<i64>(row.knows(u)) << u;
    }

    // Set `needed` to the features that every path from the present stage on reads, ascending; return their number. A stage needs
    // what its learners read, and what both ways behind it need.
    i64 find() {
        const i64 first = row_.stage;
        const i64 n_stages = model_.stage[first].below < 0 ? 1 : model_.stage.size - first;
        std::vector<u64> found(n_stages * n_words_);
        std::vector<u8> done(n_stages);  // 1: it waits for a way behind it
        std::vector<Way> ways(n_stages);
        std::vector<i64> stack{0};
        ends_.resize(n_stages > 1 ? model_.n_learners : 0);
        while (!stack.empty()) {  // not recursive: a chain may have thousands of stages
            const i64 i = stack.back();
            const bool is_route = model_.stage[first + i].below >= 0;
            u64* own = &found[i * n_words_];
            if (done[i] == 0) {
                done[i] = 1;
                ways[i] = ways_of(first + i, first);
            }
            if (is_route) {
                const auto [below, above] = ways[i];
                const u64* lower = &found[below * n_words_];
                if (done[below] < 2) {
                    stack.push_back(below);
                    continue;
                }
                if (done[above] < 2 && std::any_of(lower, lower + n_words_, [](u64 word) { return word != 0; })) {
                    stack.push_back(above);
                    continue;
                }
                for (i64 w = 0; done[above] == 2 && w < n_words_; ++w) own[w] = lower[w] & found[above * n_words_ + w];
            }
            const Stage& stage = model_.stage[first + i];
            for (i64 number = stage.first; number < stage.last; ++number) add_needs(model_.use[number], own);
            done[i] = 2;
            stack.pop_back();
        }
        return list(found.data());
    }

    // Look only for some of the features, as bits, where they fit a word.
    void want(u64 features) { known_ = static_cast<i64>(~features); }

    i64 n_words() const { return n_words_; }

    // Set `needed` to the features with a bit; return their number.
    i64 list(const u64* found) const {
        row_.count = 0;
        for (i64 w = 0; w < n_words_; ++w) {
            for (u64 rest = found[w]; rest != 0; rest &= rest - 1) row_.needed[row_.count++] = 64 * w + std::countr_zero(rest);
        }
        return row_.count;
    }

    // Add the unknown features that a learner certainly reads, until it ends or comes to one that is unavailable.
    void add_needs(const Use& use, u64* found) {
        const i64 v = row_.at[use.learner];
        if (v < 0) return;
        if (use.kind != tree_kind || !row_.by_path) {
            for (i64 u : model_.reads_of(use)) {
                if (!row_.knows(u)) found[u >> 6] |= u64{1} << (u & 63);
            }
            return;
        }
        const bool alone = n_words_ == 1;  // no two features share a bit
        const i64 rest = alone ? ~(known_ | static_cast<i64>(found[0])) : ~i64{0};
        i64 certain = model_.reads[v] & rest;
        if (certain != 0) certain = find_certain(v, certain, -1);
        if (alone) {
            found[0] |= static_cast<u64>(certain);
        } else {
            add_tested(v, certain, found);
        }
    }

   private:
    struct Way {
        i64 below, above;
    };

    static bool has(const u64* numbers, i64 u) { return numbers[u >> 6] >> (u & 63) & 1; }

    // The ways behind a stage, one for both where known values decide it; numbers are counted from `first`.
    Way ways_of(i64 number, i64 first) {
        const Stage& stage = model_.stage[number];
        Way way{stage.below - first, stage.above - first};
        if (stage.below < 0 || !finish(stage)) return way;
        double score = model_.values_of(number)[1];
        row_.add_outputs(stage.first, stage.last, ends_.data(), &score);
        way.below = way.above = score > model_.values_of(number)[0] ? way.above : way.below;
        return way;
    }

    // Set the ends of learners if known values decide them all; no opaque learner is called.
    bool finish(const Stage& stage) {
        for (i64 number = stage.first; number < stage.last; ++number) {
            const Use& use = model_.use[number];
            i64 v = row_.at[use.learner];
            ends_[use.learner] = v;
            if (v < 0) continue;
            if (use.kind == opaque_kind || (use.kind == column_kind && !row_.knows(model_.read[use.read]))) return false;
            if (use.kind != tree_kind) continue;
            v = row_.walk_on(v);
            ends_[use.learner] = ~v;
            if (!model_.is_leaf(v)) return false;
        }
        return true;
    }

    // The bits of `want` that stand for an unknown feature, `only` if it is one, on every path from a node on to a leaf
    // or an unavailable feature. Bits stand for numbers modulo 64.
    i64 find_certain(i64 v, i64 want, i64 only) {
        i64 size = 0;
        room_[size++] = v, room_[size++] = 0;  // nodes, each with the bits on the path before it
        while (size > 0 && want != 0) {
            i64 path = room_[--size];
            v = row_.walk_on(room_[--size]);
            const i64 u = model_.feature(v);
            if ((model_.reads[v] & want & ~path) == 0 || row_.bars(u)) {  // at an end, or below a path that is complete
                want &= path;
                continue;
            }
            if (only < 0 || u == only) path |= static_cast<i64>(u64{1} << (u & 63));
            const i64 nearer = model_.nearer(v), left = model_.left(v);
            room_[size++] = left + (nearer == left), room_[size++] = path;
            room_[size++] = nearer, room_[size++] = path;  // a short path first: it leaves fewer bits
        }
        return want;
    }

    // Add the unknown features on every path from a node on: those on the shortest path whose bit is `certain`.
    void add_tested(i64 v, i64 certain, u64* found) {
        i64 below = row_.walk_on(v);
        while ((model_.reads[below] & certain) != 0) {
            const i64 u = model_.feature(below), bit = certain & static_cast<i64>(u64{1} << (u & 63));
            if (bit != 0 && !has(found, u)) found[u >> 6] |= static_cast<u64>(find_certain(v, bit, u));
            below = row_.walk_on(model_.nearer(below));
        }
    }

    const StepRow& row_;
    const Model& model_;
    const i64 n_words_;
    i64 known_ = 0;          // features with values, as bits, if they fit a word
    std::vector<i64> room_;  // of paths that wait
    std::vector<i64> ends_;  // of learners
};

// A row without limits, whose stages wait for all that they certainly need.
struct PlainRow {
    const StepRow row;

    // Take the values of the features needed, and go on until others are needed, or the row ends. Return the number of features needed, 0 at the end, or -1 - use
    // for the use of an opaque learner to call.
    i64 advance(const double* supplied) const {
        row.supply(supplied);
        const i64 waiting = row.run();
        return waiting <= 0 ? waiting : Lookahead(row).find();
    }
};

}  // namespace costframe
