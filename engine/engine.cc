// The C interface: each function takes pointers and the sizes that `costframe/engine.py` has checked.
#include "ahead.h"
#include "capped.h"
#include "certain.h"
#include "charges.h"
#include "needs.h"
#include "row_hashes.h"
#include "scores.h"
#include "span.h"
#include "sums.h"

#if defined(_WIN32)
#define EXPORT extern "C" __declspec(dllexport)
#else
#define EXPORT extern "C" __attribute__((visibility("default")))
#endif

using namespace costframe;

namespace {

template <typename T>
Vector<T> span(T* data, i64 size) {
    return {data, static_cast<std::size_t>(size)};
}

// Call a function with a value of the type of codes, which are unsigned and have `size` bytes.
template <typename Function>
void with_codes(i64 size, Function function) {
    if (size == 1) function(u8{});
    if (size == 2) function(u16{});
    if (size == 4) function(u32{});
}

}  // namespace

EXPORT void hash_rows(const double* X, i64 n, i64 d, u64* hashes) { costframe::hash_rows({X, n, d}, span(hashes, n)); }

EXPORT void add_exactly(const double* values, i64 n, i64* sums) {
    costframe::add_exactly(span(values, n), span(sums, digits_of_doubles + 3));
}

EXPORT void score_rows(const double* left, i64 n, i64 C, const double* weights, i64 M, double* found) {
    costframe::score_rows({left, n, C}, {weights, M, C}, {found, n, M});
}

EXPORT void add_products(const double* left, i64 n, i64 C, const double* right, i64 M, double* high, double* low) {
    costframe::add_products({left, n, C}, {right, n, M}, {high, M, C}, {low, M, C});
}

EXPORT bool has_avx2() {
#if defined(__x86_64__) || defined(_M_X64)
    return __builtin_cpu_supports("avx2");
#else
    return false;
#endif
}

EXPORT void code_rows(const double* X, i64 n, i64 d, const i64* used, i64 U, const Nodes* nodes, void* codes, i64 c,
                      i64 size) {
    with_codes(size, [&]<typename Code>(Code) {
        costframe::code_rows<Code>({X, n, d}, span(used, U), *nodes, {static_cast<Code*>(codes), c, n});
    });
}

EXPORT void walk_leaves(const void* codes, i64 c, i64 n, i64 size, const Nodes* nodes, i32* leaves, i64 T) {
    with_codes(size, [&]<typename Code>(Code) {
        costframe::walk_leaves<const Code>({static_cast<const Code*>(codes), c, n}, *nodes, {leaves, n, T});
    });
}

EXPORT void write_outputs(const void* codes, i64 n, i64 T, i64 size, const double* dense, i64 D, const i32* source,
                          i64 C, const double* values, i64 V, const i64* rows, i64 m, const double* factor,
                          double* out) {
    with_codes(size, [&]<typename Code>(Code) {
        costframe::write_outputs<Code>({static_cast<const Code*>(codes), n, T}, {dense, n, D}, source, {values, C, V},
                                       rows, factor, {out, m, C});
    });
}

EXPORT void score_stage(const double* X, i64 n, i64 d, const void* codes, i64 c, i64 size, const Nodes* nodes,
                        const Stages* stages, const Marks* marks, const double* opaque, i64 o, u64* masks, i64 k, i64 W,
                        double* spent, const i64* rows, i64 m, i64 stage, double* scores, i64 K) {
    with_codes(size, [&]<typename Code>(Code) {
        const Scoring<const Code> scoring{{X, n, d}, {static_cast<const Code*>(codes), c, n}, *nodes, *stages, *marks,
                                          {opaque, n, o}, {masks, k, W}, {spent, k, 2}};
        costframe::score_rows(scoring, span(rows, m), stage, {scores, m, K});
    });
}

EXPORT void note_all(u64* masks, i64 k, i64 W, const i64* rows, i64 m, const i64* features, i64 f) {
    costframe::note_all({masks, k, W}, span(rows, m), span(features, f));
}

EXPORT void mark_needed(const bool* acquired, i64 n, i64 d, const Needs* needs, u8* needed, i64 R) {
    costframe::mark_needed({acquired, n, d}, *needs, {needed, n, R});
}

EXPORT void price_rows(const u64* masks, i64 n, i64 W, const i64* columns, i64 U, const double* cost,
                       const Needs* needs, const double* resource_cost, i64, const double* weight, bool* acquired,
                       i64 d, double* per_row, double* features, double* resources) {
    costframe::price_rows({masks, n, W}, {columns, U, cost, *needs, resource_cost}, weight, {acquired, n, d}, per_row,
                          features, resources);
}

