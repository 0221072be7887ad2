// The C interface for tables of rows: their hashes, sums, bins, codes, leaves, outputs and scores; and plans.
#include <array>

#include "binning.h"
#include "float32.h"
#include "interface.h"
#include "plan.h"
#include "row_digests.h"
#include "row_hashes.h"
#include "row_prices.h"
#include "scores.h"
#include "step.h"
#include "sums.h"

using namespace costframe;

namespace {

// Call a function with a value of the type of codes, which are unsigned and have `size` bytes.
template <typename Function>
i64 with_codes(i64 size, Function function) {
    return with_memory([&] {
        if (size == 1) function(u8{});
        if (size == 2) function(u16{});
        if (size == 4) function(u32{});
    });
}

// The struct that rows on a plan have in common.
struct Planned {
    const Plan* plan;
    const PaidSets* sets;
};

}  // namespace

EXPORT void mix_words(u64* words, i64 n) { costframe::mix_words(span(words, n)); }

EXPORT void hash_rows(const double* X, i64 n, i64 d, u64* hashes) { costframe::hash_rows({X, n, d}, span(hashes, n)); }

EXPORT void digest_rows(const double* X, i64 n, i64 d, const i64* columns, i64 c, const double* y, u64* digests) {
    costframe::digest_rows({X, n, d}, span(columns, c), span(y, n), span(digests, n));
}

EXPORT void add_exactly(const double* values, i64 n, i64* sums) {
    costframe::add_exactly(span(values, n), span(sums, digits_of_doubles + 3));
}

EXPORT double sum_exactly(const double* values, i64 n) {
    std::array<i64, digits_of_doubles + 3> sums{};
    costframe::add_exactly(span(values, n), sums);
    return costframe::round_digits(sums);
}

EXPORT double round_digits(const i64* sums) { return costframe::round_digits(span(sums, digits_of_doubles + 3)); }

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

EXPORT i64 code_rows(const double* X, i64 n, i64 d, const i64* used, i64 U, const Nodes* nodes, void* codes, i64 c,
                     i64 size) {
    return with_codes(size, [&]<typename Code>(Code) {
        costframe::code_rows<Code>({X, n, d}, span(used, U), *nodes, {static_cast<Code*>(codes), c, n});
    });
}

EXPORT i64 walk_leaves(const void* codes, i64 c, i64 n, i64 size, const Nodes* nodes, i32* leaves) {
    return with_codes(size, [&]<typename Code>(Code) {
        costframe::walk_leaves<const Code>({static_cast<const Code*>(codes), c, n}, *nodes,
                                           {leaves, n, std::ssize(nodes->root)});
    });
}

EXPORT i64 write_outputs(const void* codes, i64 n, i64 T, i64 size, const double* dense, i64 D, const i32* source,
                         i64 C, const double* values, i64 V, const i64* rows, i64 m, const double* factor,
                         double* out) {
    return with_codes(size, [&]<typename Code>(Code) {
        costframe::write_outputs<Code>({static_cast<const Code*>(codes), n, T}, {dense, n, D}, source, {values, C, V},
                                       rows, factor, {out, m, C});
    });
}

EXPORT i64 score_stage(const double* X, i64 n, i64 d, const void* codes, i64 c, i64 size, const Model* model,
                       const Marks* marks, const double* opaque, i64 o, u64* masks, i64 k, i64 W, double* spent,
                       const i64* rows, i64 m, i64 stage, double* scores, i64 K) {
    return with_codes(size, [&]<typename Code>(Code) {
        const Scoring<const Code> scoring{{X, n, d}, {static_cast<const Code*>(codes), c, n}, *model, *marks,
                                          {opaque, n, o}, {masks, k, W}, {spent, k, 2}};
        costframe::score_rows(scoring, span(rows, m), stage, {scores, m, K});
    });
}

EXPORT i64 walk_row(const Model* const* model, double* scores, const double* x) {
    return costframe::walk_row(x, **model, span(scores, (*model)->n_outputs()));
}

EXPORT void exp_float32(const double* values, i64 n, double* found) {
    costframe::exp_float32(span(values, n), span(found, n));
}

EXPORT void score_rows(const double* left, i64 n, i64 C, const double* weights, i64 M, double* found) {
    costframe::score_rows({left, n, C}, {weights, M, C}, {found, n, M});
}

EXPORT void add_products(const double* left, i64 n, i64 C, const double* right, i64 M, double* high, double* low) {
    costframe::add_products({left, n, C}, {right, n, M}, {high, M, C}, {low, M, C});
}

EXPORT i64 step_plan_row(const Planned* way, u64* state, const double* supplied) {
    return with_memory([&]() -> i64 {
        const Plan& plan = *way->plan;
        const i64 n_place = sizeof(PlanRow) / sizeof(i64) + plan.sets.columns;
        auto *place = reinterpret_cast<i64*>(state), *called = place + n_place + plan.width;
        const i64 n_opaque = *called < 0 ? 0 : plan.n_opaque(*called);
        const PlanRows rows{plan, *way->sets, {reinterpret_cast<double*>(place + n_place), 1, plan.width},
                            {place, 1, n_place}, {reinterpret_cast<double*>(called + 1), 1, n_opaque}, {nullptr, 0, 0}};
        rows.row(0).paid = 0;  // the only set, whatever the row's number was in a table
        return rows.carry(span(supplied, supplied == nullptr ? 0 : plan.width), *called);
    });
}

EXPORT i64 carry_rows(const Plan* plan, const PaidSets* sets, const double* supplied, i64 v, double* X, i64 n, i64 d,
                      i64* places, i64 p, const double* opaque, i64 o, i64 k, i32* next, i64 N, i64 m, i64 called) {
    return with_memory([&]() -> i64 {
        const PlanRows rows{*plan, *sets, {X, n, d}, {places, n, p}, {opaque, o, k}, {next, N, m}};
        return rows.carry(span(supplied, v), called);
    });
}

EXPORT i64 price_rows(const u64* masks, i64 n, i64 W, const i64* columns, i64 U, const double* cost,
                      const Needs* needs, const double* resource_cost, const double* weight, bool* acquired, i64 d,
                      double* per_row, double* features, double* resources) {
    return with_memory([&] {
        costframe::price_rows({masks, n, W}, {columns, U, cost, *needs, resource_cost}, weight, {acquired, n, d},
                              per_row, features, resources);
    });
}
