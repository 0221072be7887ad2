// The C interface for trees of stages: prices of rows of a table, and single rows step by step.
#include "ahead.h"
#include "capped.h"
#include "certain.h"
#include "charges.h"
#include "interface.h"
#include "needs.h"

using namespace costframe;

namespace {

// The structs that rows on the same way have in common.
struct Plainly {
    const Model* model;
    const StepPrices* prices;
};

struct Capped {
    const Model* model;
    const Expected* expected;
    const Bill* bill;
};

struct Certainly {
    const Model* model;
    const Bounds* bounds;
    const Dues* dues;
    const Goal* goal;
};

// Step a row; return the number of features needed, 0 at its end, U + 1 + use for the use of an opaque learner to call,
// or -1 without memory.
template <typename Make>
i64 step(const double* supplied, Make make) {
    return with_memory([&] {
        auto stepper = make();
        const i64 waits = stepper.advance(supplied);
        return waits < 0 ? stepper.row.model.n_used() - waits : waits;
    });
}

}  // namespace

EXPORT i64 step_row(const Plainly* way, u64* state, const double* supplied) {
    return step(supplied, [&] {
        return PlainRow{StepRow(*way->model, state, way->prices->split.data(), way->prices->spends != 0)};
    });
}

EXPORT i64 mark_needed(const bool* acquired, i64 n, i64 d, const Needs* needs, u8* needed) {
    return with_memory([&] { costframe::mark_needed({acquired, n, d}, *needs, {needed, n, needs->resources()}); });
}

EXPORT i64 price_rows(const u64* masks, i64 n, i64 W, const i64* columns, i64 U, const double* cost,
                      const Needs* needs, const double* resource_cost, const double* weight, bool* acquired, i64 d,
                      double* per_row, double* features, double* resources) {
    return with_memory([&] {
        costframe::price_rows({masks, n, W}, {columns, U, cost, *needs, resource_cost}, weight, {acquired, n, d},
                              per_row, features, resources);
    });
}

EXPORT i64 pay_tree(const double* X, i64 n, i64 d, const Tree* tree, const double* split, double learner, double reuse,
                    const double* cost, const Needs* needs, const double* resource_cost, u64* masks, i64 W,
                    double* computed, double* bought, i64* leaves) {
    return with_memory([&]() -> i64 {
        return costframe::pay_tree({X, n, d}, *tree, {split, learner, reuse}, {nullptr, d, cost, *needs, resource_cost},
                                   {{masks, n, W}, computed, bought, leaves});
    });
}

EXPORT void weigh_sets(const u64* sets, i64 M, i64 W, const double* mass, i64 B, double* found) {
    costframe::weigh_sets({sets, M, W}, {mass, B, 256}, found);
}

EXPORT void unite_sets(const i32* first, i64 G, const i32* output, i64 E, const bool* used, i64, const u64* sets, i64 W,
                       u64* found) {
    costframe::unite_sets(first, output, used, {sets, E, W}, {found, G, W});
}

EXPORT void price_offers(const i64* first, i64 G, const i64* output, i64 E, const double* price, const u64* reads,
                         i64 W, const u64* paid, const double* mass, i64 B, double* offers, i64) {
    costframe::price_offers(first, output, span(price, G), {reads, E, W}, {paid, G, W}, {mass, B, 256}, offers);
}

EXPORT i64 note_reads(const i32* leaves, i64 n, i64 T, const i64* root, const i64* parent, i64, const i32* feature,
                      const i64* tree, i64 l, const i64* first, const i64* group, i64 E, const bool* needs, i64 F,
                      i64 R, u64* reads, i64 W) {
    return with_memory([&] {
        const LearnerReads learners{root, parent, feature, span(tree, l), first, group, {needs, F, R}};
        costframe::note_reads({leaves, n, T}, learners, {reads, E, W});
    });
}

EXPORT i64 step_capped_row(const Capped* way, u64* state, const double* supplied) {
    return step(supplied, [&] { return CappedRow(*way->model, *way->expected, *way->bill, state); });
}

EXPORT i64 walk_capped(const double* X, i64 n, i64 d, const i64* rows, i64 m, const double* opaque, i64 o,
                       const bool* called, const u64* limits, i64 W, const u64* begin, i64 size, const Model* model,
                       const Expected* expected, const Bill* bill, i64* waits, i64* exits, bool* cut, double* share,
                       double* scores, i64 K, double* final, double* route_scores, u64* masks, i64 words, double* spent) {
    return with_memory([&] {
        const CappedTable table{{X, n, d}, {opaque, n, o}, {called, n, o}, {limits, n, W}};
        const CappedEnds ends{exits, cut, share, {scores, n, K}, {final, n, K}, route_scores, {masks, n, words}, spent};
        costframe::walk_capped(table, span(rows, m), span(begin, size), *model, *expected, *bill, waits, ends);
    });
}

EXPORT i64 step_certain_row(const Certainly* way, u64* state, const double* supplied) {
    return step(supplied, [&] { return CertainStepper(*way->model, *way->bounds, *way->dues, *way->goal, state); });
}

EXPORT i64 run_certain_rows(const double* X, i64 n, i64 d, const double* opaque, i64 o, const u64* begin, i64 size,
                            const Model* model, const Bounds* bounds, const Dues* dues, const Goal* goal,
                            double* scores, i64 K, u64* masks, i64 W, double* account, i64* rounds, bool* early) {
    return with_memory([&] {
        std::vector<u64> own(size);
        CertainStepper stepper(*model, *bounds, *dues, *goal, own.data());
        const CertainEnds ends{{scores, n, K}, {masks, n, W}, {account, n, 4}, rounds, early};
        costframe::run_certain_rows({X, n, d}, {opaque, n, o}, span(begin, size), *model, own, stepper, ends);
    });
}
