// Growth of a tree: breadth-first or best-first, at prices.
#pragma once

#include "search.h"

namespace costframe::trees {

enum Ended : i64 { done = 0, more_leaves = 1, pause_for_signals = 2, bad_gradients = 3, bad_hessians = 4, negative = 5 };

// Gradients and hessians, (n,) each, and how often each row counts; no hessians or counts are ones.
struct Derived {
    Vector<const double> gradients, hessians;
    Vector<const i64> counts;
};

// Pack gradients and hessians of all rows, and set their units; return the powers of two that made them whole.
inline Units pack_rows(const Task& task, const Derived& derived) {
    const Units scales =
        pack(derived.gradients, derived.hessians, derived.counts, task.count_bits, task.address, task.words);
    const int exponent = packed_bits(task.count_bits) - exponent_of(scales.gradient) + 1;
    *task.units = {{std::ldexp(1.0 / scales.gradient, -exponent), 1.0 / scales.hessian}, static_cast<double>(exponent)};
    return scales;
}

// Begin a tree with the rows' gradients and hessians; return `done`, or what is wrong with them.
inline Ended begin(const Task& task, const Derived& derived) {
    const Units scales = pack_rows(task, derived);
    if (std::isnan(scales.gradient)) return bad_gradients;
    if (std::isnan(scales.hessian)) return bad_hessians;
    return std::ranges::any_of(derived.hessians, [](double each) { return each < 0; }) ? negative : done;
}

// Put a leaf into a slot, with the number of its node, its depth and its rows, but without splits.
inline void open_leaf(const Room& room, i64 slot, i64 number, i64 depth, i64 begin, i64 count) {
    Place& place = room.place[slot];
    place.node = number;
    place.depth = depth;
    place.begin = begin;
    place.count = count;
    place.feature = -1;
    place.open = 0;
    room.numbers[slot].value = -infinity;
    std::ranges::fill(room.gain[slot], -infinity);
    room.nodes[number] = {-1, 0, 0, -1, -1, slot, {-1, -1, -1, -1}};
}

// Return whether a leaf has enough rows and is above the largest depth.
inline bool may_split(const Task& task, const Place& place) {
    const i64 rows = task.packing().rows(place.sums.first);
    return rows >= 2 * static_cast<i64>(task.limits->min_rows) && place.depth < task.max_depth;
}

// Begin with the root; return whether to search it.
inline bool plant(const Growth& g) {
    const Task& task = g.task;
    const Room& room = g.room;
    Place& place = room.place[0];
    *room.state = {1, 0, 0, -1};
    open_leaf(room, 0, 0, 0, 0, g.rows.size());
    room.gained[0] = 0.0;
    std::ranges::fill(room.tested[0], false);
    room.numbers[0].bounds = {-infinity, infinity};
    const Sums sums = sum_words(task.words, g.rows);
    i64 both[] = {sums.first, sums.second};
    sum_over_workers(task.address, Vector<i64>(both));
    place.sums = {both[0], both[1]};
    if (task.n_columns() > 0 && task.max_leaves > 1) place.open = may_split(task, place);
    if (g.prices.kind != nobody) {
        std::ranges::fill(g.prices.used, false);
        begin_prices(g.prices);
        std::ranges::fill(g.prices.visits.ready, u8{0});
        if (place.open == 1) open_account(g.prices, room, g.rows);
    }
    return place.open == 1;
}

// Find a leaf's best feature at current prices, the lowest of several.
inline void compare(const Growth& g, i64 slot) {
    const auto gain = g.room.gain[slot], price = g.room.price;
    const bool free = g.prices.kind == nobody;
    const double unit = g.task.units->price();
    if (!free) charge(g.prices, g.room.money[slot], price);
    const auto worth_of = [&](i64 f) { return free ? gain[f] : gain[f] - price[f] * unit; };
    i64 best = 0;
    double value = worth_of(0);
    for (std::size_t f = 1; f < gain.size(); ++f) {
        const double worth = worth_of(f);  // an infinite price buys nothing
        if (worth > value) {
            best = f;
            value = worth;
        }
    }
    g.room.place[slot].feature = best;
    g.room.numbers[slot].value = value;
}

// Find the best features of the leaves just searched.
inline void compare_waiting(const Growth& g) {
    for (i64 slot : {g.room.state->small, g.room.state->large}) {
        if (slot >= 0 && g.room.place[slot].open == 1) compare(g, slot);
    }
}

// Return the slot of the leaf with the best split, the oldest of several; -1 if no split has worth.
inline i64 best_leaf(const Room& room) {
    i64 best = 0;
    for (i64 slot = 1; slot < room.state->leaves; ++slot) {
        const double value = room.numbers[slot].value, largest = room.numbers[best].value;
        const bool older = room.place[slot].node < room.place[best].node;
        if (value > largest || (value == largest && older)) best = slot;
    }
    return room.numbers[best].value > 0 ? best : -1;
}

// Return the slot of the first leaf with a split of worth, by level and from left to right; -1 if there is none.
inline i64 first_leaf(const Growth& g) {
    State& state = *g.room.state;
    for (; state.cursor < 2 * state.leaves - 1; ++state.cursor) {
        const Node& node = g.room.nodes[state.cursor];
        if (node.feature >= 0 || g.room.place[node.slot].open == 0) continue;
        compare(g, node.slot);
        if (g.room.numbers[node.slot].value > 0) return node.slot;
    }
    return -1;
}

// Bound outputs on both sides of a constrained feature by the middle between their values.
inline void bound_outputs(const Growth& g, i64 f, i64 left, i64 right, i64 bin) {
    const Task& task = g.task;
    const auto column = std::ranges::lower_bound(task.columns, f) - task.columns.begin();
    if (bin == task.n_bins[column] - 1) return;  // a test for missing values has no order
    const auto value_of = [&](i64 slot) {
        return child_value(task.packing(), g.room.place[slot].sums, task.limits->l2, g.room.numbers[slot].bounds);
    };
    const double middle = value_of(left) / 2 + value_of(right) / 2;
    const bool rising = task.signs[f] > 0;
    g.room.numbers[rising ? left : right].bounds.high = middle;
    g.room.numbers[rising ? right : left].bounds.low = middle;
}

// Write the split of a leaf into its node.
inline void write_node(const Growth& g, i64 slot, i64 child) {
    const Room& room = g.room;
    const Place& place = room.place[slot];
    const Split& best = room.best[slot][place.feature];
    Node& node = room.nodes[place.node];
    node.feature = place.feature;
    node.bin = best.bin;
    node.missing_left = best.missing_left;
    node.left = child;
    node.right = child + 1;
    if (g.task.names(place.feature)) {
        std::copy_n(room.best[slot].set(place.feature), 4, node.left_bins);
    } else {
        list_bins(best.bin, best.missing_left == 1, node.left_bins);
    }
    room.gained[place.node] = room.numbers[slot].value;
    room.gained[child] = room.gained[child + 1] = 0.0;
}

// Let two children have what their parent, in one's slot, has: its tests, bounds and sums of words.
inline void inherit(const Growth& g, i64 slot, i64 fresh, i64 left, i64 right) {
    const Room& room = g.room;
    const Place parent = room.place[slot];
    const Split& best = room.best[slot][parent.feature];
    const Sums all = parent.sums, goes = best.left;
    if (room.tested.columns > 0) {
        room.tested(slot, parent.feature) = true;
        std::ranges::copy(room.tested[slot], room.tested[fresh].begin());
    }
    room.place[left].sums = goes;
    room.place[right].sums = {all.first - goes.first, all.second - goes.second};
    room.numbers[fresh].bounds = room.numbers[slot].bounds;
    if (!g.task.signs.empty() && g.task.signs[parent.feature] != 0) {
        bound_outputs(g, parent.feature, left, right, best.bin);
    }
}

// Split a leaf in two: the larger one takes its slot, the smaller one the next. Return 1 to search them, 0 if neither
// may split, and -1 if a helper failed.
inline i64 split_leaf(const Growth& g, i64 slot, bool owed) {
    const Task& task = g.task;
    const Room& room = g.room;
    State& state = *room.state;
    const Place parent = room.place[slot];
    const i64 fresh = state.leaves, child = 2 * fresh - 1;  // the present number of nodes
    write_node(g, slot, child);
    mark_left(room.nodes[parent.node].left_bins, room.goes_left);
    const i64 n_left = divide_leaf(g, slot, owed);
    if (n_left < 0) return -1;
    const Packing packing = task.packing();
    const i64 all_left = packing.rows(room.best[slot][parent.feature].left.first);  // of all workers
    const bool few_left = 2 * all_left <= packing.rows(parent.sums.first);
    const i64 left = few_left ? fresh : slot, right = few_left ? slot : fresh;
    inherit(g, slot, fresh, left, right);
    open_leaf(room, left, child, parent.depth + 1, parent.begin, n_left);
    open_leaf(room, right, child + 1, parent.depth + 1, parent.begin + n_left, parent.count - n_left);
    state.leaves = fresh + 1;
    state.small = fresh;
    state.large = slot;
    if (state.leaves < task.max_leaves) {  // the last two leaves need no search
        for (i64 each : {fresh, slot}) room.place[each].open = may_split(task, room.place[each]);
    }
    return room.place[fresh].open + room.place[slot].open > 0;
}

// Pay for a split, make it, and update the payments of other leaves; return as `split_leaf` does.
inline i64 split_at_prices(const Growth& g, i64 slot) {
    const Payment payment = pay(g.prices, g.room, g.rows_of(slot), slot, g.room.place[slot].feature);
    const i64 searched = split_leaf(g, slot, payment.owed);
    if (payment.changed && !g.task.breadth) {
        for (i64 other = 0; other < g.room.state->small; ++other) {
            if (g.room.place[other].open == 1 && other != slot) compare(g, other);
        }
    }
    return searched;
}

// Grow a tree to its end, or until the caller must act. A state without leaves begins a new tree. The rows, ascending
// at first, are permuted, and payments change prices.
//
// Return `done`, also if a helper failed; `more_leaves` if the next call needs more room; or `pause_for_signals` if
// several threads have worked for long.
inline Ended grow(const Growth& g) {
    constexpr i64 pause_after = 1'000'000'000;  // cells: a second or so
    const Task& task = g.task;
    const Room& room = g.room;
    const State& state = *room.state;
    bool accounts = false;
    i64 cells = 0, waiting = state.leaves == 0 ? plant(g) : 0;
    while (waiting >= 0) {
        if (waiting == 1) {
            cells += room.place[state.small].count * task.n_columns();
            if (!search_leaves(g, accounts)) return done;
            if (!task.breadth) compare_waiting(g);  // breadth-first, leaves are compared at their turns
        }
        if (state.leaves >= task.max_leaves) return done;
        const i64 slot = task.breadth ? first_leaf(g) : best_leaf(room);
        if (slot < 0) return done;
        if (state.leaves == room.place.count) return more_leaves;
        if (cells > pause_after && task.cells_worth_threads < cells) return pause_for_signals;
        if (g.prices.kind == nobody) {
            waiting = split_leaf(g, slot, false);
        } else {
            waiting = split_at_prices(g, slot);
            accounts = true;
        }
    }
    return done;
}

}  // namespace costframe::trees
