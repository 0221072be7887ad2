// The rounds in which rows ask a growing ensemble for features, and so go to resources, again and again.
//
// In each round all trees ask together for what they certainly read of a row, given what it knows.
#pragma once

#include <algorithm>
#include <bit>
#include <vector>

#include "span.h"

namespace costframe {

constexpr i64 last_round = 63;  // later rounds count as this one, for a word has 64 bits

struct Visits {
    Vector<const double> price;  // (V,): of a further round to each resource
    Matrix<u8> asked;            // (n, d): the round in which a row asks for a feature, 0 if it does not
    Matrix<u64> visited;         // (n, V): bits of the rounds in which a row goes to a resource
    Vector<u8> ready;            // (n,): the last round on the way through the present tree
    Vector<bool> moved;          // (n,): whether a feature comes earlier than before, or for the first time
    Vector<const i64> group;     // (d,): features of a group go to the same resources
    Vector<const i64> first;     // (G + 1,): of each group's ways in the next two
    Vector<const i64> to;        // a resource
    Vector<const u64> past;      // bits of resources that end the way if they are there

    bool empty() const { return price.empty(); }
    i64 n_groups() const { return std::ssize(first) - 1; }

    // Return the resources that a row goes to for features of a group, as bits, in a round.
    u64 goes_to(i64 row, i64 g, i64 round) const {
        const u64 earlier = (u64{1} << round) - 1;
        u64 found = 0;
        for (i64 at = first[g]; at < first[g + 1]; ++at) {
            bool is_there = false;
            for (u64 bits = past[at]; bits != 0; bits &= bits - 1) {
                is_there |= (visited(row, std::countr_zero(bits)) & earlier) != 0;
            }
            if (!is_there) found |= u64{1} << to[at];
        }
        return found;
    }

    // Return the price of going for features of a group in a round, beside those of the rounds that a row has.
    double price_of(i64 row, i64 g, i64 round) const {
        double total = 0.0;
        for (u64 bits = goes_to(row, g, round); bits != 0; bits &= bits - 1) {
            const i64 r = std::countr_zero(bits);
            const u64 seen = visited(row, r);
            if (seen != 0 && !(seen >> round & 1)) total += price[r];
        }
        return total;
    }

    // Ask for a feature after those of the `ready` round; return the last round of all.
    i64 ask(i64 row, i64 f, i64 ready) const {
        const i64 round = std::min(ready + 1, last_round);
        u8& now = asked(row, f);
        if (now == 0 || now > round) {
            moved[row] = true;
            now = static_cast<u8>(round);
            note(row, group[f], round);
        }
        return std::max<i64>(ready, now);
    }

    // Note where a row goes, from the rounds in which it asks for features.
    void recount(i64 row) const {
        const auto rounds = asked[row];
        std::ranges::fill(visited[row], 0);
        u64 present = 0;
        for (u8 round : rounds) present |= u64{1} << round;
        for (u64 bits = present & ~u64{1}; bits != 0; bits &= bits - 1) {
            const i64 round = std::countr_zero(bits);
            for (std::size_t f = 0; f < rounds.size(); ++f) {
                if (rounds[f] == round) note(row, group[f], round);
            }
        }
    }

    // Return what a row pays for all rounds after the first to each resource.
    double paid(i64 row) const {
        double total = 0.0;
        for (std::size_t r = 0; r < price.size(); ++r) {
            total += price[r] * static_cast<double>(std::max(std::popcount(visited(row, r)) - 1, 0));
        }
        return total;
    }

   private:
    void note(i64 row, i64 g, i64 round) const {
        for (u64 bits = goes_to(row, g, round); bits != 0; bits &= bits - 1) {
            visited(row, std::countr_zero(bits)) |= u64{1} << round;
        }
    }
};

// What a split on each feature changes of a row's rounds.
class RoundsOwed {
   public:
    explicit RoundsOwed(const Visits& all) : all_(all), owed_(all.n_groups()), alone_(all.price.size()), shared_(alone_) {}

    // Look at a row; return whether a split on any feature costs or saves something.
    bool look(i64 row) {
        row_ = row, round_ = std::min<i64>(all_.ready[row] + 1, last_round);
        bool any = false;
        for (i64 g = 0; g < all_.n_groups(); ++g) {
            owed_[g] = all_.price_of(row, g, round_);
            any |= owed_[g] != 0.0;
        }
        return find_alone() || any;
    }

    // Return the price of a split on a feature: a row that lacks it may go again; one that has it in a later round may
    // go in this one instead of that one, and a feature of an earlier round is free.
    double price(i64 f) const {
        const i64 before = all_.asked(row_, f), g = all_.group[f];
        if (before == 0 || before <= round_) return before == 0 ? owed_[g] : 0.0;
        double saved = 0.0;
        for (u64 bits = all_.goes_to(row_, g, before); bits != 0; bits &= bits - 1) {
            const i64 r = std::countr_zero(bits);
            if (alone_[r] >> before & 1) saved += all_.price[r];
        }
        return owed_[g] - saved;
    }

