// The number of a feature's cuts below values: a look-up in a table of equal steps leaves few cuts to the search.
#pragma once

#include "span.h"

namespace costframe {

// Ascending cuts of features: see `costframe/core/learners/node_layout.py`.
struct Cuts {
    Vector<const i64> first;
    Vector<const double> cut, low, scale;
    Vector<const i64> first_step;
    Vector<const i32> certain;
    Vector<const i64> window;
};

// Raise below[i] by the number of cuts from there on, at most `size`, that are below value[i]; none are for NaN.
inline void count_next(std::span<u32> below, std::span<const double> value, const double* cut, u32 size) {
    u32 window = size;
    for (; window > 1; window -= window / 2) {
        const u32 half = window / 2;
        for (std::size_t i = 0; i < value.size(); ++i) below[i] += half * (cut[below[i] + half - 1] < value[i]);
    }
    if (window == 1) {
        for (std::size_t i = 0; i < value.size(); ++i) below[i] += cut[below[i]] < value[i];
    }
}

// The step of a feature's table that holds a value, up to the last one; NaN is in the first.
inline i32 step_of(double value, double low, double scale, double last) {
    const double at = (value - low) * scale, step = at > 0.0 ? at : 0.0;
    return static_cast<i32>(step < last ? step : last);
}

// Set below[i] to the number of a feature's cuts below value[i], 0 for NaN.
inline void count_below(std::span<u32> below, std::span<const double> value, const Cuts& cuts, i64 feature) {
    const double low = cuts.low[feature], scale = cuts.scale[feature];
    const i32* certain = &cuts.certain[cuts.first_step[feature]];
    const double last = static_cast<double>(cuts.first_step[feature + 1] - cuts.first_step[feature] - 1);
    for (std::size_t i = 0; i < value.size(); ++i) below[i] = certain[step_of(value[i], low, scale, last)];
    count_next(below, value, cuts.cut.data() + cuts.first[feature], cuts.window[feature]);
}

}  // namespace costframe
