// Steps of a row through an additive model until its answer is certain.
//
// A score is a sum of floats in the order of the learners, and rounding is monotone: the same sum of lower bounds of
// the learners' outputs is at most the score, to the last bit, and that of upper bounds is at least the score.
//
// The pull of a feature is how much the trees that wait for it leave open: the distance of their bounds, over the
// outputs on which the goal depends. The row acquires the feature with the largest pull^1.5 / price, the price with all
// resources that are not paid yet. On tables of `benchmarks/certain.py` pull / price and pull^2 / price saved less, and
// so did a price that divides each resource among all features that wait for it.
#pragma once

#include <bit>
#include <utility>

#include "needs.h"
#include "step.h"

namespace costframe {

enum GoalKind : i64 { close_to_score, beyond_cut, largest_of_all };
enum Due : u8 { is_unpaid, is_paid, is_looked_at };  // states of a resource
constexpr i64 unbounded = std::numeric_limits<i64>::max();
constexpr double infinite = std::numeric_limits<double>::infinity();

// See `Goal` in Python.
struct Goal {
    i64 kind;
    double margin, divisor, above, below;
    i64 by_sigmoid;

    // A score as predictions of classes are compared; it is monotone.
    double compared(double score) const {
        score /= divisor;
        return by_sigmoid ? 1.0 / (1.0 + std::exp(-score)) : score;
    }
};

// What a row has yet to pay; features are those that the model uses.
struct Dues {
    Vector<const double> cost;  // (U,)
    Needs needs;
    Vector<const double> resource_cost;  // (R,)
    Vector<const double> split;          // (U,): in units of comparisons
    i64 spends;
};

// A test of a tree, with the leaves below its left and its right child, as bits of a word.
struct LeafTest {
    i64 use, node, word;
    u64 left, right;
};

// What trees may add at each leaf; the leaves of each use are bits of words of its own.
struct Bounds {
    Vector<const i64> test_first;  // (U + 1,): the tests of each feature, one for each word with leaves below it
    RecordRows<LeafTest> test;     // (tests, 5)
    Vector<const u64> every;       // (words,): all leaves
    Vector<const i64> word_first;  // (L + 1,)
    Vector<const i64> value_first;  // (L,): where a use's values begin, a row of its targets for each leaf
    Vector<const double> lowest, highest;
    Vector<const bool> ascends;    // (L,): a use's values, of one target, ascend from leaf to leaf
};

class CertainStepper {
   public:
    // There are P pairs of a learner and an output that it adds to.
    CertainStepper(const Model& model, const Bounds& bounds, const Dues& dues, const Goal& goal, u64* state)
        : row(model, state, dues.split.data(), dues.spends != 0,
              2 * (model.n_outputs() + std::ssize(model.target)) + model.n_used(),
              model.n_learners + dues.needs.resources() + std::ssize(bounds.every)),
          scores(row.scores, model.n_outputs()), model_(model), bounds_(bounds), dues_(dues), goal_(goal),
          least_(row.own_numbers, scores.size()), most_(least_.data() + scores.size(), scores.size()),
          low_(most_.data() + scores.size(), model.target.size()), high_(low_.data() + low_.size(), low_.size()),
          pull_(high_.data() + low_.size(), model.used.size()), bounded_(row.own_places),
          found_(bounded_ + model.n_learners), left_(reinterpret_cast<u64*>(found_ + dues.needs.resources())), open_(row.own_marks), paid_(open_ + scores.size()) {}

    // Take the values of the features needed, and go on until others are needed, or the row ends. Return the number of
    // features needed, or -1 - use for the use of an opaque learner to call; then call again without values, as at the
    // beginning.
    i64 advance(const double* supplied) {
        const i64 n_fresh = row.count;
        row.supply(supplied);
        if (n_fresh == 0) leave_all();
        for (i64 i = 0; i < n_fresh; ++i) {
            pay(row.needed[i]);
            close_leaves(row.needed[i]);
        }
        i64 waiting = 0;
        for (i64 number = 0; number < model_.use.size; ++number) {
            const Use& use = model_.use[number];
            const i64 v = row.at[use.learner];
            const bool stands = use.kind == tree_kind && v >= 0 && bounded_[use.learner] == v;  // no leaf was closed
            const i64 waits = stands ? 1 : row.run_use(number);
            if (waits < 0) return waits;
            waiting += waits;
        }
        bound_learners();
        if (add_bounds() || waiting == 0 || !find_open()) {
            if (std::any_of(row.at, row.at + model_.n_learners, [](i64 at) { return at >= 0; })) row.why = by_certainty;
            return 0;
        }
        const i64 count = list_needs();
        return count > 0 ? count : choose_needs();
    }

