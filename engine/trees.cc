// The C interface of growing and boosting trees; structs are as `costframe/engine/growing.py` lays them out.
#include "boosting.h"
#include "interface.h"
#include "regression.h"

using namespace costframe;
using namespace costframe::trees;

// Words of rows: engine/packing.h

EXPORT void pack(const double* gradients, i64 n, const double* hessians, i64 h, const i64* counts, i64 c,
                 i64 count_bits, i64 address, i64* words, i64 w, Units* scales) {
    *scales = trees::pack(span(gradients, n), span(hessians, h), span(counts, c), count_bits, address, {words, n, w});
}

// Histograms and splits: engine/histogram.h, engine/splits.h

EXPORT void fill_histogram(const u8* bins, i64 n, i64 d, const i64* words, i64 w, const i32* rows, i64 m,
                           const i64* columns, i64 k, const i64* n_bins, i64* histogram, i64 groups, i64 size,
                           i64 lanes) {
    trees::fill_histogram({bins, n, d}, {words, n, w}, span(rows, m), span(columns, k), span(n_bins, k),
                          {histogram, groups, size, lanes, w});
}

EXPORT void subtract(i64* histogram, i64 groups, i64 size, i64 lanes, i64 w, i64* child, const i64* n_bins, i64 k) {
    trees::subtract({histogram, groups, size, lanes, w}, {child, groups, size, lanes, w}, span(n_bins, k));
}

EXPORT i64 find_splits(const Task* task, i64* histogram, i64 groups, i64 size, i64 lanes, const i64* total,
                       const double* bounds, const double* prices, i64 p, double* gain, i64* best, i64 width) {
    return with_memory([&] {
        const Columns columns{task->columns, task->n_bins, task->categorical, task->signs};
        const Leaf leaf{task->packing(), *task->limits, {total[0], total[1]}, {bounds[0], bounds[1]}};
        PriceRange range{span(prices, p), span(prices + p, p)};
        const i64 d = task->bins.columns;
        trees::find_splits({histogram, groups, size, lanes, task->words.columns}, columns, leaf, range, span(gain, d),
                    {best, d, width});
    });
}

// Rows of a tree: engine/rows.h

EXPORT void route_rows(const u8* bins, i64 n, i64 d, const Node* nodes, i64 size, i32* leaf_of_row) {
    trees::route_rows({bins, n, d}, {nodes, size, 10}, span(leaf_of_row, n));
}

EXPORT i64 finish_tree(const Task* task, const Room* room, const Prices* prices, const double* gradients,
                       const double* hessians, i64 h, i32* rows, i64 m, const i64* first, const double* cut, i64 cuts,
                       i32* leaf_of_row, i32* feature, i64 size, double* threshold, bool* missing_left, i32* left,
                       i32* right, double* outputs) {
    return with_memory([&] {
        const i64 n = task->bins.rows;
        const Tree tree{span(feature, size), span(threshold, size), span(missing_left, size),
                        span(left, size),    span(right, size),     span(outputs, size)};
        trees::finish_tree({*task, *room, *prices, span(rows, m)}, span(gradients, n), span(hessians, h),
                           span(first, task->bins.columns + 1), span(cut, cuts), span(leaf_of_row, n), tree);
    });
}

// Payments: engine/prices.h

EXPORT void sum_marks(const u64* marks, i64 n, i64 words, const i32* rows, i64 m, const double* weight, i64 weights,
                      double* sums, i64 items) {
    trees::sum_marks({marks, n, words}, span(rows, m), span(weight, weights), span(sums, items));
}

EXPORT double weigh_rows(const i32* rows, i64 m, const double* weight, i64 weights) {
    return trees::weigh_rows(span(rows, m), span(weight, weights));
}

EXPORT void price_marks(u64* marks, i64 n, i64 words, const i32* rows, i64 m, const u64* items, const double* cost,
                        i64 n_items, i64 n_features, double* per_row, double* new_features) {
    trees::price_marks({marks, n, words}, span(rows, m), {items, m, words}, span(cost, n_items), n_features,
                       span(per_row, m), span(new_features, m));
}

EXPORT void charge(const Prices* prices, const double* money, i64 d, double* price) {
    trees::charge(*prices, span(money, d), span(price, d));
}

// Growth: engine/grow.h

EXPORT i64 grow(const Task* task, const Room* room, const Prices* prices, const double* gradients,
                const double* hessians, i64 h, const i64* counts, i64 c, i32* rows, i64 m) {
    const Derived derived{span(gradients, task->bins.rows), span(hessians, h), span(counts, c)};
    const Ended begun = room->state->leaves == 0 ? begin(*task, derived) : done;
    return begun != done ? begun : with_memory([&] { return trees::grow({*task, *room, *prices, span(rows, m)}); });
}

EXPORT i64 assist(const Task* task, const Room* room, const Prices* prices, i32* rows, i64 m) {
    return with_memory([&] {
        trees::assist({*task, *room, *prices, span(rows, m)});
    });
}

// Losses and boosting: engine/losses.h, engine/boosting.h, engine/regression.h

EXPORT void derive(i64 kind, const double* y, i64 n, double* scores, i64 K, i64 address, i64 first, i64 last,
                   double* gradients, double* hessians) {
    trees::derive({kind, span(y, n), {scores, n, K}, address}, first, last, {gradients, K, n}, {hessians, K, n});
}

EXPORT i64 sum_losses(i64 kind, const double* y, i64 n, const double* weight, double* scores, i64 K, const i32* rows,
                      i64 m, i64 count_bits, i64 address, double* total) {
    return with_memory([&] {
        const Fit fit{kind, span(y, n), {scores, n, K}, address};
        *total = trees::sum_losses(fit, span(weight, n), span(rows, m), count_bits);
    });
}

EXPORT i64 add_rounds(const Task* task, const Room* room, const Prices* prices, i64 kind, const double* y,
                      const double* weight, const i64* counts, const i32* inside, i64 m, const i32* outside, i64 o,
                      double largest, double step, double* scores, i64 K, KeptNode* nodes, i64 R, i64 N,
                      double* values, i64* sizes, double* lost, double* kept, double* gain) {
    return with_memory([&] {
        const i64 n = task->bins.rows, d = task->bins.columns;
        std::vector<i32> rows(m);
        const Fit fit{kind, span(y, n), {scores, n, K}, task->address};
        const Sides sides{span(counts, n), span(inside, m), span(outside, o)};
        const Rounds rounds{R, K, N, nodes, values, sizes, lost, kept, {gain, d, d}};
        trees::add_rounds({*task, *room, *prices, rows}, fit, span(weight, n), sides, largest, step, rounds);
    });
}

EXPORT i64 boost_many(const Task* task, const Room* room, const Prices* prices, const double* weight,
                      const i64* counts, const i32* inside, i64 m, const i32* outside, i64 o, double step,
                      double* residual, i64 T, double* mix, double* largest, KeptNode* nodes, i64 R, i64 N,
                      double* values, i64* sizes, double* lost, double* kept) {
    return with_memory([&] {
        const i64 n = task->bins.rows;
        std::vector<i32> rows(m);
        const Sides sides{span(counts, n), span(inside, m), span(outside, o)};
        return trees::boost_many({*task, *room, *prices, rows}, span(weight, n), sides, step, {residual, n, T},
                                 span(mix, T), *largest, {R, N, nodes, values, sizes, lost, kept});
    });
}
