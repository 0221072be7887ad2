// One row on its way through a stage tree, as far as its values are known, and what it certainly needs next.
#pragma once

#include <array>

#include "model.h"

namespace costframe {

// Marks of a feature: it has a value, a learner has read it, it is paid for, it is unavailable, it is held back.
constexpr u8 is_known = 1, is_used = 2, is_bought = 4, is_barred = 8, is_held = 16;
constexpr i64 called = 1;  // place of an opaque learner whose outputs are there

enum Reason : i64 { complete, by_cap, by_absence, by_certainty };  // why a row ends; absence hides a cap

// Set the scores of a row of X, whose model has no opaque learners, and return its exit.
inline i64 walk_row(const double* x, const Model& model, Vector<double> scores) {
    constexpr i64 n_abreast = 8;  // trees at a time: each waits for memory at every node
    for (i64 at = 0;;) {
        const Stage& stage = model.stage[at];
        std::copy_n(model.values_of(at) + 1, scores.size(), scores.begin());
        for (i64 first = stage.first; first < stage.last; first += n_abreast) {
            const i64 n = std::min(n_abreast, stage.last - first);
            std::array<i64, n_abreast> node{};
            for (i64 k = 0; k < n; ++k) node[k] = model.use[first + k].kind == tree_kind ? model.use[first + k].place : -1;
            for (bool goes_on = true; goes_on;) {
                goes_on = false;
                for (i64 k = 0; k < n; ++k) {
                    const i64 v = node[k];
                    if (v < 0 || model.is_leaf(v)) continue;
                    node[k] = model.child(v, x[model.used[model.feature(v)]]);
                    goes_on = true;
                }
            }
            for (i64 k = 0; k < n; ++k) {
                const Use& use = model.use[first + k];
                const bool is_tree = use.kind == tree_kind;
                const double value = is_tree ? 1.0 : model.filled(first + k, x[use.place]);
                model.add_outputs(use, node[k], value, nullptr, scores.data());
            }
        }
        if (stage.below < 0) return at;
        at = scores[0] > model.values_of(at)[0] ? stage.above : stage.below;
    }
}

// What a row has evaluated: sums of e_t and of comparisons in their units, pairs of a learner and a feature that it
// read, and features read; the latter three only if the row spends on them.
struct Account {
    double weight, comparisons, uses, n_used;
};

// What a row spends on; see `StepPrices` in Python.
struct StepPrices {
    Vector<const double> split;  // (U,): in units of comparisons, if the row spends on them
    i64 spends;
};

// One row in a buffer of words that others keep, one array behind the other; a walk of another kind has more of its own.
struct StepRow {
    StepRow(const Model& model, u64* state, const double* split, bool spends, i64 n_own_numbers = 0,
            i64 n_own_places = 0)
        : model(model), x(reinterpret_cast<double*>(state)), account(*reinterpret_cast<Account*>(x + model.n_used())),
          scores(x + model.n_used() + 4), opaque(scores + model.n_outputs()), own_numbers(opaque + model.n_opaque),
          at(reinterpret_cast<i64*>(own_numbers + n_own_numbers)), needed(at + model.n_learners),
          stage(needed[model.n_used()]), by_path(needed[model.n_used() + 1]), why(needed[model.n_used() + 2]),
          count(needed[model.n_used() + 3]), own_places(needed + model.n_used() + 4),
          marks(reinterpret_cast<u8*>(own_places + n_own_places)), own_marks(marks + model.n_used()), split(split),
          spends(spends) {}

    const Model& model;
    double* const x;        // (U,)
    Account& account;
    double* const scores;   // (K,) of the last stage
    double* const opaque;   // outputs of opaque learners
    double* const own_numbers;
    i64* const at;          // of each learner: the node of a tree, ~node at its end; negative at the end of others
    i64* const needed;      // (U,), of which the first `count` are valid
    i64& stage;
    const i64& by_path;     // trees acquire split by split
    i64& why;               // a `Reason`
    i64& count;
    i64* const own_places;
    u8* const marks;        // (U,)
    u8* const own_marks;
    const double* const split;
    const bool spends;

    bool knows(i64 u) const { return marks[u] & is_known; }
    bool bars(i64 u) const { return marks[u] & (is_barred | is_held); }  // for now, or for good
    bool holds(i64 u) const { return marks[u] & is_held; }

    // Take the values of the features needed; none are needed then.
    void supply(const double* values) const {
        for (; count > 0; --count) {
            x[needed[count - 1]] = values[count - 1];
            marks[needed[count - 1]] |= is_known;
        }
    }

    // The leaf, or the first node with an unknown feature, from a node on.
    i64 walk_on(i64 v) const {
        while (!model.is_leaf(v) && knows(model.feature(v))) v = model.child(v, x[model.feature(v)]);
        return v;
    }

    bool knows_all(const Use& use) const {
        return std::ranges::all_of(model.reads_of(use), [&](i64 u) { return knows(u); });
    }

    void note_use(i64 u) const {
        account.uses += 1.0;
        account.n_used += (marks[u] & is_used) == 0;
        marks[u] |= is_used;
    }

    // Walk a tree as far as its features are known, and pay for the comparisons; return where it is then.
    i64 walk_and_pay(i64 v) const {
        while (!model.is_leaf(v) && knows(model.feature(v))) {
            const i64 u = model.feature(v);
            if (spends) {
                if (by_path && (model.word[v] >> fresh_at & 1)) note_use(u);
                account.comparisons += split[u];
            }
            v = model.child(v, x[u]);
        }
        return v;
    }

    // Evaluate the learner of a use as far as values are known. Return 1 if it waits for a value, 0 at its end, or
    // -1 - use if it is opaque and must be called.
    i64 run_use(i64 number) const {
        const Use& use = model.use[number];
        i64 v = at[use.learner];
        if (v < 0) return 0;
        if (use.kind != tree_kind || !by_path) {
            if (!knows_all(use)) return 1;
            if (use.kind == opaque_kind && v != called) return -1 - number;
            if (spends) std::ranges::for_each(model.reads_of(use), [&](i64 u) { note_use(u); });
        }
        if (use.kind == tree_kind) {
            v = walk_and_pay(v);
            if (!model.is_leaf(v)) {
                at[use.learner] = v;
                return 1;
            }
        }
        at[use.learner] = ~v;
        account.weight += model.use_value(number, 0);
        return 0;
    }

    // Add the weighted outputs of learners, which are at `ends`, to their targets.
    void add_outputs(i64 first, i64 last, const i64* ends, double* sums) const {
        for (i64 number = first; number < last; ++number) {
            const Use& use = model.use[number];
            const double value = use.kind == column_kind ? model.filled(number, x[model.read[use.read]]) : 1.0;
            model.add_outputs(use, ~ends[use.learner], value, opaque, sums);
        }
    }

    // Go on until learners wait, or the row ends; return their number, or -1 - use for an opaque learner to call.
    i64 run() const {
        while (true) {
            const Stage& now = model.stage[stage];
            i64 waiting = 0;  // learners
            for (i64 number = now.first; number < now.last; ++number) {
                const i64 waits = run_use(number);
                if (waits < 0) return waits;
                waiting += waits;
            }
            if (waiting != 0) return waiting;
            std::copy_n(model.values_of(stage) + 1, model.n_outputs(), scores);
            add_outputs(now.first, now.last, at, scores);
            if (now.below < 0) return 0;
            stage = scores[0] > model.values_of(stage)[0] ? now.above : now.below;
        }
    }
};

}  // namespace costframe
