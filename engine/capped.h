// One row on its way through a stage tree under limits: a cap on what it pays, and unavailable features. Learners
// follow one another. A learner goes on as long as its next feature is available, and the row can pay for it and for the
// learner; else the row gives the learner up and begins the next one. Features have ranks: those beyond rank 0 are held
// back until all learners of a stage ended or were given up. Then the row takes up again what it gave up, with the next
// rank that a learner waits for and the row can pay for; see `rank_features` in Python. Prices are whole numbers of W
// words.
//
// Where further rounds to a resource cost something, what a row asks for is what it pays, round by round: it asks for
// all that it certainly needs together, as far as it can pay for that, and features are bought when it asks for them.
#pragma once

#include <ranges>

#include "ahead.h"
#include "expected.h"
#include "one_round.h"

namespace costframe {

constexpr i64 most_cap_ranks = 255;  // of features that are held back

inline bool are_zero(Vector<const u64> amounts) {
    return std::ranges::all_of(amounts, [](u64 amount) { return amount == 0; });
}

class CappedRow {
   public:
    CappedRow(const Model& model, const Expected& expected, const Bill& bill, u64* state)
        : row(model, state, nullptr, true, 2 + model.n_outputs(), 1 + 2 * std::ssize(bill.reuse)),
          route_score(row.own_numbers[0]), share(row.own_numbers[1]), final(row.own_numbers + 2), model_(model), expected_(expected), bill_(bill),
          gave_up_(row.own_marks), rank_(gave_up_ + model.n_learners), paid_(rank_ + model.n_used()),
          why_before_(row.own_places[0]), spent_(reinterpret_cast<u64*>(row.own_places + 1), bill.reuse.size()),
          limit_(spent_.data() + spent_.size(), spent_.size()), due_(spent_.size()), sum_(spent_.size()),
          found_(bill.needs.resources()), trip_(bill),
          free_again_(are_zero(bill.reuse) && are_zero({bill.split.data, static_cast<std::size_t>(bill.split.rows * bill.split.columns)})) {}

    // Go on as `PlainRow` does.
    i64 advance(const double* supplied) {
        row.supply(supplied);
        const i64 waits = run();
        if (waits == 0) set_final();
        if (waits <= 0) return waits;
        return bill_.prices_rounds() ? find_round() : find_needs();
    }

    const StepRow row;
    double& route_score;   // of the route before
    double& share;         // of the last stage's learners, those that are finished
    double* const final;   // (K,): scores of the answer, expected ones where the row gave up a learner

   private:
    // Go on from the present stage, until a learner waits for a feature or for a call; see `evaluate`.
    i64 run() {
        while (true) {
            const Stage& now = model_.stage[row.stage];
            for (i64 number = now.first; number < now.last; ++number) {
                const i64 waits = evaluate(number);
                if (waits != 0) return waits;
            }
            if (row.why != complete && release(now)) continue;
            score(now);
            if (now.below < 0 || (expected_.is_known() && row.why != complete)) return 0;
            route_score = row.scores[0];
            why_before_ = row.why;
            row.stage = route_score > model_.values_of(row.stage)[0] ? now.above : now.below;
        }
    }

    // Release the features of the next rank that a learner of the stage waits for and the row can pay for, with those
    // of lower ranks, and take up the learners given up; return whether there is one.
    bool release(const Stage& now) {
        i64 next = most_cap_ranks + 1;
        for (i64 number = now.first; number < now.last; ++number) {
            if (gave_up_[model_.use[number].learner]) next = std::min<i64>(next, awaited_rank(number));
        }
        if (next > most_cap_ranks) return false;
        for (i64 u = 0; u < model_.n_used(); ++u) {
            if (rank_[u] <= next) row.marks[u] &= static_cast<u8>(~is_held);
        }
        for (i64 number = now.first; number < now.last; ++number) {
            u8& gave_up = gave_up_[model_.use[number].learner];
            if (!gave_up) continue;
            gave_up = 0;
            row.at[model_.use[number].learner] = ~row.at[model_.use[number].learner];
        }
        row.why = why_before_;
        return true;
    }

