// Forward selection: a pivoted Cholesky factorization in which rows pay for the outputs that it adds.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "span.h"

namespace costframe {

// Groups of outputs, their prices, and the rows, as bits, on which an output needs a group: see `SampledPrices`.
struct SampledPrices {
    Vector<const i64> first, output;  // the member matrix of the groups
    Vector<const double> price;
    Matrix<const u64> reads;  // of each entry of the member matrix
    Matrix<u64> paid;         // of each group
    Matrix<const double> mass;
};

// What is left of a least-squares problem: the diagonal, the least that is worth a step, the right side, the cost of
// each output now, and which outputs are selected or sums of others.
struct Remainder {
    std::vector<double> diagonal, least;
    Matrix<double> right;
    Vector<double> offers;
    std::vector<u8> closed;
};

struct Choice {
    i64 output = -1;
    double gain = 0.0, worth = 0.0;
};

// Find the best output, or none; close outputs that have become sums of others.
inline Choice choose(Remainder& rest) {
    Choice best, fair;
    double rate = 0.0;
    for (i64 c = 0; c < rest.right.rows; ++c) {
        if (rest.closed[c]) continue;
        if (rest.diagonal[c] <= rest.least[c]) {
            rest.closed[c] = true;
            continue;
        }
        double square = 0.0;
        for (double x : rest.right[c]) square += x * x;
        const double gain = 0.5 * square / rest.diagonal[c], worth = gain - rest.offers[c];
        if (worth > best.worth) best = {c, gain, worth};
        if (best.output < 0 && gain > 0.0 && (fair.output < 0 || gain / rest.offers[c] > rate)) {
            fair = {c, gain, worth};  // costs at least its gain
            rate = gain / rest.offers[c];
        }
    }
    return best.output >= 0 ? best : fair;
}

// A byte of a set of rows, with the rows that pay now.
struct FreshByte {
    i64 word, at;
    u64 rows;
};

// Pay for one group on the rows of one output; list the bytes with rows that pay now.
inline void pay(std::span<const u64> reads, std::span<u64> paid, std::vector<FreshByte>& bytes) {
    bytes.clear();
    for (i64 w = 0; w < std::ssize(reads); ++w) {
        const u64 fresh = reads[w] & ~paid[w];
        paid[w] |= fresh;
        for (i64 at = 0; at < 8 && fresh >> (8 * at) != 0; ++at) {
            const u64 rows = fresh >> (8 * at) & 255;
            if (rows != 0) bytes.push_back({w, at, rows});
        }
    }
}

// Pay for the entries of one output, and lower the offers of the other open outputs.
inline void buy(std::span<const i64> bought, const std::vector<i64>& group, const SampledPrices& prices,
                Remainder& rest) {
    std::vector<FreshByte> bytes;
    for (i64 item : bought) {
        const i64 g = group[item];
        if (prices.price[g] == 0.0) continue;
        pay(prices.reads[item], prices.paid[g], bytes);
        if (bytes.empty()) continue;
        for (i64 entry = prices.first[g]; entry < prices.first[g + 1]; ++entry) {
            const i64 c = prices.output[entry];
            if (rest.closed[c]) continue;
            const auto reads = prices.reads[entry];
            double saved = 0.0;
            for (const FreshByte& byte : bytes) {
                saved += prices.mass(8 * byte.word + byte.at, reads[byte.word] >> (8 * byte.at) & byte.rows);
            }
            rest.offers[c] = std::max(rest.offers[c] - prices.price[g] * saved, 0.0);
        }
    }
}

// Subtract the known rows' part of the factor from row `at` of the Gram matrix, four rows at a time.
inline void subtract_known(const std::vector<std::vector<double>>& factor, i64 at, std::span<double> row) {
    constexpr i64 tile = 1024;  // outputs per pass over the rows of the factor, few enough for the nearest cache
    const i64 width = std::ssize(row), known = std::ssize(factor), fours = known - known % 4;
    for (i64 begin = 0; begin < width; begin += tile) {
        const i64 end = std::min(begin + tile, width);
        for (i64 j = 0; j < fours; j += 4) {
            const double *fa = factor[j].data(), *fb = factor[j + 1].data();
            const double *fc = factor[j + 2].data(), *fd = factor[j + 3].data();
            const double a = fa[at], b = fb[at], c = fc[at], d = fd[at];
            for (i64 i = begin; i < end; ++i) row[i] -= (a * fa[i] + b * fb[i]) + (c * fc[i] + d * fd[i]);
        }
        for (i64 j = fours; j < known; ++j) {
            const double *fa = factor[j].data(), a = fa[at];
            for (i64 i = begin; i < end; ++i) row[i] -= a * fa[i];
        }
    }
}

// Turn a row of the remaining Gram matrix into a row of the factor; update the remaining diagonal and right side.
// Nothing reads its entries for outputs selected before, so it adds no ridge at `at`.
inline void eliminate(std::span<double> row, i64 at, Remainder& rest) {
    const double root = std::sqrt(rest.diagonal[at]);
    std::vector<double> step(rest.right[at].begin(), rest.right[at].end());
    for (double& x : step) x /= root;
    for (i64 c = 0; c < std::ssize(row); ++c) {
        row[c] /= root;
        rest.diagonal[c] -= row[c] * row[c];
        for (i64 m = 0; m < rest.right.columns; ++m) rest.right(c, m) -= row[c] * step[m];
    }
}

// The entries of a member matrix, sorted by their outputs: those of output c are entries[first[c]:first[c + 1]].
struct EntriesByOutput {
    std::vector<i64> first, entries;

