// Sums in a fixed order or without rounding: exact ones by digits, scores of rows by lanes, sums of products by pairs.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>

#include "span.h"

namespace costframe {

constexpr i64 digits_of_doubles = 68;  // of 32 bits each: doubles are whole numbers of 2^-1074, and take 66

// Add doubles, digit by digit without carrying, which is exact for 2^30 of them. `sums` has the digits, the lowest
// first, then the numbers of +inf, -inf and NaN.
inline void add_exactly(Vector<const double> values, Vector<i64> sums) {
    constexpr i64 low_half = 0xFFFFFFFF;
    for (double value : values) {
        const i64 word = std::bit_cast<i64>(value);
        i64 exponent = (word >> 52) & 0x7FF, digits = word & ((i64{1} << 52) - 1);
        if (exponent == 0x7FF) {
            sums[digits_of_doubles + (digits != 0 ? 2 : word < 0 ? 1 : 0)] += 1;
            continue;
        }
        if (exponent > 0) {
            digits |= i64{1} << 52;
            exponent -= 1;
        }
        const i64 place = exponent >> 5, shift = exponent & 31, sign = word < 0 ? -1 : 1;
        const i64 low = (digits & low_half) << shift, high = (digits >> 32) << shift;  // below 2^63
        sums[place] += sign * (low & low_half);
        sums[place + 1] += sign * ((low >> 32) + (high & low_half));
        sums[place + 2] += sign * (high >> 32);
    }
}

// Return a sum of `add_exactly`, rounded once, halves to even; infinite if no double is so large.
inline double round_digits(Vector<const i64> sums) {
    constexpr double infinity = std::numeric_limits<double>::infinity();
    const bool above = sums[digits_of_doubles], below = sums[digits_of_doubles + 1];
    if (sums[digits_of_doubles + 2] || (above && below)) return std::numeric_limits<double>::quiet_NaN();
    if (above || below) return above ? infinity : -infinity;
    constexpr i64 padding = 2;  // zeros below the lowest digit
    std::array<u64, digits_of_doubles + padding> digits{};
    i64 carry = 0;
    for (i64 place = 0; place < digits_of_doubles; ++place) {
        const i64 low = carry + (sums[place] & 0xFFFFFFFF);
        digits[place + padding] = low & 0xFFFFFFFF;
        carry = (sums[place] >> 32) + (low >> 32);
    }
    const bool negative = carry < 0;
    if (negative) {  // two's complement
        u64 more = 1;
        for (u64& digit : digits) {
            more += digit ^ 0xFFFFFFFF;
            digit = more & 0xFFFFFFFF;
            more >>= 32;
        }
    }
    i64 top = digits_of_doubles + padding - 1;
    while (top >= padding && digits[top] == 0) --top;
    if (top < padding) return 0.0;
    bool rest = false;  // whether there is more below the 64 leading bits
    for (i64 place = 0; place < top - 2; ++place) rest = rest || digits[place] != 0;
    const i64 zeros = std::countl_zero(digits[top]) - 32;  // of the highest digit, fewer than 32
    const u64 next = digits[top - 2] << zeros;
    const u64 leading = ((digits[top] << 32 | digits[top - 1]) << zeros) | next >> 32;
    rest = rest || (next & 0xFFFFFFFF) != 0;
    const i64 lowest = 32 * (top - padding - 1) - zeros - 1074;  // exponent of the leading bits' last one
    const i64 dropped = std::max<i64>(11, -1074 - lowest);       // 53 bits remain, or fewer of the smallest doubles
    const u64 kept = leading >> dropped, lost = leading & ((u64{1} << dropped) - 1), half = u64{1} << (dropped - 1);
    const bool up = lost > half || (lost == half && (rest || (kept & 1)));
    const double found = std::ldexp(static_cast<double>(kept + up), static_cast<int>(lowest + dropped));
    return negative ? -found : found;
}

// Set `found`, (n, M), to left @ weights.T, for (n, C) and (M, C); the sum of a row depends on no other row.
inline void score_rows(Matrix<const double> left, Matrix<const double> weights, Matrix<double> found) {
    constexpr i64 n_lanes = 8;
    const i64 whole = left.columns - left.columns % n_lanes;
    for (i64 i = 0; i < left.rows; ++i) {
        const auto row = left[i];
        for (i64 m = 0; m < weights.rows; ++m) {
            const auto weight = weights[m];
            double lanes[n_lanes] = {};
            for (i64 c = 0; c < whole; c += n_lanes) {
                for (i64 lane = 0; lane < n_lanes; ++lane) lanes[lane] += row[c + lane] * weight[c + lane];
            }
            for (i64 c = whole; c < left.columns; ++c) lanes[c - whole] += row[c] * weight[c];
            const double a = (lanes[0] + lanes[4]) + (lanes[1] + lanes[5]);
            found(i, m) = a + ((lanes[2] + lanes[6]) + (lanes[3] + lanes[7]));
        }
    }
}

// Add right.T @ left, for (n, M) and (n, C), to high + low, (M, C) each; `low` gets what `high` loses.
inline void add_products(Matrix<const double> left, Matrix<const double> right, Matrix<double> high,
                         Matrix<double> low) {
    for (i64 i = 0; i < left.rows; ++i) {
        const auto row = left[i];
        for (i64 m = 0; m < right.columns; ++m) {
            const double factor = right(i, m);
            if (factor == 0.0) continue;
            const auto above = high[m], below = low[m];
            for (i64 c = 0; c < left.columns; ++c) {
                const double product = row[c] * factor, before = above[c];
                const double after = before + product, share = after - before;
                below[c] += (before - (after - share)) + (product - share);
                above[c] = after;
            }
        }
    }
}

}  // namespace costframe
