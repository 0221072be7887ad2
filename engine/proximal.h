// Minimization of a quadratic with overlapping group norms: accelerated steps with exact proximal maps.
//
// Weights are M outputs of C columns and, last, an intercept outside all groups. Group j of columns has the norm
// radius_j * sqrt(sum of squares of all weights of its columns, each divided by the column's scale).
#pragma once

#include <algorithm>
#include <cmath>
#include <memory>
#include <vector>

#include "span.h"

namespace costframe {

constexpr i64 most_passes = 30;  // over all groups in one map; nested groups need two, and the next map continues

struct GroupNorms {
    Vector<const i64> first, member;  // columns of group j from first[j] on
    Vector<const double> radius;      // positive
    bool disjoint;                    // so that one pass is exact
};

// Find the nearest point y of the ball, by sum (wanted - y)^2 / metric; return whether `wanted` is (almost) inside.
// y = wanted / (1 + m * metric) with m the root of 1/|y(m)| = 1/radius, a concave function that Newton's steps from
// m = 0 approach from the left; with equal metrics the first step is exact.
inline bool project(const std::vector<double>& wanted, const std::vector<double>& metric, double radius,
                    std::vector<double>& found) {
    constexpr i64 most_steps = 100;        // for the secular equation; a few are enough
    constexpr double touching = 1 + 1e-9;  // times the radius: a group within this is zero, as passes end outside
    double m = 0.0, norm = 0.0;
    bool touches = false;
    for (i64 step = 0; step < most_steps; ++step) {
        double square = 0.0, slope = 0.0;
        for (std::size_t i = 0; i < wanted.size(); ++i) {
            const double shrunk = 1.0 + m * metric[i], value = wanted[i] / shrunk;
            found[i] = value;
            square += value * value;
            slope += value * value * metric[i] / shrunk;
        }
        norm = std::sqrt(square);
        if (m == 0.0 && norm <= radius) return true;
        touches = touches || (m == 0.0 && norm <= radius * touching);
        if (norm <= radius * (1.0 + 1e-14)) break;
        m += (norm / radius - 1.0) * square / slope;
    }
    for (double& x : found) x *= radius / norm;
    return touches;
}

// The weights of one group, output by output.
struct Group {
    std::vector<double> wanted, metric, found;

