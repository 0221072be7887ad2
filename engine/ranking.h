// Derivatives and means of ranking losses, query by query; rows are sorted by query, and those of query q begin at
// starts[q].
#pragma once

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "span.h"

namespace costframe {

// Derive, by each score, the mean of log(1 + exp(low - high)) over the pairs of each query, per unit of count. The
// weight of a pair is the product of its rows' counts; derivatives are zero in queries without two different grades.
inline void pair_gradients(Vector<const double> scores, Vector<const double> grades, Vector<const double> counts,
                           Vector<const i64> starts, Vector<double> gradient, Vector<double> hessian) {
    std::ranges::fill(gradient, 0.0);
    std::ranges::fill(hessian, 0.0);
    for (i64 q = 0; q + 1 < std::ssize(starts); ++q) {
        double pairs = 0.0;
        for (i64 a = starts[q]; a < starts[q + 1]; ++a) {
            for (i64 b = starts[q]; b < a; ++b) {
                if (grades[a] == grades[b]) continue;
                const auto [high, low] = grades[a] > grades[b] ? std::pair(a, b) : std::pair(b, a);
                const double margin = scores[high] - scores[low];
                const double small = std::exp(-std::abs(margin));  // never overflows
                const double share = (margin > 0 ? small : 1.0) / (1.0 + small);
                const double curve = small / ((1.0 + small) * (1.0 + small));
                gradient[high] -= counts[low] * share;
                gradient[low] += counts[high] * share;
                hessian[high] += counts[low] * curve;
                hessian[low] += counts[high] * curve;
                pairs += counts[high] * counts[low];
            }
        }
        if (pairs > 0) {
            for (i64 a = starts[q]; a < starts[q + 1]; ++a) {
                gradient[a] /= pairs;
                hessian[a] /= pairs;
            }
        }
    }
}

// Write the mean of log(1 + exp(low - high)) over the pairs of each query; arguments as for `pair_gradients`.
inline void pair_losses(Vector<const double> scores, Vector<const double> grades, Vector<const double> counts,
                        Vector<const i64> starts, Vector<double> losses) {
    for (i64 q = 0; q < std::ssize(losses); ++q) {
        double total = 0.0, pairs = 0.0;
        for (i64 a = starts[q]; a < starts[q + 1]; ++a) {
            for (i64 b = starts[q]; b < a; ++b) {
                if (grades[a] == grades[b]) continue;
                const double margin = grades[a] > grades[b] ? scores[a] - scores[b] : scores[b] - scores[a];
                const double both = counts[a] * counts[b];
                total += both * (std::log1p(std::exp(-std::abs(margin))) + std::max(-margin, 0.0));
                pairs += both;
            }
        }
        losses[q] = pairs > 0 ? total / pairs : 0.0;
    }
}

// The rows of a query from the highest score to the lowest; equal ones stay in their order.
inline void rank(std::span<const double> scores, std::vector<i64>& order) {
    order.resize(scores.size());
    std::iota(order.begin(), order.end(), 0);
    std::ranges::stable_sort(order, [&](i64 a, i64 b) { return scores[a] > scores[b]; });
}

// Tied rows of a query.
struct Tie {
    i64 last;      // place after them
    double end;    // position after them
    double mean;   // discount of their positions
    double apart;  // mean distance of the discounts of two of their positions
};

// Describe the tied rows from place `first` and position `begin` on; `spans` are the positions of each row.
inline Tie find_tie(std::span<const double> scores, std::span<const double> spans, const std::vector<i64>& order,
                    i64 first, double begin, Vector<const double> discounts) {
    i64 last = first;
    double width = 0.0;
    do {
        width += spans[order[last]];
        ++last;
    } while (last < std::ssize(order) && scores[order[last]] == scores[order[first]]);
    const double deepest = static_cast<double>(discounts.size());
    const i64 near = std::min(begin, deepest), far = std::min(begin + width, deepest);
    double total = 0.0, apart = 0.0;
    for (i64 at = near; at < far; ++at) {
        total += discounts[at];
        apart += discounts[at] * (width - 1.0 - 2.0 * (at - begin));  // minus near discounts, plus far ones
    }
    return {last, begin + width, total / width, width > 1 ? apart / (0.5 * width * (width - 1.0)) : 0.0};
}

// Write the discounted sum of gains of each query; all orders of tied rows are equally likely. `discounts` are of the
// first positions; lower ones have none.
inline void discounted_gains(Vector<const double> scores, Vector<const double> gains, Vector<const double> spans,
                             Vector<const i64> starts, Vector<const double> discounts, Vector<double> found) {
    std::vector<i64> order;
    for (i64 q = 0; q < std::ssize(found); ++q) {
        const i64 begin = starts[q], size = starts[q + 1] - begin;
        const auto score = scores.subspan(begin, size), gain = gains.subspan(begin, size);
        const auto span = spans.subspan(begin, size);
        rank(score, order);
        double position = 0.0, total = 0.0;
        for (i64 first = 0; first < size && position < discounts.size();) {
            const Tie tie = find_tie(score, span, order, first, position, discounts);
            for (i64 place = first; place < tie.last; ++place) {
                total += span[order[place]] * gain[order[place]] * tie.mean;
            }
            first = tie.last;
            position = tie.end;
        }
        found[q] = total;
    }
}

// The rows of a query from the highest score to the lowest, with the tie of each place.
struct Ranking {
    std::vector<i64> order, group;  // a group's number is its first place
    std::vector<double> mean, apart;

