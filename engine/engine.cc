// The C interface for columns, paths and the training of stages: each function takes pointers and the sizes that
// `costframe/engine` has checked.
#include "binning.h"
#include "forward_selection.h"
#include "interface.h"
#include "paths.h"
#include "proximal.h"
#include "ranking.h"

using namespace costframe;

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

EXPORT i64 collect_distinct(const double* X, i64 n, i64 d, double* values, i64 limit, i64* counts) {
    return with_memory(
        [&] { costframe::collect_distinct({X, n, d}, {values, d, limit}, span(counts, d)); });
}

EXPORT i64 choose_cuts(double* columns, i64 k, i64 n, i64 clippings, double* cuts, i64 max_bins, i64* counts) {
    return with_memory(
        [&] { costframe::choose_cuts({columns, k, n}, clippings, {cuts, k, max_bins}, span(counts, k)); });
}