    // The rank of the features that a learner given up waits for, if they are held back and the row can pay for them.
    i64 awaited_rank(i64 number) {
        constexpr i64 none = most_cap_ranks + 1;
        const Use& use = model_.use[number];
        const bool is_split = splits(use);
        const i64 at = ~row.at[use.learner], u = is_split ? model_.feature(at) : 0;
        const auto reads = is_split ? Vector<const i64>(&u, 1) : model_.reads_of(use);
        i64 rank = 0;
        for (i64 each : reads) {
            if (row.marks[each] & is_barred) return none;
            if (row.holds(each)) rank = std::max<i64>(rank, rank_[each]);
        }
        if (rank == 0) return none;
        price(reads, true);
        if (is_split) add(due_, bill_.split[u]);
        return fits(number) ? rank : none;
    }

    // Score a stage. Learners given up add what is expected of them, or nothing.
    void score(const Stage& now) {
        std::copy_n(model_.values_of(row.stage) + 1, model_.n_outputs(), row.scores);
        i64 n_finished = 0;
        for (i64 number = now.first; number < now.last; ++number) {
            const Use& use = model_.use[number];
            const bool done = !gave_up_[use.learner];
            n_finished += done;
            if (!done && !expected_.is_known()) continue;
            double value = 1.0;
            if (use.kind == column_kind) {
                value = done ? model_.filled(number, row.x[model_.read[use.read]]) : expected_.column[number];
            }
            const double* opaque = done ? row.opaque : expected_.opaque.data();
            model_.add_outputs(use, ~row.at[use.learner], value, opaque, row.scores);
        }
        const i64 size = now.last - now.first;
        share = size > 0 ? static_cast<double>(n_finished) / static_cast<double>(size) : 1.0;
    }

    void set_final() const {
        if (row.why == complete || !expected_.is_known()) {
            std::copy_n(row.scores, model_.n_outputs(), final);
        } else {
            const bool at_route = model_.stage[row.stage].below >= 0;
            expected_.set_final(row.stage, at_route, row.scores, route_score, share, final);
        }
    }

    // Evaluate a use's learner, or give it up. Return 0, or 1 if it waits for a feature, or -1 - use to be called.
    i64 evaluate(i64 number) {
        const Use& use = model_.use[number];
        i64& at = row.at[use.learner];
        if (at < 0) return 0;
        if (splits(use)) {
            std::ranges::copy(spent_, due_.begin());
            if (!fits(number)) return give_up(use, by_cap);
        } else {
            if (const Reason why = price_all(use, number); why != complete) return give_up(use, why);
            if (!row.knows_all(use)) return 1;
            if (use.kind == opaque_kind && at != called) return -1 - number;
            std::ranges::copy(due_, spent_.begin());
            for (i64 u : model_.reads_of(use)) buy(u, true);
        }
        for (; use.kind == tree_kind && !model_.is_leaf(at); at = model_.child(at, row.x[model_.feature(at)])) {
            const i64 u = model_.feature(at);
            const bool fresh = row.by_path && (model_.word[at] >> fresh_at & 1);
            if (is_free(u)) {
                if (!row.knows(u)) return 1;
                if (fresh) row.note_use(u);
                continue;
            }
            if (const Reason why = price_test(u, fresh, number); why != complete) return give_up(use, why);
            if (!row.knows(u)) return 1;
            std::ranges::copy(due_, spent_.begin());
            buy(u, fresh);
            row.account.comparisons += bill_.comparisons[u];
        }
        at = ~at;
        row.account.weight += model_.use_value(number, 0);
        add(spent_, bill_.own[number]);
        return 0;
    }

    // Whether a learner acquires features split by split.
    bool splits(const Use& use) const { return use.kind == tree_kind && row.by_path; }

    i64 give_up(const Use& use, Reason why) {
        gave_up_[use.learner] = 1;
        row.at[use.learner] = ~row.at[use.learner];
        row.why = std::max<i64>(row.why, why);
        return 0;
    }

    // Set `due_` to what the row has spent once it has all features that a learner reads; return why it must not.
    Reason price_all(const Use& use, i64 number) {
        const auto reads = model_.reads_of(use);
        price(reads, true);
        Reason why = complete;
        for (i64 u : reads) why = std::max(why, absence(u));
        return why != complete ? why : fits(number) ? complete : by_cap;
    }

    // Set `due_` to what the row has spent after a test, which may be the learner's first of a feature.
    Reason price_test(i64 u, bool fresh, i64 number) {
        if (fresh && row.bars(u)) return absence(u);
        price({&u, 1}, fresh);
        add(due_, bill_.split[u]);
        return fits(number) ? complete : by_cap;
    }

    // Whether a test costs the row nothing, as the feature is paid for and only that has a price.
    bool is_free(i64 u) const { return free_again_ && (row.marks[u] & (is_bought | is_barred | is_held)) == is_bought; }

