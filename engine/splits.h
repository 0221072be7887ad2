// The best split of every column of a leaf, before prices.
//
// It computes running sums, then the scores of all thresholds, then the best of them, for the columns of a group at
// once. A bin without rows splits a leaf like the bin before it, and the lower of equals wins. It sorts categories
// first, and then splits them like numbers.
#pragma once

#include <array>
#include <memory>

#include "categories.h"
#include "histogram.h"
#include "split_scores.h"

namespace costframe::trees {

// Columns of a histogram, ascending, their bins without the missing bin, and what is asked of all features: whether
// bins are categories, and 1 if outputs must not fall from left to right, -1 if they must not rise; empty if of none.
struct Columns {
    Vector<const i64> numbers, n_bins;
    Vector<const bool> categorical;
    Vector<const i8> signs;

    bool names(i64 column) const { return !categorical.empty() && categorical[column]; }
};

// The least price that each column may have later, and its present price, in the unit of gains. With these, a gain may
// be -inf if another column is worth more at any price to come. `worth` is the largest at present prices so far.
struct PriceRange {
    Vector<const double> least, present;
    double worth = 0.0;

    PriceRange part(i64 first, i64 size) const {
        if (least.empty()) return {};
        return {least.subspan(first, size), present.subspan(first, size), worth};
    }
};

// What a search writes for a group, and for a column.
struct SearchRoom {
    std::array<i64, line_words * 256> running[2];  // sums up to each bin, by way of missing values: right, left
    std::array<i64, line_words * 256> scores[2];  // bits of doubles
    Range ends[2];
    std::array<i64, 256> cells;
    std::array<Sums, 256> listed;
};

// Write the sums of a group's words up to each of its first bins.
inline void add_up(const i64* cells, i64 n_cells, i64* running) {
    std::array<i64, line_words> total{};
    for (i64 cell = 0; cell < n_cells; ++cell) {
        for (i64 k = 0; k < line_words; ++k) {
            total[k] += cells[line_words * cell + k];
            running[line_words * cell + k] = total[k];
        }
    }
}

inline Sums sums_at(const i64* words, i64 n_words) { return {words[0], n_words == 2 ? words[1] : 0}; }

// List a column's bins, sorted if they are categories, with their running sums; return how many there are.
inline i64 list_cells(Histogram group, i64 lane, i64 n_bins, bool named, const Packing& packing, SearchRoom& room) {
    const auto sums_of = [&](i64 cell) {
        return sums_at(group.data + line_words * cell + group.n_words * lane, group.n_words);
    };
    i64 n_cells = n_bins;
    if (named) {
        n_cells = sort_categories(sums_of, n_bins, packing, room.cells.data());
    } else {
        for (i64 at = 0; at < n_bins; ++at) room.cells[at] = at;
    }
    Sums total{0, 0};
    for (i64 at = 0; at < n_cells; ++at) {
        const Sums sums = sums_of(room.cells[at]);
        room.listed[at] = total = {total.first + sums.first, total.second + sums.second};
    }
    return n_cells;
}

// Return the score that a split in a group needs to be worth as much as another one, or 0 without prices.
inline double least_score(const PriceRange& prices, i64 first, i64 lanes, double parent) {
    if (prices.least.empty()) return 0.0;
    const i64 end = std::min<i64>(first + lanes, prices.least.size());
    double lowest = prices.least[first];
    for (i64 k = first + 1; k < end; ++k) lowest = std::min(lowest, prices.least[k]);
    return parent + 2.0 * (prices.worth + lowest);
}

// Write the running sums of a group, its scores as `raise_scores` does, and their range, by way. If no score can reach
// the least one, return false instead.
template <i64 n_words>
bool score_group(Histogram group, i64 n_cells, const Leaf& leaf, double least, SearchRoom& room) {
    const i64* missing = group.data + line_words * (group.bins - 1);
    const i64 ways = std::any_of(missing, missing + line_words, [](i64 word) { return word != 0; }) ? 2 : 1;
    bool needed = least <= 0;
    add_up(group.data, n_cells, room.running[0].data());
    for (i64 way = 0; way < ways; ++way) {
        i64* running = room.running[way].data();
        if (way == 1) add_missing(room.running[0].data(), n_cells, missing, running);
        room.ends[way] = find_ends(running, n_cells, leaf);
        needed = needed || may_exceed<n_words>(running, room.ends[way], leaf, least);
    }
    for (i64 way = 0; way < (needed ? ways : 0); ++way) {
        score_bins<n_words>(room.running[way].data(), room.ends[way], leaf, room.scores[way].data());
        raise_scores(room.scores[way].data(), room.ends[way], line_words / n_words);
    }
    return needed;
}

// Return a column's first largest score above `least` by bin, then by way.
inline Found best_of_lane(const SearchRoom& room, i64 lanes, i64 lane, i64 ways, double least) {
    Found best{least, -1, 0};
    for (i64 way = 0; way < ways; ++way) {
        const Range range = room.ends[way];
        if (range.begin >= range.end) continue;
        const double score = std::bit_cast<double>(room.scores[way][lanes * (range.end - 1) + lane]);
        if (!(score >= best.score)) continue;
        const i64 bin = find_best(room.scores[way].data(), range, lanes, lane);
        if (score > best.score || bin < best.bin) best = {score, bin, way};
    }
    return best;
}

// Write what a split separates: the sums on the left, the bin, and the way of missing values; without any in the leaf,
// they go with the child of the larger hessian, on a tie left.
inline void write_split(const Leaf& leaf, Sums left, Sums missing, i64 ways, const Found& found, Split& split) {
    split.left = {left.first + found.way * missing.first, left.second + found.way * missing.second};
    split.bin = found.bin;
    const double h_left = leaf.packing.hessian(split.left);
    split.missing_left = ways == 2 ? found.way == 1 : h_left >= leaf.hessian() - h_left;
}

// Find the best split of one leaf on the column at a place, whose group is scored, unless its cells are to be listed;
// write its gain and what it separates, if it has worth.
template <i64 n_words>
void find_split(Histogram group, const Columns& columns, i64 place, const Leaf& leaf, double parent, SearchRoom& room,
                PriceRange& prices, Vector<double> gain, Splits best) {
    constexpr double rounding = 1e-12;  // a gain below this share of the parent's score is rounding
    constexpr i64 lanes = line_words / n_words;
    const i64 column = columns.numbers[place], lane = place % lanes;
    const bool bounded = !columns.signs.empty(), named = columns.names(column), listing = named || bounded;
    const Sums missing = sums_at(group.data + line_words * (group.bins - 1) + n_words * lane, n_words);
    const i64 ways = missing.first != 0 ? 2 : 1;  // sums of words are not zero, as they count rows
    const i64 n_cells = listing ? list_cells(group, lane, columns.n_bins[place], named, leaf.packing, room) : 0;
    const i64 sign = bounded ? columns.signs[column] : 0;
    const Found found = listing ? find_best_bounded(room.listed.data(), n_cells, missing, ways, leaf, sign, parent)
                                : best_of_lane(room, lanes, lane, ways, parent);
    const double better = 0.5 * (found.score - parent);
    if (found.bin < 0 || !(better > rounding * std::fabs(parent))) return;
    gain[column] = better;
    if (!prices.present.empty()) prices.worth = std::max(prices.worth, better - prices.present[place]);
    const i64* running = room.running[0].data() + line_words * found.bin + n_words * lane;
    Split& split = best[column];
    write_split(leaf, listing ? room.listed[found.bin] : sums_at(running, n_words), missing, ways, found, split);
    if (!named) return;
    split.bin = room.cells[found.bin];
    list_categories(room.cells.data(), found.bin + 1, n_cells, split.missing_left, best.set(column));
}

// Find the best split of one leaf on each of some columns.
//
// The gain is 1/2 [G_l^2/(H_l+l2) + G_r^2/(H_r+l2) - G_p^2/(H_p+l2)], or that of the outputs clipped to their bounds;
// it is -inf if no split is possible or has worth. Ties go to the lowest bin (of categories to the shortest prefix),
// then to missing right. Categories without rows in the leaf go the way of missing values. Gains and splits are written
// at the columns' numbers.
template <i64 n_words>
void find_splits_of(Histogram histogram, const Columns& columns, const Leaf& leaf, PriceRange& prices,
                    Vector<double> gain, Splits best) {
    constexpr i64 lanes = line_words / n_words;
    const auto room = std::make_unique_for_overwrite<SearchRoom>();
    const bool bounded = !columns.signs.empty();
    const double weight = leaf.hessian() + leaf.limits.l2;  // without any, no child meets the limits either
    const double parent = weight > 0 ? score_leaf(leaf.gradient(), weight, leaf.bounds) : 0.0;
    bool scored = false;
    for (i64 place = 0; place < static_cast<i64>(columns.numbers.size()); ++place) {
        const i64 at = place / lanes, column = columns.numbers[place];
        const Histogram group = histogram.part(at, at + 1);
        if (place % lanes == 0 && !bounded) {
            const double least = least_score(prices, place, lanes, parent);
            scored = score_group<n_words>(group, used_bins(columns.n_bins, at, lanes), leaf, least, *room);
        }
        gain[column] = -infinity;
        if (scored || bounded || columns.names(column)) {
            find_split<n_words>(group, columns, place, leaf, parent, *room, prices, gain, best);
        }
    }
}

inline void find_splits(Histogram histogram, const Columns& columns, const Leaf& leaf, PriceRange& prices,
                        Vector<double> gain, Splits best) {
    if (histogram.n_words == 2) {
        find_splits_of<2>(histogram, columns, leaf, prices, gain, best);
    } else {
        find_splits_of<1>(histogram, columns, leaf, prices, gain, best);
    }
}

}  // namespace costframe::trees