    void fill(std::span<const double> score, std::span<const double> span, Vector<const double> discounts) {
        rank(score, order);
        group.resize(order.size());
        mean.resize(order.size());
        apart.resize(order.size());
        double position = 0.0;
        for (i64 first = 0; first < std::ssize(order);) {
            const Tie tie = find_tie(score, span, order, first, position, discounts);
            for (i64 place = first; place < tie.last; ++place) {
                group[place] = first;
                mean[place] = tie.mean;
                apart[place] = tie.apart;
            }
            first = tie.last;
            position = tie.end;
        }
    }
};

// Rows of a query, and what to write.
struct QueryRows {
    std::span<const double> score, gain, count;
    std::span<double> gradient, hessian;
};

// Add the derivatives of a query's pairs; return the sum of absolute slopes.
inline double add_lambdas(const QueryRows& rows, const Ranking& ranking) {
    constexpr double near = 0.01;  // keeps the weight of pairs with equal scores finite
    const i64 size = std::ssize(ranking.order);
    const bool spread = ranking.group[size - 1] > 0;
    double total = 0.0;
    for (i64 place = 0; place < size && ranking.mean[place] != 0.0; ++place) {  // later positions do not count
        const i64 a = ranking.order[place];
        for (i64 below = place + 1; below < size; ++below) {
            const i64 b = ranking.order[below];
            const bool tied = ranking.group[place] == ranking.group[below];
            double weight = (rows.gain[a] - rows.gain[b]) *
                            (tied ? ranking.apart[place] : ranking.mean[place] - ranking.mean[below]);
            if (weight == 0.0) continue;
            const double margin = rows.score[a] - rows.score[b];  // not negative
            if (spread) weight /= near + margin;
            const double small = std::exp(-margin);
            const double slope = weight * (weight > 0 ? small : 1.0) / (1.0 + small);
            const double curve = std::abs(weight) * small / ((1.0 + small) * (1.0 + small));
            rows.gradient[a] -= rows.count[b] * slope;
            rows.gradient[b] += rows.count[a] * slope;
            rows.hessian[a] += rows.count[b] * curve;
            rows.hessian[b] += rows.count[a] * curve;
            total += 2.0 * rows.count[a] * rows.count[b] * std::abs(slope);
        }
    }
    return total;
}

// Write LambdaRank's derivatives, normalized, per unit of count.
//
// The weight of a pair is the change of NDCG if it changed places, over 0.01 + its distance in score unless all scores
// are equal; for tied rows it is the mean over their orders. A query's derivatives are multiplied by log2(1 + S)/S,
// where S is the sum of absolute slopes. Gains are shares of the query's largest discounted sum; arguments as for
// `discounted_gains` and `pair_gradients`.
inline void lambda_gradients(Vector<const double> scores, Vector<const double> gains, Vector<const double> counts,
                             Vector<const double> spans, Vector<const i64> starts, Vector<const double> discounts,
                             Vector<double> gradient, Vector<double> hessian) {
    std::ranges::fill(gradient, 0.0);
    std::ranges::fill(hessian, 0.0);
    Ranking ranking;
    for (i64 q = 0; q + 1 < std::ssize(starts); ++q) {
        const i64 begin = starts[q], size = starts[q + 1] - begin;
        if (size == 0) continue;
        const QueryRows rows{scores.subspan(begin, size), gains.subspan(begin, size), counts.subspan(begin, size),
                             gradient.subspan(begin, size), hessian.subspan(begin, size)};
        ranking.fill(rows.score, spans.subspan(begin, size), discounts);
        const double total = add_lambdas(rows, ranking);
        if (!(total > 0)) continue;
        const double share = std::log2(1.0 + total) / total;
        for (double& x : rows.gradient) x *= share;
        for (double& x : rows.hessian) x *= share;
    }
}

}  // namespace costframe
