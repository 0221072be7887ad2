// Losses and their derivatives, in one pass over the rows.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "packing.h"
#include "span.h"
#include "workers.h"

namespace costframe::trees {

enum Loss : i64 { squared = 0, logistic = 1, softmax = 2 };

constexpr double least_hessian = 1e-16;  // keeps quotients finite if a probability rounds to zero or one

// Return a number with the digits of single precision.
inline double to_single(double x) { return static_cast<double>(static_cast<float>(x)); }

// Write p - y and p (1 - p), with p = 1/(1 + exp(-score)), for targets of zeros and ones; `small` is exp(-|score|),
// which never overflows.
inline void derive_logistic(Vector<const i64> target, Vector<const double> scores, Vector<const double> small,
                            Vector<float> gradient, Vector<float> hessian) {
    for (std::size_t row = 0; row < target.size(); ++row) {
        const double sign = 2.0 * static_cast<double>(target[row]) - 1.0, whole = 1.0 + small[row];
        const double wrong = sign * scores[row] > 0 ? small[row] : 1.0;
        gradient[row] = static_cast<float>(-sign * wrong / whole);
        hessian[row] = static_cast<float>(std::max(small[row] / (whole * whole), least_hessian));
    }
}

// The rows of a boosting: labels (class codes) and scores, (n, K), and the address of other workers.
struct Fit {
    i64 kind;
    Vector<const double> y;
    Matrix<double> scores;
    i64 address;
};

// Labels may have any size: their unit follows from the rows of all workers.
inline void derive_squared(const Fit& fit, Vector<double> gradient, Vector<double> hessian) {
    double largest = 0.0;
    for (std::size_t row = 0; row < fit.y.size(); ++row) {
        largest = std::max(largest, std::fabs(fit.scores(row, 0) - fit.y[row]));
    }
    const double unit = std::ldexp(1.0, std::max(exponent_of(largest_over_workers(fit.address, largest)), -1000));
    for (std::size_t row = 0; row < fit.y.size(); ++row) {
        gradient[row] = to_single((fit.scores(row, 0) - fit.y[row]) / unit) * unit;
        hessian[row] = 1.0;
    }
}

inline void derive_softmax_of(Vector<const double> scores, double y, i64 row, Matrix<double> gradients,
                              Matrix<double> hessians) {
    const i64 n_outputs = scores.size();
    double top = scores[0], total = 0.0;
    for (double score : scores) top = std::max(top, score);
    for (i64 k = 0; k < n_outputs; ++k) {
        gradients(k, row) = std::exp(scores[k] - top);
        total += gradients(k, row);
    }
    for (i64 k = 0; k < n_outputs; ++k) {
        const double p = gradients(k, row) / total;
        gradients(k, row) = to_single(p - (y == static_cast<double>(k) ? 1.0 : 0.0));
        hessians(k, row) = to_single(std::max(p * (1.0 - p), least_hessian));
    }
}

// Write first and second derivatives of each row's loss by each score, (K, n), without weights. They have the digits
// of single precision: so sums are exact, and a weight of two equals a row given twice.
inline void derive(const Fit& fit, Matrix<double> gradients, Matrix<double> hessians) {
    if (fit.kind == squared) return derive_squared(fit, gradients[0], hessians[0]);
    for (std::size_t row = 0; row < fit.y.size(); ++row) {
        if (fit.kind == softmax) {
            derive_softmax_of(fit.scores[row], fit.y[row], row, gradients, hessians);
            continue;
        }
        const double p = 1.0 / (1.0 + std::exp(-fit.scores(row, 0)));
        gradients(0, row) = to_single(p - fit.y[row]);
        hessians(0, row) = to_single(std::max(p * (1.0 - p), least_hessian));
    }
}

// Return a power of two that makes whole numbers, nearly all digits kept, of fewer than 2^count_bits values, of which
// none is larger than `largest`; sums stay below 2^62.
inline double whole_scale(double largest, i64 count_bits) {
    if (!(largest > 0.0)) return 1.0;
    return std::ldexp(1.0, std::min(61 - static_cast<int>(count_bits) - exponent_of(largest), 1023));
}

// Return the loss of a row.
inline double lose(i64 kind, double y, Vector<const double> scores) {
    if (kind == squared) return 0.5 * ((scores[0] - y) * (scores[0] - y));
    if (kind == logistic) {
        const double margin = y == 1.0 ? scores[0] : -scores[0];
        return std::log1p(std::exp(-std::fabs(margin))) + std::max(-margin, 0.0);
    }
    double top = scores[0], powers = 0.0;
    for (double score : scores) top = std::max(top, score);
    for (double score : scores) powers += std::exp(score - top);
    return top + std::log(powers) - scores[static_cast<i64>(y)];
}

// Sum the losses of some rows of all workers, fewer than 2^count_bits, times their weights, in any order.
inline double sum_losses(const Fit& fit, Vector<const double> weight, Vector<const i32> rows, i64 count_bits) {
    std::vector<double> lost;
    double largest = 0.0;
    for (i32 row : rows) {
        lost.push_back(weight[row] * lose(fit.kind, fit.y[row], fit.scores[row]));
        largest = std::max(largest, lost.back());
    }
    largest = largest_over_workers(fit.address, largest);
    if (largest == infinity) return largest;
    const double scale = whole_scale(largest, count_bits);
    i64 total[] = {0};
    for (double each : lost) total[0] += round_to_whole(each * scale);
    sum_over_workers(fit.address, Vector<i64>(total));
    return static_cast<double>(total[0]) / scale;
}

}  // namespace costframe::trees
