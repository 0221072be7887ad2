// Gradients and hessians as whole numbers: sums are exact, and do not depend on the order of rows.
//
// A word holds the gradient of a row above the bits of a count of one, so a sum of words adds gradients and counts at
// once. A second word holds the hessian, if not all are one.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "span.h"
#include "workers.h"

namespace costframe::trees {

constexpr i64 exact_bits = 53;  // integers below 2^53 become doubles unchanged
constexpr i64 word_bits = 62;   // for sums of packed gradients and counts
constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();
constexpr double infinity = std::numeric_limits<double>::infinity();

struct Units {
    double gradient, hessian;
};

struct Sums {
    i64 first, second;  // of first and second words
};

// How to read sums of words.
struct Packing {
    i64 n_words, count_bits;
    Units units;

    i64 rows(i64 word) const { return word & ((i64{1} << count_bits) - 1); }
    double gradient(i64 word) const { return static_cast<double>(word >> count_bits) * units.gradient; }
    double hessian(Sums sums) const {
        return n_words == 2 ? static_cast<double>(sums.second) * units.hessian : static_cast<double>(rows(sums.first));
    }
};

// Return e with |x| = m 2^e and 1/2 <= m < 1; 0 for zero, NaN and infinity.
inline int exponent_of(double x) {
    int exponent = 0;
    if (std::isfinite(x)) std::frexp(x, &exponent);
    return exponent;
}

// Return the nearest whole number, of ties the even one.
inline i64 round_to_whole(double x) { return std::llrint(x); }

// Return the largest size of a value; NaN if one is NaN.
inline double largest_of(Vector<const double> values) {
    i64 largest = 0;  // the bits of doubles >= 0 are in order, and NaN is above
    for (double value : values) largest = std::max(largest, std::bit_cast<i64>(std::fabs(value)));
    return std::bit_cast<double>(largest);
}

// Return the bits of a whole gradient, above those of counts.
inline int packed_bits(i64 count_bits) { return static_cast<int>(std::min(exact_bits, word_bits - count_bits)); }

// Return the largest power of two that keeps every sum of rounded values below 2^bits, within the range of doubles.
// It is 1 if all values are zero, NaN if their sum is not finite. Values are those of all workers.
inline double scale_for(Vector<const double> values, i64 bits, i64 address) {
    const double largest = largest_over_workers(address, largest_of(values));
    if (largest == 0.0) return 1.0;
    if (!std::isfinite(largest)) return not_a_number;
    const int up = std::min(31 - exponent_of(largest), 1023);
    const double unit = std::ldexp(1.0, up);
    i64 whole[] = {0, static_cast<i64>(values.size())};
    for (double value : values) whole[0] += static_cast<i64>(std::ceil(std::fabs(value) * unit));  // in any order
    sum_over_workers(address, Vector<i64>(whole));
    int exponent = 0;
    const double share = std::frexp(static_cast<double>(whole[0]), &exponent);
    exponent -= up;
    if (exponent > 1024) return not_a_number;
    // rounding moves each value by half a unit at most
    const double room = std::ldexp(1.0, static_cast<int>(bits)) - static_cast<double>(whole[1]) / 2.0;
    return std::ldexp(1.0, std::clamp(exponent_of(room / share) - 1 - exponent, -1022, 1023));
}

// Return a power of two that makes the values of all workers whole numbers, nearly all digits kept, whose sums stay
// below 2^62.
inline double leaf_scale(Vector<const double> values, i64 address) {
    const double largest = largest_over_workers(address, largest_of(values));
    if (largest == 0.0) return 1.0;
    i64 count[] = {static_cast<i64>(values.size())};
    sum_over_workers(address, Vector<i64>(count));
    const int highest = exponent_of(largest) + exponent_of(static_cast<double>(count[0]));
    return std::ldexp(1.0, std::min(61 - highest, 1023));
}

// Write one or two words per row; return what turns gradients and hessians into whole numbers, one over the units.
// `counts` is empty for ones.
inline Units pack(Vector<const double> gradients, Vector<const double> hessians, Vector<const i64> counts,
                  i64 count_bits, i64 address, Matrix<i64> words) {
    const double scale = scale_for(gradients, packed_bits(count_bits), address);
    const double hessian_scale = scale_for(hessians, exact_bits, address);
    for (i64 row = 0; row < words.rows; ++row) {
        const u64 gradient = static_cast<u64>(round_to_whole(gradients[row] * scale));
        const u64 count = counts.empty() ? 1 : static_cast<u64>(counts[row]);
        words(row, 0) = static_cast<i64>((gradient << count_bits) + count);
        if (words.columns == 2) words(row, 1) = round_to_whole(hessians[row] * hessian_scale);
    }
    return {scale, hessian_scale};
}

inline Sums sum_words(Matrix<const i64> words, Vector<const i32> rows) {
    Sums sums{0, 0};
    for (i32 row : rows) {
        sums.first += words(row, 0);
        if (words.columns == 2) sums.second += words(row, 1);
    }
    return sums;
}

}  // namespace costframe::trees
