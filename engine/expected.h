// What is expected of rows that give up learners under limits: outputs of these learners, and the rows' final scores.
#pragma once

#include <algorithm>
#include <cmath>

#include "span.h"

namespace costframe {

// Outputs of learners that a row gives up, where trees have theirs at their nodes; and curves and ranges of its final
// scores, see `Fallbacks` in Python. All is empty if nothing is known.
struct Expected {
    Vector<const double> column;  // (L,)
    Vector<const double> opaque;
    Vector<const double> knots;   // (J,)
    Matrix<const double> curves;  // (3 stages J, K): offset, slope, carry
    Matrix<const double> ranges;  // (3 stages, K): mean, low, high

    bool is_known() const { return !knots.empty(); }

    // Set the final scores of a row that is cut at a stage: a + b p + c q of the partial scores p and the score q of the
    // route before, with a, b and c between two knots, moved towards the mean until all are in range. A route's partial
    // score is the first.
    void set_final(i64 stage, bool at_route, const double* partial, double route_score, double share,
                   double* final) const {
        const i64 k_end = ranges.columns, n_stages = ranges.rows / 3, n_knots = std::ssize(knots);
        const i64 left = std::upper_bound(knots.begin() + 1, knots.end() - 1, share) - knots.begin() - 1;
        const double weight = (share - knots[left]) / (knots[left + 1] - knots[left]);
        const auto curve = [&](i64 kind, i64 k) {
            const i64 first = (kind * n_stages + stage) * n_knots + left;
            return curves(first, k) * (1.0 - weight) + curves(first + 1, k) * weight;
        };
        const auto range = [&](i64 kind, i64 k) { return ranges(kind * n_stages + stage, k); };
        double factor = 1.0;
        for (i64 k = 0; k < k_end; ++k) {
            const double mean = range(0, k);
            const double found = curve(0, k) + curve(1, k) * partial[at_route ? 0 : k] + curve(2, k) * route_score;
            final[k] = (std::isfinite(found) ? found : mean) - mean;
            const double room = range(final[k] > 0 ? 2 : 1, k) - mean;
            if (std::fabs(final[k]) > std::fabs(room)) factor = std::min(factor, room / final[k]);
        }
        for (i64 k = 0; k < k_end; ++k) final[k] = range(0, k) + factor * final[k];
    }
};

// Set the final scores of rows that end in the only stage, an answer: those reached, or the expected ones of rows cut.
inline void set_final_scores(const Expected& expected, Matrix<const double> scores, const bool* cut, const double* share,
                             Matrix<double> final) {
    for (i64 i = 0; i < scores.rows; ++i) {
        if (cut[i]) {
            expected.set_final(0, false, scores[i].data(), 0.0, share[i], final[i].data());
        } else {
            std::ranges::copy(scores[i], final[i].begin());
        }
    }
}

}  // namespace costframe
