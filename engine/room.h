// The grower's task, its memory and its prices, as `costframe/engine/growing.py` lays them out: fields in the same order.
// What the fields hold is written in `costframe/trees/room.py` and `prices.py`.
#pragma once

#include <algorithm>
#include <cmath>

#include "packing.h"
#include "span.h"
#include "visits.h"

namespace costframe::trees {

constexpr i64 line_words = 8;   // of a bin in the histograms of a group of columns, as many as in a line of a cache
constexpr i64 few_rows = 1024;  // with at most so many, a leaf's histograms are as quickly filled as read from memory

// Rows of an array as records.
template <typename Record>
struct Records {
    Record* data;
    i64 count, width;

    Record& operator[](i64 at) const { return data[at]; }
};

// A whole array as one record.
template <typename Record>
struct One {
    Record* data;
    i64 width;

    Record* operator->() const { return data; }
    Record& operator*() const { return *data; }
};

struct Limits {
    double l2, min_rows, min_hessian;
};

// Units of packed gradients and hessians, with finite squares of sums; the largest possible sum of gradients is one.
struct TreeUnits {
    Units packed;
    double exponent;  // no sum of gradients exceeds 2^exponent, which is near the largest possible sum

    double output() const { return scale_by(exponent); }      // from outputs in units to outputs
    double price() const { return scale_by(-2.0 * exponent); }  // from prices to gains: these are G^2/H

    static double scale_by(double power) { return std::ldexp(1.0, std::clamp(static_cast<int>(power), -1022, 1023)); }
};

struct Task {
    Matrix<const u8> bins, by_column;
    Matrix<i64> words;
    Vector<const i64> columns, n_bins;
    Vector<const bool> categorical;
    Vector<const i8> signs;
    i64 count_bits;
    One<TreeUnits> units;
    One<const Limits> limits;
    i64 max_depth, max_leaves, breadth;
    i64 cells_worth_threads, address;

    Packing packing() const { return {words.columns, count_bits, units->packed}; }
    i64 n_columns() const { return static_cast<i64>(columns.size()); }
    bool names(i64 feature) const { return !categorical.empty() && categorical[feature]; }
};

struct State {
    i64 leaves, cursor, small, large;  // slots of the smaller and of the larger leaf to search, or -1
};

struct Place {
    i64 node, depth, begin, count, feature, open;
    Sums sums;
};

struct Bounds {
    double low, high;
};

struct Numbers {
    Bounds bounds;
    double value, weight;
};

struct Node {
    i64 feature, bin, missing_left, left, right, slot;
    i64 left_bins[4];  // as bits
};

// The best split of a leaf on a feature; for categories a set of bins follows it.
struct Split {
    Sums left;
    i64 bin, missing_left;
};

struct Splits {
    i64* data;
    i64 columns, width;

    Split& operator[](i64 column) const { return *reinterpret_cast<Split*>(data + column * width); }
    i64* set(i64 column) const { return data + column * width + 4; }
};

// Sums of words by group of columns and bin; the last bin holds missing values.
struct Histogram {
    i64* data;
    i64 groups, bins, lanes, n_words;

    i64 size() const { return groups * bins * line_words; }
    Vector<i64> group(i64 at) const {
        return {data + at * bins * line_words, static_cast<std::size_t>(bins * line_words)};
    }
    Histogram part(i64 first, i64 last) const { return {group(first).data(), last - first, bins, lanes, n_words}; }
};

// Histograms of all leaves, or of parts of the rows.
struct Histograms {
    i64* data;
    i64 count, groups, bins, lanes, n_words;

    Histogram operator[](i64 at) const {
        return {data + at * groups * bins * line_words, groups, bins, lanes, n_words};
    }
};

// For jobs of several threads; they wait at the first three numbers, which lie in different lines of a cache.
struct Board {
    i64 ticket, beside_ticket[7], done, beside_done[7], stop, beside_stop[7];
    i64 job, slot, owed, accounts, blocks, filled, rows_per_thread, threads;
    i64 counts[32];
};
static_assert(sizeof(Board) == 64 * sizeof(i64));

struct Room {
    One<State> state;
    Matrix<double> gain;
    struct {
        i64* data;
        i64 leaves, columns, width;

        Splits operator[](i64 slot) const { return {data + slot * columns * width, columns, width}; }
    } best;
    Matrix<double> paid, money;
    Records<Place> place;
    Records<Numbers> numbers;
    Matrix<bool> tested;
    Records<Node> nodes;
    Vector<double> gained;
    Histograms histogram;
    Vector<i32> rows;
    Vector<double> price;
    Vector<bool> goes_left;
    One<Board> board;
    Histograms parts;
};

enum Payer : i64 { nobody = 0, model = 1, each_row = 2 };

struct Prices {
    i64 kind;
    double tradeoff, root, reuse;
    Vector<const double> row_weight, split;
    Vector<double> once;
    Vector<bool> once_paid;
    Vector<const i64> begin, items;
    Vector<const double> feature_price;
    Vector<bool> feature_paid;
    Vector<const double> resource_price;
    Vector<bool> resource_paid, used;
    Vector<double> totals;
    Matrix<u64> marks;
    Vector<const double> seen, uncharged;
    Vector<double> paid_by_all;
    Vector<const double> true_once;
    i64 n_items, all_known, address;
    double unit;
    Visits visits;

    Vector<const i64> items_of(i64 f) const { return items.subspan(begin[f], begin[f + 1] - begin[f]); }
};

// All that a growing tree is made of.
struct Growth {
    const Task& task;
    const Room& room;
    const Prices& prices;
    Vector<i32> rows;  // of the tree, so that each leaf's rows lie together

    Vector<i32> rows_of(i64 slot) const { return rows.subspan(room.place[slot].begin, room.place[slot].count); }
};

}  // namespace costframe::trees
