// The payments of a growing tree, once by the model or row by row: one account for every leaf.
//
// Rows that pay one by one have marks of their payments: one bit per item, which is a feature or a resource.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <vector>

#include "room.h"

namespace costframe::trees {

constexpr i64 bits_per_word = 64;
constexpr double largest_price = 1e300;  // a higher price buys nothing either, and sums of a few stay finite

// Add to counts[64 w + b] the number of rows that have bit b of word w. Of 255 rows, eight counts of one byte each fit
// into a word.
inline void count_marks(Matrix<const u64> marks, Vector<const i32> rows, Vector<double> counts) {
    constexpr i64 most = 255;
    constexpr u64 lowest_of_bytes = 0x0101010101010101;
    std::array<u64, most> strip;
    const i64 n_rows = rows.size();
    for (i64 begin = 0; begin < n_rows; begin += most) {
        const i64 size = std::min(most, n_rows - begin);
        for (i64 w = 0; w < marks.columns; ++w) {
            for (i64 at = 0; at < size; ++at) strip[at] = marks(rows[begin + at], w);
            for (i64 b = 0; b < 8; ++b) {
                u64 total = 0;
                for (i64 at = 0; at < size; ++at) total += (strip[at] >> b) & lowest_of_bytes;
                for (i64 byte = 0; byte < 8; ++byte) {
                    counts[w * bits_per_word + 8 * byte + b] += static_cast<double>((total >> (8 * byte)) & 255);
                }
            }
        }
    }
}

// Set sums[64 w + b] to the weight of the rows that have bit b of word w. No weights are ones.
inline void sum_marks(Matrix<const u64> marks, Vector<const i32> rows, Vector<const double> weight,
                      Vector<double> sums) {
    std::ranges::fill(sums, 0.0);
    if (weight.empty()) return count_marks(marks, rows, sums);
    for (i32 row : rows) {
        for (i64 w = 0; w < marks.columns; ++w) {
            const u64 word = marks(row, w), bits = std::bit_cast<u64>(weight[row]);
            for (i64 b = 0; b < bits_per_word; ++b) {  // adds zero, whose bits are zeros, without a branch
                sums[w * bits_per_word + b] += std::bit_cast<double>((-((word >> b) & 1)) & bits);
            }
        }
    }
}

// Return the weight of some rows, to the last digit equal to that of `sum_marks` for a bit that all have.
inline double weigh_rows(Vector<const i32> rows, Vector<const double> weight) {
    if (weight.empty()) return static_cast<double>(rows.size());
    double total = 0.0;
    for (i32 row : rows) total += weight[row];
    return total;
}

// Set a leaf's payment for a split on each feature, from the weight that has paid for each item; `root` comes on top
// for all rows at a tree's first split:
//   sum_{i in p} w_i [alpha_f + c_f (1 - C(i,f)) + sum_{r needed by f} C_r (1 - C(i,r))]
inline void price_leaf(const Prices& p, const Room& room, i64 slot, double weight, double root) {
    const auto paid = room.paid[slot], money = room.money[slot];
    const auto tested = room.tested[slot];
    for (std::size_t f = 0; f < money.size(); ++f) {
        double total = (p.split[f] + root) * weight + (tested[f] ? 0.0 : p.reuse) * paid[f];
        for (i64 item : p.items_of(f)) total += p.seen[item] * (weight - paid[item]);
        money[f] = total;
    }
}

// Set the present once-price of each feature for a model: the feature or its reuse, and its unpaid resources.
inline void begin_prices(const Prices& p) {
    if (p.kind != model) return;
    for (std::size_t f = 0; f < p.once.size(); ++f) {
        double total = p.feature_price[f];
        if (p.feature_paid[f]) total = p.used[f] ? 0.0 : p.reuse;
        for (i64 r : p.items_of(f)) {
            if (!p.resource_paid[r]) total += p.resource_price[r];
        }
        p.once[f] = total;
    }
}

// Set a leaf's payment for a split on each feature, whose once-price comes on top.
inline void price_by_model(const Prices& p, const Room& room, i64 slot, double weight, double root) {
    room.numbers[slot].weight = weight;
    for (std::size_t f = 0; f < p.split.size(); ++f) room.money(slot, f) = p.split[f] * weight + root;
}

// Compute the payments of the root, at slot 0, for a split on each feature.
inline void open_account(const Prices& p, const Room& room, Vector<const i32> rows) {
    double weight[] = {weigh_rows(rows, p.row_weight)};
    sum_over_workers(p.address, Vector<double>(weight));
    if (p.kind == model) {
        price_by_model(p, room, 0, weight[0], p.root);
        return add_rounds_of(p.visits, rows, p.row_weight, room.money[0]);
    }
    if (p.all_known && static_cast<i64>(rows.size()) == p.marks.rows && p.address == 0) {
        std::ranges::copy(p.paid_by_all, room.paid[0].begin());
    } else {
        sum_marks(p.marks, rows, p.row_weight, room.paid[0]);
        sum_over_workers(p.address, room.paid[0]);
    }
    room.numbers[0].weight = weight[0];
    price_leaf(p, room, 0, weight[0], p.root);
    add_rounds_of(p.visits, rows, p.row_weight, room.money[0]);
}

// Return the weights of the rows of two children, and of those of the first that have paid for each item. The second
// child has its parent's slot. If no row of them owes for any item, or none ever pays, two weights suffice.
inline std::vector<double> count_account(const Prices& p, const Room& room, i64 large, Vector<const i32> rows,
                                         Vector<const i32> rest) {
    bool owed = false;
    if (p.kind != model) {
        for (i64 item = 0; item < p.n_items; ++item) owed |= room.paid(large, item) != room.numbers[large].weight;
    }
    std::vector<double> counted(owed ? 2 + room.paid.columns : 2);
    counted[0] = weigh_rows(rows, p.row_weight);
    counted[1] = weigh_rows(rest, p.row_weight);
    if (owed) {
        sum_marks(p.marks, rows, p.row_weight, Vector<double>(counted).subspan(2));
    }
    return counted;
}

// Compute the payments of two children from what `count_account` has counted, of all workers. The larger child has its
// parent's slot; what the smaller one has paid is subtracted for it.
inline void settle_items(const Prices& p, const Room& room, i64 small, i64 large, Vector<const double> counted) {
    const double whole = room.numbers[large].weight, fewer = counted[0], more = counted[1];
    if (p.kind == model) {
        price_by_model(p, room, small, fewer, 0.0);
        return price_by_model(p, room, large, more, 0.0);
    }
    room.numbers[small].weight = fewer;
    room.numbers[large].weight = more;
    const auto own = room.paid[small], rest = room.paid[large];
    if (counted.size() == 2) {  // nobody owes in either child; so this is exact in spite of rounded weights
        std::ranges::fill(own, fewer);
        std::ranges::fill(rest, more);
    } else {
        std::ranges::copy(counted.subspan(2), own.begin());
        for (i64 item = 0; item < p.n_items; ++item) {  // items of all rows have exactly the rows' weight
            rest[item] = rest[item] == whole ? more : rest[item] - own[item];
        }
    }
    price_leaf(p, room, small, fewer, 0.0);
    price_leaf(p, room, large, more, 0.0);
}

// Compute the payments of the waiting leaves, from what `count_account` has counted.
inline void settle_account(const Growth& g, Vector<const double> counted) {
    const State& state = *g.room.state;
    settle_items(g.prices, g.room, state.small, state.large, counted);
    for (i64 slot : {state.small, state.large}) {
        add_rounds_of(g.prices.visits, g.rows_of(slot), g.prices.row_weight, g.room.money[slot]);
    }
}

// Return what the rows of a leaf pay for rounds at a split on a feature.
inline double round_price(const Prices& p, Vector<const i32> rows, i64 f) {
    if (p.visits.empty()) return 0.0;
    RoundsOwed owed(p.visits);
    double total = 0.0;
    for (i32 row : rows) {
        if (owed.look(row)) total += owed.price(f) * (p.row_weight.empty() ? 1.0 : p.row_weight[row]);
    }
    return total;
}

// What a payment does: it changes prices of other leaves, or the leaf's rows are to be marked.
struct Payment {
    bool changed, owed;
};

inline Payment pay_by_model(const Prices& p, i64 f) {
    if (p.used[f]) return {false, false};
    const bool changed = !p.feature_paid[f] || p.reuse != 0.0;
    p.used[f] = p.feature_paid[f] = true;
    for (i64 r : p.items_of(f)) p.resource_paid[r] = true;
    begin_prices(p);
    return {changed, false};
}

// Pay for the split of a leaf; `Visits` count what further rounds cost.
inline Payment pay(const Prices& p, const Room& room, Vector<const i32> rows, i64 slot, i64 f) {
    if (p.kind == model) return pay_by_model(p, f);
    const double weight = room.numbers[slot].weight;
    const auto paid = room.paid[slot];
    bool owed = false;
    double uncharged = 0.0;
    for (i64 item : p.items_of(f)) {
        owed |= paid[item] != weight;
        uncharged += p.uncharged[item] * (weight - paid[item]);
        p.paid_by_all[item] += weight - paid[item];
        paid[item] = weight;
    }
    p.totals[0] += room.money(slot, f);
    p.totals[0] += uncharged;
    if (!p.visits.empty()) p.totals[0] -= round_price(p, rows, f);
    const bool first = !p.once_paid[f] && p.true_once[f] > 0;
    if (first) p.totals[1] += p.true_once[f];
    p.once_paid[f] = true;
    return {first, owed};
}

// Mark all items of a feature as paid by these rows.
inline void mark_rows(const Prices& p, Vector<const i32> rows, i64 f) {
    std::vector<u64> masks(p.marks.columns);
    for (i64 item : p.items_of(f)) masks[item / bits_per_word] |= u64{1} << (item % bits_per_word);
    for (i64 word = 0; word < p.marks.columns; ++word) {
        if (masks[word] == 0) continue;
        for (i32 row : rows) p.marks(row, word) |= masks[word];
    }
}

// Return tradeoff * (money + once), at most the largest price; zero times infinity is zero.
inline double charge_one(double money, double once, double tradeoff) {
    const double total = money + once;
    return total != 0 && tradeoff != 0 ? std::min(tradeoff * total, largest_price) : 0.0;
}

// Set the price of a leaf's split on each feature, with its once-price unless paid.
inline void charge(const Prices& p, Vector<const double> money, Vector<double> prices) {
    for (std::size_t f = 0; f < prices.size(); ++f) {
        prices[f] = charge_one(money[f], p.once_paid[f] ? 0.0 : p.once[f], p.tradeoff);
    }
}

// Write the least prices, in units, that a leaf's splits on some columns may have later, and the present ones. In a
// tree, a leaf's `money` stays the same, and once-prices only fall.
inline void range_prices(const Prices& p, Vector<const double> money, Vector<const i64> columns, double unit,
                         Vector<double> least, Vector<double> present) {
    for (std::size_t k = 0; k < columns.size(); ++k) {
        const i64 f = columns[k];
        const bool free = p.kind == nobody;
        least[k] = free ? 0.0 : charge_one(money[f], 0.0, p.tradeoff) * unit;
        present[k] = free ? 0.0 : charge_one(money[f], p.once_paid[f] ? 0.0 : p.once[f], p.tradeoff) * unit;
    }
}

// Mark items[i] in rows[i]; set the cost of the newly marked ones, and the number of features among them.
inline void price_marks(Matrix<u64> marks, Vector<const i32> rows, Matrix<const u64> items, Vector<const double> cost,
                        i64 n_features, Vector<double> per_row, Vector<double> new_features) {
    for (std::size_t i = 0; i < rows.size(); ++i) {
        double total = 0.0, features = 0.0;
        for (i64 w = 0; w < marks.columns; ++w) {
            const u64 fresh = items(i, w) & ~marks(rows[i], w);
            marks(rows[i], w) |= fresh;
            for (i64 b = 0; b < bits_per_word; ++b) {
                if (((fresh >> b) & 1) == 0) continue;
                total += cost[w * bits_per_word + b];
                features += w * bits_per_word + b < n_features ? 1.0 : 0.0;
            }
        }
        per_row[i] = total;
        new_features[i] = features;
    }
}

}  // namespace costframe::trees