    const StepRow row;
    const Vector<double> scores;  // (K,): the score given

   private:
    void pay(i64 u) { dues_.needs.change(u, paid_, is_unpaid, is_paid, found_, 0); }

    // Leave all leaves open that known values do not close.
    void leave_all() {
        std::ranges::copy(bounds_.every, left_);
        std::fill_n(bounded_, model_.n_learners, unbounded);
        for (i64 u = 0; u < model_.n_used(); ++u) {
            if (row.knows(u)) close_leaves(u);
        }
    }

    // Close the leaves that a feature's value does not lead to.
    void close_leaves(i64 u) {
        for (i64 i = bounds_.test_first[u]; i < bounds_.test_first[u + 1]; ++i) {
            const LeafTest& test = bounds_.test[i];
            u64& left = left_[test.word];
            if ((left & (test.left | test.right)) == 0) continue;
            const u64 closed = left & (model_.child(test.node, row.x[u]) == model_.left(test.node) ? test.right : test.left);
            if (closed != 0) bounded_[model_.use[test.use].learner] = unbounded;
            left ^= closed;
        }
    }

    // Set a tree's bounds over the leaves that are left open.
    void bound_tree(i64 number, const Use& use) {
        const i64 n_targets = use.target_end - use.target, at = bounds_.value_first[number];
        double *low = low_.data() + use.target, *high = high_.data() + use.target;
        const u64* words = left_ + bounds_.word_first[number];
        const i64 n_words = bounds_.word_first[number + 1] - bounds_.word_first[number];
        if (bounds_.ascends[number]) {
            i64 first = 0, last = n_words - 1;
            while (words[first] == 0) ++first;
            while (words[last] == 0) --last;
            *low = bounds_.lowest[at + 64 * first + std::countr_zero(words[first])];
            *high = bounds_.highest[at + 64 * last + 63 - std::countl_zero(words[last])];
            return;
        }
        std::fill_n(low, n_targets, infinite);
        std::fill_n(high, n_targets, -infinite);
        for (i64 w = 0; w < n_words; ++w) {
            for (u64 rest = words[w]; rest != 0; rest &= rest - 1) {
                const i64 leaf = at + (64 * w + std::countr_zero(rest)) * n_targets;
                for (i64 j = 0; j < n_targets; ++j) {
                    low[j] = std::min(low[j], bounds_.lowest[leaf + j]);
                    high[j] = std::max(high[j], bounds_.highest[leaf + j]);
                }
            }
        }
    }

    // Set the bounds of a learner at its end to its outputs.
    void bound_end(i64 number, const Use& use, i64 v) {
        const i64 n_targets = use.target_end - use.target;
        double* low = low_.data() + use.target;
        const double* payload = model_.payload_of(use);
        if (use.kind == tree_kind) {
            std::copy_n(payload + (~v - use.place) * n_targets, n_targets, low);
        } else if (use.kind == opaque_kind) {
            for (i64 j = 0; j < n_targets; ++j) {
                low[j] = weigh_outputs(payload + j, n_targets, row.opaque + use.place, use.width);
            }
        } else {
            const double value = model_.filled(number, row.x[model_.read[use.read]]);
            for (i64 j = 0; j < n_targets; ++j) low[j] = payload[j] * value;
        }
        std::copy_n(low, n_targets, high_.data() + use.target);
    }