    // Why a learner must do without a feature, whatever the row can pay.
    Reason absence(i64 u) const {
        return row.marks[u] & is_barred ? by_absence : row.holds(u) ? by_cap : complete;
    }

    // Set `due_` to what the row has spent once it has features.
    void price(Vector<const i64> features, bool fresh) {
        std::ranges::copy(spent_, due_.begin());
        trip_.withdraw(0);
        for (i64 u : features) add_price(u, fresh);
        for (i64 u : features) change_resources(u, pending, unpaid);
    }

    // Add the price of a feature with the resources that it needs first, or of a further use.
    void add_price(i64 u, bool fresh) {
        if (!(row.marks[u] & is_bought)) {
            add_feature(bill_, u, paid_, pending, found_.data(), 0, due_);
            trip_.go_for(u, paid_, due_);
        }
        if (fresh && row.marks[u] & is_used) add(due_, bill_.reuse);
    }

    // Whether the row can pay for a learner after what is due.
    bool fits(i64 number) {
        std::ranges::copy(due_, sum_.begin());
        add(sum_, bill_.own[number]);
        return !exceeds(sum_, limit_);
    }

    i64 change_resources(i64 u, u8 before, u8 after) {
        return bill_.needs.change(u, paid_, before, after, found_.data(), 0);
    }

    void buy(i64 u, bool fresh) {
        if (!(row.marks[u] & is_bought)) change_resources(u, unpaid, paid);
        row.marks[u] |= is_bought;
        if (fresh) row.note_use(u);
    }

    // Set `needed` to the features of this stage's learners that the row can certainly pay in full, ascending; return
    // their number. If the row may have to give the current learner up, only that learner's next features are certain.
    i64 find_needs() {
        Lookahead ahead(row);
        std::vector<u64> wanted(ahead.n_words()), most(spent_.begin(), spent_.end());  // the most spent by then
        std::vector<u8> marks(row.marks, row.marks + model_.n_used()), by_then(paid_, paid_ + found_.size());
        const Stage& now = model_.stage[row.stage];
        bool any = false;
        for (i64 number = now.first; number < now.last; ++number) {
            const Use& use = model_.use[number];
            if (row.at[use.learner] < 0) continue;
            const auto reads = model_.reads_of(use);
            if (!splits(use) && bars_any(reads)) continue;
            for (i64 u : reads) {
                if (marks[u] & is_bought || row.bars(u)) continue;
                marks[u] |= is_bought;
                add_feature(bill_, u, by_then.data(), paid, found_.data(), 0, most);
            }
            add(most, bill_.most[number]);
            const bool certain = !exceeds(most, limit_);
            if (!certain && any) break;
            if (certain || !splits(use)) {
                ahead.add_needs(use, wanted.data());
            } else {
                const i64 u = model_.feature(row.at[use.learner]);
                wanted[u >> 6] |= u64{1} << (u & 63);
            }
            if (!certain) break;
            any = true;
        }
        return ahead.list(wanted.data());
    }

    // Set `needed` to the features of one round, where further ones cost something, and buy them; return their number.
    // It is what a row without a cap asks for, if the row can pay that. Else each learner in turn asks for all that it
    // certainly reads, if that is still within the limit, as it must give up later what now is too dear.
    i64 find_round() {
        Lookahead ahead(row);
        OneRound round(bill_, row, paid_, spent_, limit_, ahead.n_words());
        if (!asks_as_without_limits(ahead, round)) {
            const Stage& now = model_.stage[row.stage];
            bool is_first = true;
            for (i64 number = now.first; number < now.last; ++number) {
                const Use& use = model_.use[number];
                if (row.at[use.learner] < 0 || (!splits(use) && bars_any(model_.reads_of(use)))) continue;
                std::vector<u64> features = round.wanted;
                ahead.add_needs(use, features.data());
                if (!round.take(features.data(), bill_.own[number]) && is_first) {
                    round.take(only(row.walk_on(row.at[use.learner]), features).data(), bill_.own[number]);
                }
                is_first = false;
            }
        }
        std::ranges::copy(round.spent, spent_.begin());
        ahead.list(round.wanted.data());
        round.settle(paid_);
        return row.count;
    }

