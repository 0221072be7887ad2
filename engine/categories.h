// Categorical features: the order of a leaf's categories for splits.
//
// A leaf sorts categories by G / (H + smoothing), the step of each category alone, and takes the best prefix of this
// order: for a convex loss without smoothing and limits it is the best of all sets.
#pragma once

#include <algorithm>
#include <array>

#include "room.h"

namespace costframe::trees {

constexpr double smoothing = 10.0;  // hessian added to each category in the order, as in scikit-learn and LightGBM

// List a column's bins that have rows by ascending G / (H + smoothing), and return their number.
template <typename SumsOf>
i64 sort_categories(SumsOf sums_of, i64 n_bins, const Packing& packing, i64* cells) {
    std::array<double, 256> keys;
    i64 count = 0;
    for (i64 cell = 0; cell < n_bins; ++cell) {
        const Sums sums = sums_of(cell);
        if (packing.rows(sums.first) == 0) continue;
        keys[cell] = packing.gradient(sums.first) / (packing.hessian(sums) + smoothing);
        cells[count++] = cell;
    }
    std::stable_sort(cells, cells + count, [&](i64 one, i64 other) { return keys[one] < keys[other]; });
    return count;
}

// Write the bins that go left, as bits: the first listed ones, or all but the others if missing values go left.
inline void list_categories(const i64* cells, i64 length, i64 n_cells, bool missing_left, i64* left_bins) {
    std::fill(left_bins, left_bins + 4, missing_left ? -1 : 0);
    const i64 first = missing_left ? length : 0, end = missing_left ? n_cells : length;
    for (i64 at = first; at < end; ++at) left_bins[cells[at] >> 6] ^= i64{1} << (cells[at] & 63);
}

}  // namespace costframe::trees