    EntriesByOutput(Vector<const i64> output, i64 n_outputs) : first(n_outputs + 1), entries(output.size()) {
        for (i64 c : output) ++first[c + 1];
        for (i64 c = 0; c < n_outputs; ++c) first[c + 1] += first[c];
        auto place = first;
        for (i64 entry = 0; entry < std::ssize(output); ++entry) entries[place[output[entry]]++] = entry;
    }

    std::span<const i64> of(i64 c) const { return std::span(entries).subspan(first[c], first[c + 1] - first[c]); }
};

inline Remainder begin_remainder(Matrix<const double> gram, double ridge, Matrix<double> right,
                                 Vector<double> offers) {
    constexpr double least = 1e-9;      // of an output's variance: an output with less left is a sum of others
    constexpr double tiny = 0x1p-1022;  // the least normal number
    std::vector<double> diagonal(gram.rows), bounds(gram.rows);
    for (i64 c = 0; c < gram.rows; ++c) {
        diagonal[c] = gram(c, c) + ridge;
        bounds[c] = std::max(least * diagonal[c], tiny);
    }
    return {diagonal, bounds, right, offers, std::vector<u8>(gram.rows)};
}

// Set the best of a series of growing supports, and overwrite `right`, `prices.paid` and `offers`: see
// `costframe.stagewise.fitting.forward_select`. `offers` is the cost of each output at the beginning.
inline void select_forward(Matrix<const double> gram, Matrix<double> right, double ridge, const SampledPrices& prices,
                           Vector<double> offers, i64 patience, Vector<bool> support) {
    const EntriesByOutput bought(prices.output, gram.rows);
    std::vector<i64> group(prices.output.size()), order;
    for (i64 g = 0; g < std::ssize(prices.price); ++g) {
        std::fill(group.begin() + prices.first[g], group.begin() + prices.first[g + 1], g);
    }
    Remainder rest = begin_remainder(gram, ridge, right, offers);
    std::vector<std::vector<double>> factor;
    double value = 0.0, best = 0.0;
    i64 kept = 0;
    while (std::ssize(order) - kept < patience && std::ssize(order) < gram.rows) {
        const Choice choice = choose(rest);
        if (choice.gain <= 0.0) break;
        const i64 at = choice.output;
        std::vector<double> row(gram[at].begin(), gram[at].end());
        subtract_known(factor, at, row);
        eliminate(row, at, rest);
        factor.push_back(std::move(row));
        rest.closed[at] = true;
        buy(bought.of(at), group, prices, rest);
        order.push_back(at);
        value += choice.worth;
        if (value > best) {
            best = value;
            kept = std::ssize(order);
        }
    }
    for (i64 k = 0; k < kept; ++k) support[order[k]] = true;
}

}  // namespace costframe
