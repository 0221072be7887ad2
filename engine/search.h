// The search of new leaves for splits, their payments, and the division of a leaf's rows: jobs that threads share.
//
// Several workers add up their histograms, and then all search the same sums.
#pragma once

#include <algorithm>
#include <memory>
#include <vector>

#include "histogram.h"
#include "prices.h"
#include "rows.h"
#include "share.h"
#include "splits.h"

namespace costframe::trees {

enum Job : i64 { divide = 0, fill = 1, look = 2 };
enum Filled : i64 { not_filled = 0, in_parts = 1, as_whole = 2 };  // the smaller leaf's histogram

constexpr i64 strip_columns = 64;    // whose histograms stay in the second-level cache
constexpr i64 cells_per_bin = 8;     // scanning a bin takes about as long as adding this many cells
constexpr i64 cells_per_row = 4;     // dividing a row, too
constexpr i64 many_columns = 1024;   // with at least so many, it looks for those that may be the best at present prices
constexpr i64 blocks_per_thread = 8;  // fewer blocks may end unevenly, more repeat the reading of rows

// Add what helpers have filled to the sums of some columns, whose first group is `first`.
inline void add_parts(const Room& room, Histogram sums, i64 first, Vector<const i64> n_bins) {
    for (i64 part = 0; part < room.parts.count; ++part) {
        add_to(sums, room.parts[part].part(first, first + sums.groups), n_bins);
    }
}

// Return the prices of columns from `first` to `last` for a waiting leaf, written into `room`; none of few columns.
inline PriceRange range_of(const Growth& g, i64 slot, i64 first, i64 last, std::vector<double>& room) {
    const i64 size = last - first;
    if (g.task.n_columns() < many_columns) return {};
    room.resize(2 * size);
    const auto least = Vector<double>(room).first(size), present = Vector<double>(room).last(size);
    const auto columns = g.task.columns.subspan(first, size);
    if (slot >= 0) range_prices(g.prices, g.room.money[slot], columns, g.task.units->price(), least, present);
    return {least, present};
}

// Sums of a waiting leaf on columns from `begin` to `end`: in the room, if it keeps them, or else in `scratch`.
struct Strip {
    i64 begin, end;
    bool kept;
    Histogram scratch;

