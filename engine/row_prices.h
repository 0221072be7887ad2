// What rows pay for the features that they acquire, as bits in words of 64, and for the resources that these need.
#pragma once

#include <algorithm>
#include <bit>
#include <cstring>
#include <vector>

#include "needs.h"

namespace costframe {

// Prices of the U columns that a model reads, and of the resources that these need.
struct RowPrices {
    const i64* columns;
    i64 n;
    const double* cost;
    const Needs& needs;
    const double* resource_cost;
};

constexpr i64 rows_at_once = 255;  // whose words and totals the nearest cache holds, and whose counts fit a byte

// Return the eight lowest bits of a word as bytes, the lowest first.
inline u64 spread_bits(u64 word) {
    const u64 each = (word & 255) * 0x0101010101010101 & 0x8040201008040201;  // bit k in byte k
    return (each + 0x7F7F7F7F7F7F7F7F) >> 7 & 0x0101010101010101;
}

// Note which of eight features or fewer each row of a block has: bits of its word from `first` on. Count these rows.
inline void note_eight(Vector<const u64> word, i64 first, const i64* columns, i64 n_features, Matrix<bool> acquired,
                       i64* counts) {
    const bool side_by_side = n_features == 8 && columns[7] - columns[0] == 7;
    u64 sums = 0;
    for (i64 i = 0; i < std::ssize(word); ++i) {
        const u64 flags = spread_bits(word[i] >> first);
        sums += flags;
        bool* row = acquired.data + i * acquired.columns;
        if (side_by_side) {
            std::memcpy(row + columns[0], &flags, 8);
        } else {
            for (i64 u = 0; u < n_features; ++u) row[columns[u]] = flags >> (8 * u) & 1;
        }
    }
    for (i64 u = 0; u < n_features; ++u) counts[u] = sums >> (8 * u) & 255;
}

// Note and price the features of a block's rows that have a bit in one word each; no weights are ones. Each loop without
// branches works on several rows, or features, at once; none changes the order of a sum, and sums of ones are exact.
inline void price_word(Vector<const u64> word, const i64* columns, const double* cost, i64 n_features,
                       Vector<const double> weight, Matrix<bool> acquired, double* totals, double* features) {
    const i64 n_rows = word.size();
    for (i64 u = 0; u < n_features; ++u) {
        const u64 price = std::bit_cast<u64>(cost[u]);  // or zero, whose bits are zeros
        for (i64 i = 0; i < n_rows; ++i) totals[i] += std::bit_cast<double>((-(word[i] >> u & 1)) & price);
    }
    for (i64 begin = 0; begin < n_features; begin += 8) {
        i64 counts[8];
        const i64 first = std::max<i64>(std::min(begin, n_features - 8), 0), end = std::min<i64>(first + 8, n_features);
        note_eight(word, first, columns + first, end - first, acquired, counts);  // the last eight may overlap
        for (i64 u = begin; weight.empty() && u < end; ++u) features[u] += static_cast<double>(counts[u - first]);
    }
    for (std::size_t i = 0; i < weight.size(); ++i) {
        for (i64 u = 0; u < n_features; ++u) features[u] += (word[i] >> u & 1) != 0 ? weight[i] : 0.0;
    }
}

// Add the cost of each row's features, bits in `masks` for the columns, and of their resources to `per_row`. Note these
// in `acquired`, which is false before. Add the weights of the rows that bought each feature and resource to `features`
// and `resources`. Sums are in the order of the features, then in that of the resources.
inline void price_rows(Matrix<const u64> masks, const RowPrices& prices, const double* weight, Matrix<bool> acquired,
                       double* per_row, double* features, double* resources) {
    std::vector<u8> paid(prices.needs.resources());
    std::vector<i64> found(prices.needs.resources());
    const bool even = std::all_of(weight, weight + masks.rows, [](double each) { return each == 1.0; });
    u64 word[rows_at_once];
    double totals[rows_at_once];
    for (i64 start = 0; start < masks.rows; start += rows_at_once) {
        const i64 count = std::min(rows_at_once, masks.rows - start);
        std::fill(totals, totals + count, 0.0);
        for (i64 w = 0; w < masks.columns; ++w) {
            u64 any = 0;
            for (i64 i = 0; i < count; ++i) any |= word[i] = masks(start + i, w);
            if (any == 0) continue;
            price_word({word, static_cast<std::size_t>(count)}, prices.columns + 64 * w, prices.cost + 64 * w,
                       std::min<i64>(64, prices.n - 64 * w),
                       {weight + start, even ? 0 : static_cast<std::size_t>(count)},
                       {acquired.data + start * acquired.columns, count, acquired.columns}, totals, features + 64 * w);
        }
        for (i64 i = 0; !prices.needs.need.empty() && i < count; ++i) {
            i64 n_found = 0;
            for (i64 w = 0; w < masks.columns; ++w) {
                for (u64 rest = masks(start + i, w); rest != 0; rest &= rest - 1) {
                    n_found = prices.needs.change(64 * w + std::countr_zero(rest), paid.data(), 0, 1, found.data(), n_found);
                }
            }
            ascend(found.data(), n_found, paid.data(), 1);
            for (i64 at = 0; at < n_found; ++at) {
                totals[i] += prices.resource_cost[found[at]];
                resources[found[at]] += weight[start + i];
                paid[found[at]] = 0;
            }
        }
        for (i64 i = 0; i < count; ++i) per_row[start + i] += totals[i];
    }
}

// The price of a row's features and of their resources; `paid` (zeros) and `found` are room for these.
inline double price_row(Vector<const u64> mask, const RowPrices& prices, u8* paid, i64* found) {
    double total = 0.0;
    i64 count = 0;
    for (i64 u = 0; u < prices.n; ++u) {
        if ((mask[u >> 6] >> (u & 63) & 1) == 0) continue;
        total += prices.cost[u];
        count = prices.needs.change(u, paid, 0, 1, found, count);
    }
    ascend(found, count, paid, 1);
    for (i64 at = 0; at < count; ++at) {
        total += prices.resource_cost[found[at]];
        paid[found[at]] = 0;
    }
    return total;
}

}  // namespace costframe