    // Set the bounds of all learners that have ended, or whose open leaves are others.
    void bound_learners() {
        for (i64 number = 0; number < model_.use.size; ++number) {
            const Use& use = model_.use[number];
            const i64 v = row.at[use.learner];
            if (std::exchange(bounded_[use.learner], v) == v) continue;
            if (v < 0) {
                bound_end(number, use, v);
            } else if (use.kind == tree_kind) {
                bound_tree(number, use);
            } else {
                std::fill(&low_[use.target], &low_[use.target] + use.target_end - use.target, -infinite);
                std::fill(&high_[use.target], &high_[use.target] + use.target_end - use.target, infinite);
            }
        }
    }

    // Set the scores and their bounds, in the order of the learners; return whether the bounds leave one score only.
    bool add_bounds() {
        const double* intercept = model_.values_of(0) + 1;
        for (auto sums : {scores, least_, most_}) std::copy_n(intercept, sums.size(), sums.begin());
        for (i64 p = 0; p < std::ssize(low_); ++p) {
            const i64 k = model_.target[p];
            const double low = low_[p], high = high_[p], middle = 0.5 * low + 0.5 * high;
            least_[k] += low;
            most_[k] += high;
            scores[k] += low == high ? low : std::min(std::max(middle, low), high);
        }
        for (i64 k = 0; k < model_.n_outputs(); ++k) {  // a sum that begins with -0.0 may end at either zero
            const bool either = least_[k] == 0.0 && std::signbit(intercept[k]);
            if (least_[k] != most_[k] || either) return false;
        }
        return true;
    }

    // Whether the goal no longer depends on an output; `best` has the largest score.
    bool is_done(i64 k, i64 best, bool finite) const {
        const double score = scores[k] / goal_.divisor;
        const double low = least_[k] / goal_.divisor, high = most_[k] / goal_.divisor;
        if (goal_.kind == close_to_score) {
            return goal_.margin > 0.0 && std::max(high - score, score - low) <= goal_.margin;
        }
        if (goal_.kind == beyond_cut) return low > goal_.above || high <= goal_.below;
        if (k == best) return true;
        const double lead = goal_.compared(least_[best]) - goal_.compared(most_[k]);
        return finite && (lead > goal_.margin || (lead == 0.0 && goal_.margin == 0.0 && best < k));
    }

    // Set the outputs on which the goal still depends; return whether there are any.
    bool find_open() {
        i64 best = 0;
        for (i64 k = 0; k < model_.n_outputs(); ++k) best = scores[k] > scores[best] ? k : best;
        const bool finite = most_[best] / goal_.divisor < infinite;  // softmax has no largest of infinite scores
        bool any = false;
        for (i64 k = 0; k < model_.n_outputs(); ++k) any |= open_[k] = !is_done(k, best, finite);
        open_[best] |= any && goal_.kind == largest_of_all;
        return any;
    }

    // Set the features that columns and opaque learners wait for, ascending; return their number. Their outputs have no
    // bounds, so all these features are certainly needed.
    i64 list_needs() {
        constexpr u8 is_wanted = 128;
        for (i64 number = 0; number < model_.use.size; ++number) {
            const Use& use = model_.use[number];
            if (use.kind == tree_kind || row.at[use.learner] < 0) continue;
            for (i64 u : model_.reads_of(use)) {
                if (!row.knows(u)) row.marks[u] |= is_wanted;
            }
        }
        for (i64 u = 0; u < model_.n_used(); ++u) {
            if ((row.marks[u] & is_wanted) == 0) continue;
            row.marks[u] ^= is_wanted;
            row.needed[row.count++] = u;
        }
        return row.count;
    }

    // Set the pull of each feature; where the goal depends on no distance of bounds, but on rounding, all features that
    // trees wait for have one.
    void pull_features() {
        bool any = false;
        std::ranges::fill(pull_, 0.0);
        for (i64 number = 0; number < model_.use.size; ++number) {
            const Use& use = model_.use[number];
            const i64 v = row.at[use.learner];
            if (v < 0) continue;
            for (i64 p = use.target; p < use.target_end; ++p) {
                if (!open_[model_.target[p]] || !(high_[p] != low_[p])) continue;
                pull_[model_.feature(v)] += high_[p] - low_[p];
                any = true;
            }
        }
        if (any) return;
        for (i64 number = 0; number < model_.use.size; ++number) {
            const i64 v = row.at[model_.use[number].learner];
            if (v >= 0) pull_[model_.feature(v)] += 1.0;
        }
    }