EXPORT bool pay_tree(const double* X, i64 n, i64 d, const Tree* tree, const double* split, double learner, double reuse,
                     const double* cost, const Needs* needs, const double* resource_cost, i64, u64* masks, i64 W,
                     double* computed, double* bought, i64* leaves) {
    return costframe::pay_tree({X, n, d}, *tree, {split, learner, reuse}, {nullptr, d, cost, *needs, resource_cost},
                               {{masks, n, W}, computed, bought, leaves});
}

EXPORT void weigh_sets(const u64* sets, i64 M, i64 W, const double* mass, i64 B, double* found) {
    costframe::weigh_sets({sets, M, W}, {mass, B, 256}, found);
}

EXPORT void unite_sets(const i32* first, i64, const i32* output, i64 E, const bool* used, i64, const u64* sets, i64 W,
                       u64* found, i64 G) {
    costframe::unite_sets(first, output, used, {sets, E, W}, {found, G, W});
}

EXPORT void price_offers(const i64* first, i64, const i64* output, i64 E, const double* price, i64 G, const u64* reads,
                         i64 W, const u64* paid, const double* mass, i64 B, double* offers, i64) {
    costframe::price_offers(first, output, span(price, G), {reads, E, W}, {paid, G, W}, {mass, B, 256}, offers);
}

EXPORT void note_reads(const i32* leaves, i64 n, i64 T, const i64* root, i64, const i64* parent, i64,
                       const i32* feature, const i64* tree, i64 l, const i64* first, i64, const i64* group, i64 E,
                       const bool* needs, i64 F, i64 R, u64* reads, i64 W) {
    costframe::note_reads({leaves, n, T}, {root, parent, feature, span(tree, l), first, group, {needs, F, R}},
                          {reads, E, W});
}

EXPORT void walk_capped(const double* X, i64 n, i64 d, const void* codes, i64 c, i64 size, const double* opaque, i64 o,
                        const double* limit, const Nodes* nodes, const Stages* stages, const Bill* bill, i64* exits,
                        bool* cut, double* share, double* scores, i64 K, double* route_scores, u64* masks, i64 W,
                        double* spent) {
    with_codes(size, [&]<typename Code>(Code) {
        CappedRow<Code> row(*nodes, *stages, *bill);
        const Ends ends{exits, cut, share, {scores, n, K}, route_scores, {masks, n, W}, spent};
        for (i64 i = 0; i < n; ++i) {
            row.walk(i, {X, n, d}, {static_cast<const Code*>(codes), n, c}, {opaque, n, o}, limit[i], ends);
        }
    });
}

EXPORT i64 walk_row(const double* X, i64, const StepModel* model, double* scores, i64 K) {
    return costframe::walk_row(X, *model, span(scores, K));
}

EXPORT i64 step_row(const double* supplied, i64 m, double* numbers, i64, i64* places, i64, u8* marks, i64 U,
                    const StepModel* model, const double* split, i64, bool by_path, bool spends) {
    double *scores = numbers + U + 4, *opaque = scores + model->n_values - 1;
    i64 *needed = places + model->n_learners, *stage = needed + U;
    Account& account = *reinterpret_cast<Account*>(numbers + U);
    const StepRow row{*model, numbers, marks, places, account, opaque, split, by_path, spends};
    for (i64 i = 0; i < m; ++i) {
        numbers[needed[i]] = supplied[i];
        marks[needed[i]] |= is_known;
    }
    const i64 waiting = row.run(*stage, scores);
    return waiting <= 0 ? waiting : Lookahead(row).find(*stage, needed);
}

EXPORT void raise_bounds(const StepModel* model, double* lowest, i64, double* highest) {
    costframe::raise_bounds(*model, lowest, highest);
}

EXPORT void begin_certain_row(const StepModel* model, const Bounds* bounds, const Dues* dues, const Goal* goal,
                              const CertainRow* row) {
    CertainStepper(*model, *bounds, *dues, *goal, *row).begin();
}

EXPORT i64 advance_certain_row(const double* supplied, i64 m, const StepModel* model, const Bounds* bounds,
                               const Dues* dues, const Goal* goal, const CertainRow* row) {
    return CertainStepper(*model, *bounds, *dues, *goal, *row).advance(span(supplied, m));
}

EXPORT void run_certain_rows(const double* X, i64 n, i64 d, const double* opaque, i64 o, const StepModel* model,
                             const Bounds* bounds, const Dues* dues, const Goal* goal, const CertainRow* row,
                             double* scores, i64 K, u64* masks, i64 W, double* account, i64* rounds, bool* early) {
    CertainStepper stepper(*model, *bounds, *dues, *goal, *row);
    const CertainEnds ends{{scores, n, K}, {masks, n, W}, {account, n, 4}, rounds, early};
    costframe::run_certain_rows({X, n, d}, {opaque, n, o}, *model, stepper, *row, ends);
}
