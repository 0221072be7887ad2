// Where rows go next while plans are made: their gains are known at all stops. See `Routes` of the planner.
#pragma once

#include "span.h"

namespace costframe {

// Write for each of some rows the first later stop of the least gain and price below 0, counted from 0; -1 for none.
// `gains` are of all rows, and `place` tells the row of prices of each.
inline void choose_next(Matrix<const double> gains, Vector<const i64> rows, Vector<const i64> place,
                        Matrix<const double> price, Vector<i64> chosen) {
    for (std::size_t i = 0; i < rows.size(); ++i) {
        const auto gain = gains[rows[i]], added = price[place[i]];
        double least = 0.0;
        chosen[i] = -1;
        for (i64 j = 0; j < gains.columns; ++j) {
            const double total = gain[j] + added[j];
            if (total < least) least = total, chosen[i] = j;
        }
    }
}

}  // namespace costframe
