// Scores of thresholds from sums of gradients and hessians, and the best of them: G_l^2/(H_l+l2) + G_r^2/(H_r+l2).
//
// With bounds, an order of outputs or categories, it scores one pair of children at a time: `find_best_bounded` is the
// general case. Otherwise it computes the scores of all thresholds of a group of columns without a branch, so that the
// compiler does several at once.
#pragma once

#include <algorithm>
#include <bit>

#include "four.h"
#include "room.h"

namespace costframe::trees {

// A leaf whose splits are scored.
struct Leaf {
    Packing packing;
    Limits limits;
    Sums total;
    Bounds bounds;  // of outputs, in units of gradients over hessians

    i64 rows() const { return packing.rows(total.first); }
    double gradient() const { return packing.gradient(total.first); }
    double hessian() const { return packing.hessian(total); }
};

// The best split of a column: score, bin, and whether missing values go right (0) or left (1); bin -1 without any.
struct Found {
    double score;
    i64 bin, way;
};

// Return the best output of rows with these sums of words, between the bounds.
inline double child_value(const Packing& packing, Sums sums, double l2, Bounds bounds) {
    const double weight = packing.hessian(sums) + l2;
    const double value = weight > 0 ? -packing.gradient(sums.first) / weight : 0.0;
    return std::min(std::max(value, bounds.low), bounds.high);
}

// Return twice the decrease of the loss by the best output between the bounds: G^2/weight if it is inside.
inline double score_leaf(double gradient, double weight, Bounds bounds) {
    const double low = bounds.low * weight, high = bounds.high * weight;
    if (low <= -gradient && -gradient <= high) return gradient * gradient / weight;
    const double value = -gradient < low ? bounds.low : bounds.high;
    return -(2.0 * gradient * value + weight * value * value);
}

// Add the missing bin of a group to its running sums.
inline void add_missing(const i64* running, i64 n_cells, const i64* missing, i64* more) {
    for (i64 cell = 0; cell < n_cells; ++cell) {
        for (i64 k = 0; k < line_words; ++k) more[cell * line_words + k] = running[cell * line_words + k] + missing[k];
    }
}

// Return about the first bin with at least so many rows to the left in any column of a group, or in all of them.
// It is at most a few bins lower, or higher for all of them.
inline i64 first_cell(const i64* running, i64 n_cells, const Packing& packing, i64 least, bool all) {
    constexpr i64 near = 8;  // bins: looking for their ends more closely takes longer than scoring them
    i64 low = 0, high = n_cells;
    while (high - low > near) {
        const i64 middle = (low + high) / 2;
        i64 fewest = packing.rows(running[line_words * middle]), most = fewest;
        for (i64 k = packing.n_words; k < line_words; k += packing.n_words) {
            const i64 count = packing.rows(running[line_words * middle + k]);
            fewest = std::min(fewest, count);
            most = std::max(most, count);
        }
        if ((all ? fewest : most) >= least) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    return all ? high : low;
}

// Bins from `begin` to `end`.
struct Range {
    i64 begin, end;
};

// Return a range of bins that has all those that keep the limit of rows in any column.
inline Range find_ends(const i64* running, i64 n_cells, const Leaf& leaf) {
    const i64 min_rows = static_cast<i64>(leaf.limits.min_rows);
    return {first_cell(running, n_cells, leaf.packing, min_rows, false),
            first_cell(running, n_cells, leaf.packing, leaf.rows() - min_rows + 1, true)};
}

// The left sides of four thresholds.
struct FourSides {
    Whole4 rows;
    Double4 gradient, hessian;
};

// Read running sums from a place on; a range of a group's bins has a multiple of four of them.
template <i64 n_words>
FourSides read_sides(const i64* running, i64 at, const Packing& packing) {
    const i64* from = running + n_words * at;
    const Whole4 first = load_four(from), rest = load_four(from + 4 * (n_words - 1));
    const Whole4 words = n_words == 2 ? __builtin_shufflevector(first, rest, 0, 2, 4, 6) : first;
    const Whole4 rows = words & ((i64{1} << packing.count_bits) - 1);
    const Double4 gradient = to_doubles(shift_down(words, packing.count_bits)) * packing.units.gradient;
    if constexpr (n_words == 1) return {rows, gradient, to_doubles(rows)};
    return {rows, gradient, to_doubles(__builtin_shufflevector(first, rest, 1, 3, 5, 7)) * packing.units.hessian};
}

// Return whether a group's scores in a range may reach a score; false is certain. It does without divisions, which
// take longest: G_l^2/a + G_r^2/b is less than s if G_l^2 b + G_r^2 a < s a b.
template <i64 n_words>
bool may_exceed(const i64* running, Range range, const Leaf& leaf, double score) {
    constexpr i64 lanes = line_words / n_words;
    constexpr double margin = 1e-12;  // far above the rounding of a score, far below a difference that matters
    constexpr double tiny = 1e-280;   // far above the rounding of subnormal numbers
    constexpr double large = 1e300;   // a larger product may have overflown
    const i64 min_rows = static_cast<i64>(leaf.limits.min_rows), most_rows = leaf.rows() - min_rows;
    const double g_all = leaf.gradient(), h_all = leaf.hessian(), l2 = leaf.limits.l2, least = score * (1.0 - margin);
    Whole4 many{};
    for (i64 at = lanes * range.begin; at < lanes * range.end; at += 4) {
        const auto [rows, g, h] = read_sides<n_words>(running, at, leaf.packing);
        const Double4 g_right = g_all - g, a = h + l2, b = (h_all - h) + l2, wanted = least * (a * b);
        const Whole4 less = (g * g * b + g_right * g_right * a + tiny < wanted) & (wanted <= large);
        many |= (rows >= min_rows) & (rows <= most_rows) & ~less;
    }
    return (many[0] | many[1] | many[2] | many[3]) != 0;
}

// Write the scores of a group's bins in a range, by bin and column, or -1 if it breaks the limits; as whole numbers of
// the same bits, which have the same order and are quicker to compare.
template <i64 n_words>
void score_bins(const i64* running, Range range, const Leaf& leaf, i64* scores) {
    constexpr i64 lanes = line_words / n_words;
    const i64 min_rows = static_cast<i64>(leaf.limits.min_rows), most_rows = leaf.rows() - min_rows;
    const double g_all = leaf.gradient(), h_all = leaf.hessian(), l2 = leaf.limits.l2;
    const double min_hessian = leaf.limits.min_hessian;
    const Double4 one = Double4{} + 1.0;
    for (i64 at = lanes * range.begin; at < lanes * range.end; at += 4) {
        const auto [rows, g, h] = read_sides<n_words>(running, at, leaf.packing);
        const Double4 g_right = g_all - g, h_right = h_all - h, a = h + l2, b = h_right + l2;
        const Whole4 enough = (rows >= min_rows) & (rows <= most_rows) & (h >= min_hessian) & (h_right >= min_hessian) &
                              (a > 0.0) & (b > 0.0);
        const Double4 score = g * g / (enough ? a : one) + g_right * g_right / (enough ? b : one);
        store_four(std::bit_cast<Whole4>(enough ? score : -one), scores + at);
    }
}

// Replace the scores of a group's bins by the largest one up to each bin, column by column.
inline void raise_scores(i64* scores, Range range, i64 lanes) {
    for (i64 cell = range.begin + 1; cell < range.end; ++cell) {
        i64* here = scores + lanes * cell;
        for (i64 k = 0; k < lanes; ++k) here[k] = std::max(here[k], here[k - lanes]);
    }
}

// Return the first bin of a column's largest score, from those of `raise_scores`.
inline i64 find_best(const i64* scores, Range range, i64 lanes, i64 lane) {
    const i64 highest = scores[lanes * (range.end - 1) + lane];
    i64 low = range.begin, high = range.end - 1;
    while (low < high) {
        const i64 middle = (low + high) / 2;
        if (scores[lanes * middle + lane] == highest) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    return low;
}

// Return the score of one pair of children between the bounds, in the order of the sign; -inf if it breaks a limit.
inline double score_pair(const Leaf& leaf, Sums left, i64 sign) {
    const Limits limits = leaf.limits;
    const i64 n_left = leaf.packing.rows(left.first), n_right = leaf.rows() - n_left;
    const double g_left = leaf.packing.gradient(left.first);
    const double g_right = leaf.packing.gradient(leaf.total.first - left.first);
    const double h_left = leaf.packing.hessian(left), h_right = leaf.hessian() - h_left;
    const double a = h_left + limits.l2, b = h_right + limits.l2;
    if (static_cast<double>(std::min(n_left, n_right)) < limits.min_rows) return -infinity;
    if (std::min(h_left, h_right) < limits.min_hessian || !(std::min(a, b) > 0)) return -infinity;
    if (sign != 0) {
        const double below = std::min(std::max(-g_left / a, leaf.bounds.low), leaf.bounds.high);
        const double above = std::min(std::max(-g_right / b, leaf.bounds.low), leaf.bounds.high);
        if (static_cast<double>(sign) * (above - below) < 0) return -infinity;
    }
    return score_leaf(g_left, a, leaf.bounds) + score_leaf(g_right, b, leaf.bounds);
}

// Do the work of `score_bins` and `find_best` for running sums, (n_cells,), of one column's cells. The last cell
// separates missing values from all others, without an order.
inline Found find_best_bounded(const Sums* running, i64 n_cells, Sums missing, i64 ways, const Leaf& leaf, i64 sign,
                               double least) {
    Found best{least, -1, 0};
    for (i64 cell = 0; cell < n_cells; ++cell) {
        for (i64 way = 0; way < ways; ++way) {
            const Sums left{running[cell].first + way * missing.first, running[cell].second + way * missing.second};
            const double score = score_pair(leaf, left, cell < n_cells - 1 ? sign : 0);
            if (score > best.score) best = {score, cell, way};
        }
    }
    return best;
}

}  // namespace costframe::trees
