// Regression of many numbers at once in one call: each tree splits by one mixture of targets, as in SketchBoost.
#pragma once

#include <bit>
#include <cmath>
#include <vector>

#include "boosting.h"

namespace costframe::trees {

// Whole numbers by adding and subtracting: the low bits of doubles near 1.5 2^52 are whole numbers, quick to convert.
constexpr double shift_to_whole = 0x1.8p52;

inline i64 to_whole(double x) { return std::bit_cast<i64>(x + shift_to_whole) - std::bit_cast<i64>(shift_to_whole); }

// Return the power of two that makes whole numbers below 2^51; see `whole_scale`.
inline double scale_below_51_bits(double largest, i64 count_bits) {
    return whole_scale(largest, std::max<i64>(count_bits, 11));
}

// Return the sum of products, in four parts that need not wait for each other.
inline double multiply(Vector<const double> left, Vector<const double> right) {
    double parts[4] = {};
    const std::size_t whole = left.size() / 4 * 4;
    for (std::size_t t = 0; t < whole; t += 4) {
        for (std::size_t k = 0; k < 4; ++k) parts[k] += left[t + k] * right[t + k];
    }
    for (std::size_t t = whole; t < left.size(); ++t) parts[t % 4] += left[t] * right[t];
    return (parts[0] + parts[1]) + (parts[2] + parts[3]);
}

// Turn `mix` a step towards the residuals' principal direction, and write -weight * (residual @ mix). No residual is
// larger than `largest`; the rows are fewer than 2^count_bits.
inline void turn_mixture(Matrix<const double> residual, Vector<const i32> rows, Vector<const double> weight,
                         double largest, i64 count_bits, Vector<double> mix, Vector<double> mixed) {
    std::vector<i64> sums(mix.size());
    double highest = 0.0, square = 0.0;
    for (i32 row : rows) {
        mixed[row] = weight[row] * multiply(residual[row], mix);
        highest = std::max(highest, std::fabs(mixed[row]));
    }
    const double scale = scale_below_51_bits(largest * highest, count_bits);
    for (i32 row : rows) {
        const double factor = mixed[row] * scale;
        const auto own = residual[row];
        for (std::size_t t = 0; t < mix.size(); ++t) sums[t] += to_whole(own[t] * factor);
    }
    for (std::size_t t = 0; t < mix.size(); ++t) {
        mix[t] = static_cast<double>(sums[t]) / scale;
        square += mix[t] * mix[t];
    }
    const double size = std::sqrt(square);
    for (double& each : mix) each = size > 0.0 ? each / size : each;
    for (i32 row : rows) mixed[row] = -weight[row] * to_single(multiply(residual[row], mix));  // for exact sums
}

// Write the weighted means of residuals in a tree's leaves, shrunk by l2, (nodes, T); return the largest size of one.
inline double put_means(const Growth& g, Vector<const double> weight, Matrix<const double> residual, double scale,
                        double weight_scale, Matrix<double> output) {
    double largest = 0.0;
    std::vector<i64> sums(residual.columns);
    for (i64 slot = 0; slot < g.room.state->leaves; ++slot) {
        i64 mass = 0;
        std::ranges::fill(sums, 0);
        for (i32 row : g.rows_of(slot)) {
            mass += round_to_whole(weight[row] * weight_scale);
            const double factor = weight[row] * scale;
            const auto own = residual[row];
            for (i64 t = 0; t < residual.columns; ++t) sums[t] += to_whole(own[t] * factor);
        }
        const double weights = g.task.limits->l2 + static_cast<double>(mass) / weight_scale;
        for (i64 t = 0; t < residual.columns; ++t) {
            double& mean = output(g.room.place[slot].node, t);
            mean = static_cast<double>(sums[t]) / scale / weights;
            largest = std::max(largest, std::fabs(mean));
        }
    }
    return largest;
}

// Return the weighted sum of all squares of some rows' residuals.
inline double sum_squares(Matrix<const double> residual, Vector<const i32> rows, Vector<const double> weight,
                          i64 count_bits) {
    std::vector<double> squares;
    for (i32 row : rows) squares.push_back(weight[row] * multiply(residual[row], residual[row]));
    return sum_in_any_order(squares, 0, count_bits);
}

// What `boost_many` writes: trees by number and node, their leaves' means of targets, and their numbers of nodes; and
// after each of them the sum of held-out rows' squared residuals, and these residuals.
struct MeanTrees {
    i64 most_trees, most_nodes;
    KeptNode* nodes;
    double* values;
    i64* sizes;
    double *lost, *kept;
};

// Boost targets, overwritten by their residuals, by squared loss; return the number of trees. `mix` and `largest`, the
// weights of the last mixture and a bound of all residuals, go from call to call.
inline i64 boost_many(const Growth& g, Vector<const double> weight, const Sides& sides, double step,
                      Matrix<double> residual, Vector<double> mix, double& largest, const MeanTrees& trees) {
    std::vector<double> mixed(residual.rows);
    const double heaviest = largest_of(weight);
    for (i64 tree = 0; tree < trees.most_trees; ++tree) {
        turn_mixture(residual, sides.inside, weight, largest, g.task.count_bits, mix, mixed);
        const Grown grown = grow_on(g, mixed, weight, sides, trees.nodes + tree * trees.most_nodes);
        if (grown.n_nodes == 1) return tree;
        trees.sizes[tree] = grown.n_nodes;
        const i64 most = trees.most_nodes;
        const Matrix<double> output{trees.values + tree * most * residual.columns, most, residual.columns};
        std::fill_n(output.data, grown.n_nodes * residual.columns, 0.0);
        const double scale = scale_below_51_bits(largest * heaviest, g.task.count_bits);
        largest += step * put_means(g, weight, residual, scale, grown.hessian_scale, output);
        for_leaves(g, sides, [&](i32 row, i64 leaf) {
            for (i64 t = 0; t < residual.columns; ++t) residual(row, t) -= step * output(leaf, t);
        });
        trees.lost[tree] = sum_squares(residual, sides.outside, weight, g.task.count_bits);
        keep_rows(residual, sides.outside, tree, trees.kept);
    }
    return trees.most_trees;
}

}  // namespace costframe::trees