    Histogram of(const Room& room, i64 slot) const {
        const i64 lanes = room.histogram.lanes, first = begin / lanes, last = (end + lanes - 1) / lanes;
        return kept ? room.histogram[slot].part(first, last) : scratch.part(0, last - first);
    }
};

// Put the sums of a waiting leaf where they belong. Those of the smaller leaf may be there, `filled` whole or in parts.
inline Histogram prepare_sums(const Growth& g, const Strip& strip, i64 slot, i64 filled) {
    const Room& room = g.room;
    const i64 small = room.state->small, lanes = room.histogram.lanes, size = strip.end - strip.begin;
    const auto columns = g.task.columns.subspan(strip.begin, size), n_bins = g.task.n_bins.subspan(strip.begin, size);
    const Histogram sums = strip.of(room, slot);
    if (strip.kept && slot == room.state->large) {
        subtract(sums, strip.of(room, small), n_bins);
    } else if (filled == in_parts) {
        add_parts(room, sums, strip.begin / lanes, n_bins);
    } else if (filled == not_filled && (strip.kept || room.place[slot].open == 1)) {
        fill_histogram(g.task.bins, g.task.words, g.rows_of(slot), columns, n_bins, sums);
        sum_over_workers(g.task.address, Vector<i64>(sums.data, static_cast<std::size_t>(sums.size())));
    }
    return sums;
}

// Search the waiting leaves on columns from `first` to `last`, by place.
//
// A histogram that the room does not keep, as those of leaves of few rows, is filled for both leaves, and overwritten
// by that of the next columns.
inline void search_columns(const Growth& g, i64 first, i64 last, i64 filled) {
    const Room& room = g.room;
    const i64 slots[] = {room.state->small, room.state->large};
    const Histograms& all = room.histogram;
    const i64 n_rows = room.place[slots[0]].count + (slots[1] >= 0 ? room.place[slots[1]].count : 0);
    const i64 kept = n_rows <= few_rows && g.task.address == 0 ? 0 : all.groups * all.lanes;
    const i64 groups = last > kept ? (std::min(strip_columns, last - first) + all.lanes - 1) / all.lanes : 0;
    const auto scratch = std::make_unique_for_overwrite<i64[]>(groups * all.bins * line_words);
    std::vector<double> price_room[2];
    PriceRange whole[] = {range_of(g, slots[0], first, last, price_room[0]),
                          range_of(g, slots[1], first, last, price_room[1])};
    for (i64 begin = first, end; begin < last; begin = end) {
        end = std::min(begin + strip_columns, begin >= kept ? last : std::min(last, kept));
        const Strip strip{begin, end, begin < kept, {scratch.get(), groups, all.bins, all.lanes, all.n_words}};
        const i64 size = end - begin;
        const Columns columns{g.task.columns.subspan(begin, size), g.task.n_bins.subspan(begin, size),
                              g.task.categorical, g.task.signs};
        for (i64 k = 0; k < 2; ++k) {
            const i64 slot = slots[k];
            if (slot < 0 || (k == 1 && room.place[slot].open == 0)) continue;
            const Histogram sums = prepare_sums(g, strip, slot, filled);
            if (room.place[slot].open == 0) continue;
            PriceRange prices = whole[k].part(begin - first, size);
            const Leaf leaf{g.task.packing(), *g.task.limits, room.place[slot].sums, room.numbers[slot].bounds};
            find_splits(sums, columns, leaf, prices, room.gain[slot], room.best[slot]);
            whole[k].worth = prices.worth;
        }
    }
}

// Return the first column of a block; eight neighbors together are quicker.
inline i64 edge_of(i64 n_columns, i64 n_blocks, i64 block) {
    return block == n_blocks ? n_columns : 8 * ((n_columns + 7) / 8 * block / n_blocks);
}

// Count what the rows of two waiting leaves have paid; see `count_account`.
inline std::vector<double> count_waiting(const Growth& g) {
    const State& state = *g.room.state;
    return count_account(g.prices, g.room, state.large, g.rows_of(state.small), g.rows_of(state.large));
}

// Add up the histogram of the smaller leaf, and its account, of all workers by one combination.
inline void combine_waiting(const Growth& g, i64 n_parts, std::vector<double>& counted) {
    const State& state = *g.room.state;
    const Histogram sums = g.room.histogram[state.small];
    if (n_parts > 1) add_parts(g.room, sums, 0, g.task.n_bins);
    sum_both_over_workers(g.task.address, Vector<i64>(sums.data, static_cast<std::size_t>(sums.size())),
                          Vector<double>(counted), g.prices.unit);
    if (!counted.empty()) settle_account(g, counted);
}

// Compute the payments of the waiting leaves.
inline void account_waiting(const Growth& g) {
    std::vector<double> counted = count_waiting(g);
    sum_over_workers(g.prices.address, Vector<double>(counted));
    settle_account(g, counted);
}

// Do one part of the job on the board.
inline void do_part(const Growth& g, i64 part) {
    const Task& task = g.task;
    const Room& room = g.room;
    Board& board = *room.board;
    if (board.job == look && part < board.accounts) return account_waiting(g);
    if (board.job == look) {
        const i64 block = part - board.accounts, n_columns = task.n_columns();
        const i64 first = edge_of(n_columns, board.blocks, block), last = edge_of(n_columns, board.blocks, block + 1);
        return search_columns(g, first, last, board.filled);
    }
    const i64 slot = board.job == divide ? board.slot : room.state->small;
    const Place& place = room.place[slot];
    const i64 first = place.begin + place.count * part / board.blocks;
    const i64 size = place.begin + place.count * (part + 1) / board.blocks - first;
    const auto mine = g.rows.subspan(first, size);
    if (board.job == fill) {
        const Histogram sums = part == 0 ? room.histogram[slot] : room.parts[part - 1];
        return fill_histogram(task.bins, task.words, mine, task.columns, task.n_bins, sums);
    }
    if (board.owed == 1) mark_rows(g.prices, mine, place.feature);
    ask_for(g.prices.visits, mine, place.feature);
    const auto column = task.by_column[place.feature];
    board.counts[part] = divide_rows(column, room.goes_left, mine, room.rows.subspan(first, size));
}

// Do parts of the jobs of a thread that grows a tree, until it stops.
inline void assist(const Growth& g) {
    Board& board = *g.room.board;
    for (int spins = 0; !has_stopped(board);) {
        const i64 part = draw_part(board);
        if (part < 0) {
            spins = rest(spins);
        } else {
            do_part(g, part);
            end_part(board);
            spins = 0;
        }
    }
}

// Do a job with any helpers; return false if one of them failed.
inline bool share(const Growth& g, Job job, i64 parts) {
    Board& board = *g.room.board;
    post(board, job, parts);
    for (i64 part = draw_part(board); part >= 0; part = draw_part(board)) {
        do_part(g, part);
        end_part(board);
    }
    return wait_for_parts(board, parts);
}

// Open the accounts of the waiting leaves before the search, if it looks at prices, or as combination has an order; the
// search does it otherwise. Return what is counted for a combination with histograms.
inline std::vector<double> account_first(const Growth& g, bool with_histograms) {
    std::vector<double> counted;
    if (with_histograms) {
        counted = count_waiting(g);
    } else {
        account_waiting(g);
    }
    return counted;
}

// Fill the histogram of the smaller leaf by parts of its rows, if there are many, or if workers combine it; return
// false if a helper failed.
inline bool fill_parts(const Growth& g, bool combined, i64 n_parts, std::vector<double>& counted) {
    Board& board = *g.room.board;
    if (n_parts > 1 || combined) {
        board.blocks = n_parts;
        board.filled = in_parts;
        if (!share(g, fill, n_parts)) return false;
    }
    if (combined) {
        combine_waiting(g, n_parts, counted);
        board.filled = as_whole;
    }
    return true;
}

// Search the waiting leaves on all columns, and open their accounts if asked; return false if a helper failed.
inline bool search_leaves(const Growth& g, bool accounts) {
    const Room& room = g.room;
    const State& state = *room.state;
    Board& board = *room.board;
    const i64 count = room.place[state.small].count, n_columns = g.task.n_columns(), n_threads = board.threads;
    const i64 scanned = room.place[state.small].open + (state.large >= 0 ? room.place[state.large].open : 0);
    const bool shared = (count + 256 * cells_per_bin * scanned) * n_columns > g.task.cells_worth_threads;
    const bool together = g.task.address != 0, all_kept = room.histogram.groups * room.histogram.lanes >= n_columns;
    std::vector<double> counted;
    board.filled = not_filled;
    if (accounts && (n_columns >= many_columns || together)) {  // the search looks at prices; combination has an order
        counted = account_first(g, together && all_kept);
        accounts = false;
    }
    const i64 least = std::max(n_threads * board.rows_per_thread, few_rows + 1);  // histograms of few are not kept
    const bool many = count >= least && shared && all_kept;
    if (!fill_parts(g, together && all_kept, many ? 1 + room.parts.count : 1, counted)) return false;
    board.accounts = accounts;
    board.job = look;
    board.blocks = 1;
    if (!shared || (together && !all_kept)) {
        for (i64 part = 0; part < 1 + board.accounts; ++part) do_part(g, part);
        return true;
    }
    const i64 strips = (n_columns + strip_columns * n_threads - 1) / (strip_columns * n_threads);
    board.blocks = std::min(n_threads * std::min(strips, blocks_per_thread), (n_columns + 7) / 8);
    return share(g, look, board.blocks + board.accounts);
}

// Order a leaf's rows by their side, and mark them if they owe for the feature; return how many go left, or -1 if a
// helper failed.
inline i64 divide_leaf(const Growth& g, i64 slot, bool owed) {
    Board& board = *g.room.board;
    const Place& place = g.room.place[slot];
    board.job = divide;
    board.slot = slot;
    board.owed = owed;
    board.blocks = 1;
    if (place.count * cells_per_row <= g.task.cells_worth_threads) {
        do_part(g, 0);
    } else {
        board.blocks = std::min<i64>(2 * board.threads, std::size(board.counts));
        if (!share(g, divide, board.blocks)) return -1;
    }
    const Vector<const i64> counts(board.counts, static_cast<std::size_t>(board.blocks));
    return join_rows(g.rows_of(slot), g.room.rows.subspan(place.begin, place.count), counts);
}

}  // namespace costframe::trees