   private:
    // Find the later rounds in which only one feature goes to a resource; return whether there are any later rounds.
    bool find_alone() {
        const auto asked = all_.asked[row_];
        if (std::ranges::none_of(asked, [&](u8 round) { return round > round_; })) return false;
        std::ranges::fill(alone_, 0);
        std::ranges::fill(shared_, 0);
        for (std::size_t f = 0; f < asked.size(); ++f) {
            if (asked[f] <= round_) continue;
            for (u64 bits = all_.goes_to(row_, all_.group[f], asked[f]); bits != 0; bits &= bits - 1) {
                const i64 r = std::countr_zero(bits);
                const u64 bit = u64{1} << asked[f];
                shared_[r] |= alone_[r] & bit;
                alone_[r] |= bit;
            }
        }
        for (std::size_t r = 0; r < alone_.size(); ++r) alone_[r] &= ~shared_[r];
        return true;
    }

    const Visits& all_;
    i64 row_ = 0, round_ = 1;
    std::vector<double> owed_;        // of each group in this round
    std::vector<u64> alone_, shared_;  // rounds of each resource, as bits
};

// Add what the rows of a leaf pay for rounds at a split on each feature.
inline void add_rounds_of(const Visits& all, Vector<const i32> rows, Vector<const double> weight,
                          Vector<double> money) {
    if (all.empty()) return;
    RoundsOwed owed(all);
    for (i32 row : rows) {
        if (!owed.look(row)) continue;
        const double times = weight.empty() ? 1.0 : weight[row];
        for (std::size_t f = 0; f < money.size(); ++f) money[f] += times * owed.price(f);
    }
}

// Let the rows of a leaf ask for the feature of its split.
inline void ask_for(const Visits& all, Vector<const i32> rows, i64 f) {
    if (all.empty()) return;
    for (i32 row : rows) all.ready[row] = static_cast<u8>(all.ask(row, f, all.ready[row]));
}

// A row on its way through a tree, which asks for what it certainly reads. `Tree` is that of `charges.h`.
template <typename Tree>
class AskingTree {
   public:
    AskingTree(const Visits& all, const Tree& tree, i64 n_features) : all_(all), tree_(tree), place_(n_features, none) {}

    // Let a row, with its values, ask for all features on its way, none later than so far.
    void follow(i64 row, Vector<const double> x) {
        row_ = row, x_ = x;
        list_way();
        for (i64 known = 0; known < last_round; ++known) {
            known_ = known;
            u64 want = 0;  // what may come in the next round for the first time
            for (std::size_t at = 0; at < way_.size(); ++at) {
                const u8 round = all_.asked(row, way_[at]);
                if (round == 0 || round > known + 1) want |= u64{1} << at;
            }
            if (want == 0) break;
            for (u64 bits = find_certain(0, want); bits != 0; bits &= bits - 1) {
                all_.asked(row, way_[std::countr_zero(bits)]) = static_cast<u8>(known + 1);
                all_.moved[row] = true;
            }
        }
        for (i64 f : way_) place_[f] = none;
    }

   private:
    static constexpr u8 none = 255;
    static constexpr std::size_t most = 64;  // features of a way, bits of a word; those behind are asked for last

    void list_way() {
        way_.clear();
        for (i64 v = 0; tree_.feature[v] >= 0; v = tree_.child(v, x_[tree_.feature[v]])) {
            const i64 f = tree_.feature[v];
            if (place_[f] != none) continue;
            if (way_.size() == most) {
                if (all_.asked(row_, f) == 0) all_.asked(row_, f) = last_round;
                continue;
            }
            place_[f] = static_cast<u8>(way_.size());
            way_.push_back(f);
        }
    }

    bool knows(i64 f) const {
        const u8 round = all_.asked(row_, f);
        return round != 0 && round <= known_;
    }

    // Return those of the wanted features, as bits, that every path reads from a node on, for known values.
    u64 find_certain(i64 v, u64 want) const {
        while (tree_.feature[v] >= 0 && knows(tree_.feature[v])) v = tree_.child(v, x_[tree_.feature[v]]);
        if (tree_.feature[v] < 0) return 0;
        const u8 place = place_[tree_.feature[v]];
        const u64 own = place == none ? 0 : want & u64{1} << place;
        u64 rest = want & ~own;
        if (rest != 0) rest = find_certain(tree_.left[v], rest);
        if (rest != 0) rest = find_certain(tree_.right[v], rest);
        return own | rest;
    }

    const Visits& all_;
    const Tree& tree_;
    i64 row_ = 0, known_ = 0;
    Vector<const double> x_;
    std::vector<i64> way_;   // features on the way of the row
    std::vector<u8> place_;  // of each feature in it
};

}  // namespace costframe
