// The C interface for rows, columns and stages: each function takes pointers and the sizes that `costframe/engine.py` has
// checked.
#include "binning.h"
#include "forward_selection.h"
#include "interface.h"
#include "paths.h"
#include "proximal.h"
#include "ranking.h"
#include "row_hashes.h"
#include "sums.h"

using namespace costframe;

#define TEXT_OF(word) #word
#define TEXT(word) TEXT_OF(word)
EXPORT const char* made_of() { return TEXT(MADE_OF); }  // see build.py

EXPORT void hash_rows(const double* X, i64 n, i64 d, u64* hashes) { costframe::hash_rows({X, n, d}, span(hashes, n)); }

EXPORT void add_exactly(const double* values, i64 n, i64* sums) {
    costframe::add_exactly(span(values, n), span(sums, digits_of_doubles + 3));
}

EXPORT double sum_exactly(const double* values, i64 n) {
    std::array<i64, digits_of_doubles + 3> sums{};
    costframe::add_exactly(span(values, n), sums);
    return costframe::round_digits(sums);
}

EXPORT double round_digits(const i64* sums) { return costframe::round_digits(span(sums, digits_of_doubles + 3)); }

EXPORT void score_rows(const double* left, i64 n, i64 C, const double* weights, i64 M, double* found) {
    costframe::score_rows({left, n, C}, {weights, M, C}, {found, n, M});
}

EXPORT void add_products(const double* left, i64 n, i64 C, const double* right, i64 M, double* high, double* low) {
    costframe::add_products({left, n, C}, {right, n, M}, {high, M, C}, {low, M, C});
}

EXPORT bool has_avx2() {
#if defined(__x86_64__) || defined(_M_X64)
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2");
#else
    return false;
#endif
}

EXPORT void mark_paths(const i64* parent, i64 n, const i32* feature, u64* masks, i64 W) {
    costframe::mark_paths(span(parent, n), span(feature, n), {masks, n, W});
}

EXPORT void price_paths(const i64* parent, i64 n, const i32* feature, const double* split, i64 d, double* spent) {
    costframe::price_paths(span(parent, n), span(feature, n), span(split, d), span(spent, n));
}

EXPORT i64 describe_paths(const i64* parent, i64 n, const i32* feature, i64 n_features, i64* counts, i64* word,
                          i64* reads) {
    return with_memory([&] {
        count_paths(span(parent, n), span(feature, n), span(counts, n), n_features);
        look_below(span(counts, n), span(word, n), span(reads, n));
    });
}

EXPORT i64 select_forward(const double* gram, i64 C, double* right, i64 M, double ridge, const i64* first, i64 G,
                          const i64* output, i64 e, const double* price, const u64* reads, i64 W, u64* paid,
                          const double* mass, i64 b, double* offers, i64 patience, bool* support) {
    const SampledPrices prices{span(first, G + 1), span(output, e), span(price, G),
                               {reads, e, W}, {paid, G, W}, {mass, b, 256}};
    return with_memory([&] {
        costframe::select_forward({gram, C, C}, {right, C, M}, ridge, prices, span(offers, C), patience,
                                  span(support, C));
    });
}

EXPORT i64 shrink(double* residual, i64 M, i64 D, const double* metric, const i64* first, i64 J, const i64* member,
                  i64 e, const double* radius, double* dual, bool disjoint, bool* zero) {
    const GroupNorms norms{span(first, J + 1), span(member, e), span(radius, J), disjoint};
    return with_memory([&] {
        Group group;
        return costframe::shrink({residual, M, D}, {metric, M, D}, norms, {dual, M, e}, span(zero, D), group);
    });
}

EXPORT i64 minimize_quadratic(const double* hessian, i64 M, i64 D, const double* gradient, const double* origin,
                              const double* lipschitz, const double* scale, const i64* first, i64 J,
                              const i64* member, i64 e, const double* radius, double* dual, bool disjoint, i64 most,
                              double tolerance, double* found) {
    const Quadratic quadratic{{hessian, M * D, D}, {gradient, M, D}, {origin, M, D}, span(lipschitz, M),
                              span(scale, D)};
    const GroupNorms norms{span(first, J + 1), span(member, e), span(radius, J), disjoint};
    return with_memory([&] {
        costframe::minimize_quadratic(quadratic, norms, {dual, M, e}, most, tolerance, {found, M, D});
    });
}

EXPORT void pair_gradients(const double* scores, i64 n, const double* grades, const double* counts, const i64* starts,
                           i64 Q, double* gradient, double* hessian) {
    costframe::pair_gradients(span(scores, n), span(grades, n), span(counts, n), span(starts, Q + 1),
                              span(gradient, n), span(hessian, n));
}

EXPORT void pair_losses(const double* scores, i64 n, const double* grades, const double* counts, const i64* starts,
                        i64 Q, double* losses) {
    costframe::pair_losses(span(scores, n), span(grades, n), span(counts, n), span(starts, Q + 1), span(losses, Q));
}

EXPORT i64 discounted_gains(const double* scores, i64 n, const double* gains, const double* spans, const i64* starts,
                            i64 Q, const double* discounts, i64 k, double* found) {
    return with_memory([&] {
        costframe::discounted_gains(span(scores, n), span(gains, n), span(spans, n), span(starts, Q + 1),
                                    span(discounts, k), span(found, Q));
    });
}

EXPORT i64 lambda_gradients(const double* scores, i64 n, const double* gains, const double* counts,
                            const double* spans, const i64* starts, i64 Q, const double* discounts, i64 k,
                            double* gradient, double* hessian) {
    return with_memory([&] {
        costframe::lambda_gradients(span(scores, n), span(gains, n), span(counts, n), span(spans, n),
                                    span(starts, Q + 1), span(discounts, k), span(gradient, n), span(hessian, n));
    });
}

EXPORT void bin_rows(const double* X, i64 n, i64 d, const i64* first, const double* cut, i64 c, const double* low,
                     const double* scale, const i64* first_step, const i32* certain, i64 s, const i64* window,
                     u8* bins, u8* columns, i64 N, i64 begin) {
    const Cuts cuts{span(first, d + 1), span(cut, c), span(low, d), span(scale, d), span(first_step, d + 1),
                    span(certain, s), span(window, d)};
    costframe::bin_rows({X, n, d}, cuts, {bins, n, d}, {columns, d, N}, begin);
}

EXPORT void mark_unknown(const double* X, i64 n, i64 d, const i64* first, const double* category, i64 c,
                         const i64* features, i64 k, u8* bins, u8* columns, i64 N, i64 begin) {
    costframe::mark_unknown({X, n, d}, span(first, d + 1), span(category, c), span(features, k), {bins, n, d},
                            {columns, d, N}, begin);
}

EXPORT i64 collect_distinct(const double* X, i64 n, i64 d, double* values, i64 limit, i64* counts) {
    return with_memory(
        [&] { costframe::collect_distinct({X, n, d}, {values, d, limit}, span(counts, d)); });
}

EXPORT i64 choose_cuts(double* columns, i64 k, i64 n, i64 clippings, double* cuts, i64 max_bins, i64* counts) {
    return with_memory(
        [&] { costframe::choose_cuts({columns, k, n}, clippings, {cuts, k, max_bins}, span(counts, k)); });
}