    void resize(i64 size) {
        wanted.resize(size);
        metric.resize(size);
        found.resize(size);
    }
};

// Move the dual of group j to its best value for the other groups' duals; return the largest change, relative to the
// group's radius. Mark the columns in `zero` if the norm is zero.
inline double move_dual(Matrix<double> residual, Matrix<const double> metric, const GroupNorms& norms, i64 j,
                        Matrix<double> dual, Vector<bool> zero, Group& group) {
    const i64 begin = norms.first[j], size = norms.first[j + 1] - begin;
    const auto member = norms.member.subspan(begin, size);
    group.resize(residual.rows * size);
    for (i64 k = 0, i = 0; k < residual.rows; ++k) {
        for (i64 at = 0; at < size; ++at, ++i) {
            group.wanted[i] = residual(k, member[at]) + dual(k, begin + at);
            group.metric[i] = metric(k, member[at]);
        }
    }
    const bool inside = project(group.wanted, group.metric, norms.radius[j], group.found);
    double change = 0.0;
    for (i64 k = 0, i = 0; k < residual.rows; ++k) {
        for (i64 at = 0; at < size; ++at, ++i) {
            change = std::max(change, std::abs(group.found[i] - dual(k, begin + at)) / norms.radius[j]);
            dual(k, begin + at) = group.found[i];
            residual(k, member[at]) = group.wanted[i] - group.found[i];
        }
    }
    if (inside) {
        for (i64 column : member) zero[column] = true;
    }
    return change;
}

// Minimize sum metric/2 (u - a)^2 + sum_j radius_j |u_j| in the dual, group by group; return the number of passes.
// `residual` is metric * a minus the duals of all groups, and in the end metric * u; `dual`, (M, entries), is the
// start, then the solution. `zero` becomes true for columns of groups whose norms are zero in the solution.
inline i64 shrink(Matrix<double> residual, Matrix<const double> metric, const GroupNorms& norms, Matrix<double> dual,
                  Vector<bool> zero, Group& group) {
    constexpr double settled = 1e-11;  // change of a group's dual, relative to its radius
    for (i64 pass = 1; pass <= most_passes; ++pass) {
        std::ranges::fill(zero, false);
        double change = 0.0;
        for (i64 j = 0; j < std::ssize(norms.radius); ++j) {
            change = std::max(change, move_dual(residual, metric, norms, j, dual, zero, group));
        }
        if (norms.disjoint || change <= settled) return pass;
    }
    return most_passes;
}

// <gradient, D> + D'HD/2 for D = weights - origin, and the columns' scales.
struct Quadratic {
    Matrix<const double> hessian;  // (M * (C + 1), C + 1), one output's after another's
    Matrix<const double> gradient, origin;
    Vector<const double> lipschitz;  // at least the largest eigenvalue of each hessian; positive
    Vector<const double> scale;
};

// Set slope = gradient + hessian * (weights - origin) for each output; skip columns that have not moved.
inline void derive(const Quadratic& quadratic, Matrix<const double> weights, Matrix<double> slope) {
    for (i64 k = 0; k < weights.rows; ++k) {
        const auto row = slope[k];
        std::ranges::copy(quadratic.gradient[k], row.begin());
        for (i64 j = 0; j < weights.columns; ++j) {
            const double by = weights(k, j) - quadratic.origin(k, j);
            if (by == 0.0) continue;
            const auto hessian = quadratic.hessian[k * weights.columns + j];
            for (i64 i = 0; i < weights.columns; ++i) row[i] += hessian[i] * by;
        }
    }
}

struct Step {
    double length = 0.0, uphill = 0.0;
};

// Turn the proximal map of a step from `ahead` into weights; return the step's length, and its slope from `last` on.
inline Step take_step(const Quadratic& quadratic, Matrix<const double> residual, Vector<const bool> zero,
                      Matrix<const double> ahead, Matrix<const double> last, Matrix<double> next) {
    Step step;
    for (i64 k = 0; k < next.rows; ++k) {
        const double lipschitz = quadratic.lipschitz[k];
        for (i64 i = 0; i < next.columns; ++i) {
            next(k, i) = zero[i] ? 0.0 : residual(k, i) / (lipschitz * quadratic.scale[i]);
            const double back = ahead(k, i) - next(k, i);
            step.length += lipschitz * back * back;
            step.uphill += lipschitz * back * (next(k, i) - last(k, i));
        }
    }
    return step;
}

// Minimize <gradient, D> + D'HD/2 + sum_j radius_j |(origin + D)/scale|_j over D; set `last` to origin + D.
// Accelerated proximal gradient steps, at most `most`, restarted where momentum points uphill. Zeros are exact.
// `tolerance` is of a step's length, relative to the first one's; `dual` as in `shrink`.
inline void minimize_quadratic(const Quadratic& quadratic, const GroupNorms& norms, Matrix<double> dual, i64 most,
                               double tolerance, Matrix<double> last) {
    const i64 size = last.rows * last.columns, n_entries = std::ssize(norms.member);
    std::vector<double> memory(4 * size);
    const auto part = [&](i64 at) { return Matrix<double>{memory.data() + at * size, last.rows, last.columns}; };
    const Matrix<double> metric = part(0), residual = part(1), ahead = part(2), next = part(3);
    const auto zero = std::make_unique<bool[]>(last.columns);
    const Vector<bool> zeros(zero.get(), last.columns);
    Group group;
    for (i64 k = 0; k < last.rows; ++k) {
        for (i64 i = 0; i < last.columns; ++i) {
            metric(k, i) = quadratic.lipschitz[k] * quadratic.scale[i] * quadratic.scale[i];
            ahead(k, i) = last(k, i) = quadratic.origin(k, i);
        }
    }
    double momentum = 1.0, longest = 0.0;
    for (i64 count = 0; count < most; ++count) {
        derive(quadratic, ahead, residual);
        for (i64 k = 0; k < last.rows; ++k) {
            for (i64 i = 0; i < last.columns; ++i) {
                residual(k, i) = (quadratic.lipschitz[k] * ahead(k, i) - residual(k, i)) * quadratic.scale[i];
            }
            for (i64 entry = 0; entry < n_entries; ++entry) residual(k, norms.member[entry]) -= dual(k, entry);
        }
        shrink(residual, metric, norms, dual, zeros, group);
        const Step step = take_step(quadratic, residual, zeros, ahead, last, next);
        if (count == 0) longest = step.length;
        if (step.uphill > 0.0) momentum = 1.0;
        const double following = (1.0 + std::sqrt(1.0 + 4.0 * momentum * momentum)) / 2.0;
        const double further = (momentum - 1.0) / following;
        for (i64 i = 0; i < size; ++i) {
            ahead.data[i] = next.data[i] + further * (next.data[i] - last.data[i]);
            last.data[i] = next.data[i];
        }
        if (step.length <= tolerance * tolerance * longest) return;
        momentum = following;
    }
}

}  // namespace costframe