    double cost_of(i64 u) const { return row.marks[u] & is_bought ? 0.0 : dues_.cost[u]; }

    // The price of a feature with the resources that it needs first.
    double price_of(i64 u) {
        double price = cost_of(u);
        if (dues_.needs.first[u] == dues_.needs.first[u + 1]) return price;
        const i64 count = dues_.needs.change(u, paid_, is_unpaid, is_looked_at, found_, 0);
        for (i64 i = 0; i < count; ++i) {
            paid_[found_[i]] = is_unpaid;
            price += dues_.resource_cost[found_[i]];
        }
        return price;
    }

    // Set the features needed to `best`, -1 for none, and those with a pull that are free; return their number.
    i64 list_free(i64 best) {
        for (i64 u = 0; u < model_.n_used(); ++u) {
            const bool is_free = pull_[u] != 0.0 && cost_of(u) == 0.0 && price_of(u) == 0.0;
            if (is_free || u == best) row.needed[row.count++] = u;
        }
        return row.count;
    }

    // The feature with the largest pull for its price.
    i64 find_best() {
        i64 best = -1;
        double most = 0.0;
        for (i64 u = 0; u < model_.n_used(); ++u) {
            if (pull_[u] == 0.0) continue;
            const double worth = pull_[u] * std::sqrt(pull_[u]) / price_of(u);
            if (best < 0 || worth > most) best = u, most = worth;
        }
        return best;
    }

    // Set the features needed next, ascending; return their number. They are those that cost nothing, or else one
    // feature, and those that cost nothing once its resources are paid.
    i64 choose_needs() {
        pull_features();
        if (const i64 count = list_free(-1)) return count;
        const i64 best = find_best();
        pay(best);
        return list_free(best);
    }

    const Model& model_;
    const Bounds& bounds_;
    const Dues& dues_;
    const Goal& goal_;
    const Vector<double> least_, most_;  // (K,): bounds of the scores
    const Vector<double> low_, high_;    // (P,): bounds of what each learner adds to each output
    const Vector<double> pull_;          // (U,)
    i64* const bounded_;                 // (learners,): like `at`, when the learner's bounds were set, or `unbounded`
    i64* const found_;                   // (R,): resources on the way
    u64* const left_;                    // bits of the leaves that are left open
    u8* const open_;                     // (K,): outputs on which the goal still depends
    u8* const paid_;                     // (R,)
};

// Ends of rows, and their purchases; see `CertainRows` in Python.
struct CertainEnds {
    Matrix<double> scores;
    Matrix<u64> masks;
    Matrix<double> account;
    i64* rounds;
    bool* early;
};

// Take rows to their ends, each from the state `begin`; `own` is room for one. Opaque learners were called before.
inline void run_certain_rows(Matrix<const double> X, Matrix<const double> opaque, Vector<const u64> begin,
                             const Model& model, Vector<u64> own, CertainStepper& stepper, const CertainEnds& ends) {
    const StepRow& row = stepper.row;
    std::vector<double> values(model.n_used());
    for (i64 i = 0; i < X.rows; ++i) {
        std::ranges::copy(begin, own.begin());
        std::ranges::copy(opaque[i], row.opaque);
        for (i64 number = 0; opaque.columns > 0 && number < model.use.size; ++number) {
            if (model.use[number].kind == opaque_kind) row.at[model.use[number].learner] = called;
        }
        while (stepper.advance(values.data()) > 0) {
            ends.rounds[i] += 1;
            for (i64 at = 0; at < row.count; ++at) {
                const i64 u = row.needed[at];
                values[at] = X(i, model.used[u]);
                ends.masks(i, u >> 6) |= u64{1} << (u & 63);
            }
        }
        std::ranges::copy(stepper.scores, ends.scores[i].begin());
        std::copy_n(reinterpret_cast<const double*>(&row.account), 4, ends.account[i].begin());
        ends.early[i] = row.why == by_certainty;
    }
}

}  // namespace costframe