    // Let a round have all features that every way on reads, in later stages too; return whether the row can pay that.
    bool asks_as_without_limits(Lookahead& ahead, OneRound& round) {
        if (row.why != complete || bars_any(std::views::iota(i64{0}, model_.n_used()))) return false;
        std::vector<u64> features(ahead.n_words()), evaluating(spent_.size());
        ahead.find();
        for (i64 i = 0; i < row.count; ++i) features[row.needed[i] >> 6] |= u64{1} << (row.needed[i] & 63);
        const Stage& now = model_.stage[row.stage];
        for (i64 number = now.first; number < now.last; ++number) {
            if (row.at[model_.use[number].learner] >= 0) add(evaluating, bill_.own[number]);
        }
        return round.take(features.data(), evaluating);
    }

    bool bars_any(auto&& features) const {
        return std::ranges::any_of(features, [&](i64 u) { return row.bars(u); });
    }

    // Set bits to the feature that a tree tests at a node, alone.
    const std::vector<u64>& only(i64 node, std::vector<u64>& bits) const {
        const i64 u = model_.feature(node);
        std::ranges::fill(bits, 0);
        bits[u >> 6] = u64{1} << (u & 63);
        return bits;
    }

    const Model& model_;
    const Expected& expected_;
    const Bill& bill_;
    u8* const gave_up_;                // (learners,)
    u8* const rank_;                   // (U,)
    u8* const paid_;                   // of each resource
    i64& why_before_;                  // why learners of stages before were given up
    const Vector<u64> spent_;          // (W,)
    const Vector<const u64> limit_;    // (W,): what the row may spend in all
    std::vector<u64> due_, sum_;       // (W,)
    std::vector<i64> found_;           // resources on the way
    RoundTrip trip_;                   // for a feature, or all of a learner
    const bool free_again_;            // tests of features that are paid for cost nothing
};

// Ends of rows, and their purchases; see `CappedRows` in Python.
struct CappedEnds {
    i64* exits;
    bool* cut;
    double* share;
    Matrix<double> scores, final;
    double* route_scores;
    Matrix<u64> masks;
    double* spent;  // (rows, 3)
    Matrix<i32> asked;  // (rows, U): the round in which a row asks for a feature, 0 if it does not; or no rows
};

// A table of rows, and the outputs of opaque learners, as far as these have been called.
struct CappedTable {
    Matrix<const double> X, opaque;
    Matrix<const bool> called;
};

// Take some rows to their ends, or until an opaque learner must be called: `waits` is 0, or -1 - use. They begin as
// `begin` says, perhaps with all features known; features that are not known come round by round.
inline void walk_capped(const CappedTable& table, Vector<const i64> rows, Vector<const u64> begin,
                        const Model& model, const Expected& expected, const Bill& bill, i64* waits,
                        const CappedEnds& ends) {
    std::vector<u64> own(begin.size());
    std::vector<double> values(model.n_used());
    CappedRow state(model, expected, bill, own.data());
    const StepRow& row = state.row;
    for (i64 i : rows) {
        std::ranges::copy(begin, own.begin());
        for (i64 u = 0; u < model.n_used(); ++u) row.x[u] = table.X(i, model.used[u]);
        std::ranges::copy(table.opaque[i], row.opaque);
        for (i64 number = 0; table.opaque.columns > 0 && number < model.use.size; ++number) {
            const Use& use = model.use[number];
            if (use.kind == opaque_kind && table.called(i, use.place)) row.at[use.learner] = called;
        }
        for (i32 round = 1; (waits[i] = state.advance(values.data())) > 0; ++round) {
            for (i64 k = 0; k < row.count; ++k) {
                values[k] = table.X(i, model.used[row.needed[k]]);
                if (ends.asked.rows > 0) ends.asked(i, row.needed[k]) = round;
            }
        }
        ends.exits[i] = row.stage, ends.cut[i] = row.why != complete, ends.share[i] = state.share;
        std::copy_n(row.scores, ends.scores.columns, ends.scores[i].begin());
        std::copy_n(state.final, ends.final.columns, ends.final[i].begin());
        ends.route_scores[i] = state.route_score;
        std::ranges::fill(ends.masks[i], 0);
        for (i64 u = 0; u < model.n_used(); ++u) {
            ends.masks(i, u >> 6) |= u64{(row.marks[u] & is_bought) != 0} << (u & 63);
        }
        ends.spent[3 * i] = row.account.weight, ends.spent[3 * i + 1] = row.account.comparisons;
        ends.spent[3 * i + 2] = row.account.uses - row.account.n_used;
    }
}

}  // namespace costframe
