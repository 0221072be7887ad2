// Losses and their derivatives, in one pass over the rows.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <vector>

#include "four.h"
#include "packing.h"
#include "span.h"
#include "workers.h"

namespace costframe::trees {

enum Loss : i64 { squared = 0, logistic = 1, softmax = 2 };

constexpr double least_hessian = 1e-16;  // keeps quotients finite if a probability rounds to zero or one

// Return a number with the digits of single precision.
inline double to_single(double x) { return static_cast<double>(static_cast<float>(x)); }

inline Double4 to_single(Double4 x) { return __builtin_convertvector(__builtin_convertvector(x, Float4), Double4); }

// Return exp(x) for x <= 0, in the same steps on every machine; below exp(-708) it ends.
inline Double4 exp_below_zero(Double4 x) {
    constexpr double to_whole = 0x1.8p52;  // a sum with it has whole digits only, the lowest ones in its last bits
    const Double4 y = larger(x, Double4{} - 708.0), moved = y * 0x1.71547652b82fep0 + to_whole, whole = moved - to_whole;
    const Double4 rest = (y - whole * 0x1.62e42fee00000p-1) - whole * 0x1.a39ef35793c76p-33;  // below ln(2) / 2
    Double4 sum = Double4{} + 1.0 / 6227020800.0;  // of rest^n / n!, to n = 13
    const auto add = [&](auto... parts) { ((sum = sum * rest + 1.0 / parts), ...); };
    add(479001600.0, 39916800.0, 3628800.0, 362880.0, 40320.0, 5040.0, 720.0, 120.0, 24.0, 6.0, 2.0, 1.0, 1.0);
    return sum * std::bit_cast<Double4>((std::bit_cast<Bits4>(moved) << 52) + std::bit_cast<u64>(1.0));
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

// p - y and p (1 - p) of up to four rows, with p = 1/(1 + exp(-score)), for labels of zeros and ones.
inline void derive_logistic(Double4 y, Double4 scores, i64 count, double* gradient, double* hessian) {
    const Double4 sign = 2.0 * y - 1.0, small = exp_below_zero(scores < 0.0 ? scores : -scores), whole = 1.0 + small;
    const Double4 wrong = sign * scores > 0.0 ? small : Double4{} + 1.0;
    store_doubles(to_single(-sign * wrong / whole), gradient, count);
    store_doubles(to_single(larger(small / (whole * whole), Double4{} + least_hessian)), hessian, count);
}

// p_k - [y = k] and p_k (1 - p_k) of up to four rows, with p_k the share of exp(score k).
inline void derive_softmax(Double4 y, const double* scores, i64 count, i64 row, Matrix<double> gradients,
                           Matrix<double> hessians) {
    const i64 n_outputs = gradients.rows;
    Double4 top = load_doubles(scores, count, n_outputs), total{};
    for (i64 k = 1; k < n_outputs; ++k) top = larger(top, load_doubles(scores + k, count, n_outputs));
    for (i64 k = 0; k < n_outputs; ++k) {
        const Double4 share = exp_below_zero(load_doubles(scores + k, count, n_outputs) - top);
        store_doubles(share, &gradients(k, row), count);
        total += share;
    }
    for (i64 k = 0; k < n_outputs; ++k) {
        const Double4 p = load_doubles(&gradients(k, row), count) / total, one = Double4{} + 1.0;
        store_doubles(to_single(p - (y == static_cast<double>(k) ? one : Double4{})), &gradients(k, row), count);
        store_doubles(to_single(larger(p * (1.0 - p), Double4{} + least_hessian)), &hessians(k, row), count);
    }
}

// Write first and second derivatives of some rows' losses by each score, (K, n), without weights. They have the digits
// of single precision: so sums are exact, and a weight of two equals a row given twice. Squared losses take all rows.
inline void derive(const Fit& fit, i64 first, i64 last, Matrix<double> gradients, Matrix<double> hessians) {
    if (fit.kind == squared) return derive_squared(fit, gradients[0], hessians[0]);
    for (i64 row = first; row < last; row += 4) {
        const double* scores = &fit.scores(row, 0);
        const Double4 y = load_doubles(&fit.y[row], last - row);
        if (fit.kind == softmax) {
            derive_softmax(y, scores, last - row, row, gradients, hessians);
        } else {
            derive_logistic(y, load_doubles(scores, last - row), last - row, &gradients(0, row), &hessians(0, row));
        }
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

// Return the sum of numbers from 0 of fewer than 2^count_bits rows of all workers, the same in any order.
inline double sum_in_any_order(Vector<const double> values, i64 address, i64 count_bits) {
    double largest = 0.0;
    for (double each : values) largest = std::max(largest, each);
    largest = largest_over_workers(address, largest);
    if (largest == infinity) return largest;
    const double scale = whole_scale(largest, count_bits);
    i64 total[] = {0};
    for (double each : values) total[0] += round_to_whole(each * scale);
    sum_over_workers(address, Vector<i64>(total));
    return static_cast<double>(total[0]) / scale;
}

// Sum the losses of some rows of all workers, fewer than 2^count_bits, times their weights, in any order.
inline double sum_losses(const Fit& fit, Vector<const double> weight, Vector<const i32> rows, i64 count_bits) {
    std::vector<double> lost;
    for (i32 row : rows) lost.push_back(weight[row] * lose(fit.kind, fit.y[row], fit.scores[row]));
    return sum_in_any_order(lost, fit.address, count_bits);
}

}  // namespace costframe::trees
