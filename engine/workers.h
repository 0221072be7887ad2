// Combination with the other workers of a training, by the C function whose address is Python's `Workers.address`.
#pragma once

#include <cmath>
#include <vector>

#include "span.h"

namespace costframe::trees {

enum Operation : i64 { add_words_up = 0, take_largest = 1, add_doubles_up = 2 };

// Combine values of eight bytes of all workers in place; nothing at address 0, for a worker alone.
inline void combine(i64 address, Operation operation, void* values, i64 count) {
    using Combiner = i64 (*)(i64, void*, i64);
    if (address != 0 && count > 0) reinterpret_cast<Combiner>(address)(operation, values, count);
}

inline void sum_over_workers(i64 address, Vector<i64> values) {
    combine(address, add_words_up, values.data(), static_cast<i64>(values.size()));
}

// Add up doubles on a grid.
inline void sum_over_workers(i64 address, Vector<double> values) {
    combine(address, add_doubles_up, values.data(), static_cast<i64>(values.size()));
}

// Add up whole numbers, and multiples of a unit, at once.
inline void sum_both_over_workers(i64 address, Vector<i64> values, Vector<double> multiples, double unit) {
    std::vector<i64> both(values.begin(), values.end());
    for (double multiple : multiples) both.push_back(static_cast<i64>(multiple / unit));
    sum_over_workers(address, Vector<i64>(both));
    std::size_t at = 0;
    for (i64& value : values) value = both[at++];
    for (double& multiple : multiples) multiple = static_cast<double>(both[at++]) * unit;
}

// Return the largest of all workers' values >= 0, or NaN if one has NaN.
inline double largest_over_workers(i64 address, double value) {
    double largest = address == 0 ? value : std::fabs(value);
    combine(address, take_largest, &largest, 1);
    return largest;
}

}  // namespace costframe::trees
