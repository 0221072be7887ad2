// The C interface for trees of stages: their layout, prices of rows of a table, and single rows step by step.
#include "ahead.h"
#include "asked.h"
#include "bounds.h"
#include "capped.h"
#include "certain.h"
#include "charges.h"
#include "expected.h"
#include "interface.h"
#include "layout.h"
#include "needs.h"
#include "next_stops.h"
#include "visits.h"

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

EXPORT void order_nodes(const i64* first, i64 trees, const i32* feature, i64 n, const i32* left, const i32* right,
                        i64* origin, i64* parent, i64* steps, i32* depth) {
    costframe::order_nodes(span(first, trees + 1), span(feature, n), span(left, n), span(right, n), span(origin, n),
                           span(parent, n), span(steps, n), span(depth, trees));
}

EXPORT void tabulate_cuts(const i64* first, i64 d, const double* cut, i64 c, double* low, double* scale,
                          const i64* first_step, i32* certain, i64 s, i64* window) {
    costframe::tabulate_cuts(span(first, d + 1), span(cut, c), span(low, d), span(scale, d), span(first_step, d + 1),
                             span(certain, s), span(window, d));
}

EXPORT i64 count_gates(const i64* root, i64 trees, const i64* steps, i64 n, const i32* depth, const bool* by_category,
                       i64* n_words, i64* gate_first) {
    return with_memory([&] {
        costframe::count_gates(span(root, trees), span(steps, n), span(depth, trees), span(by_category, trees),
                               span(n_words, trees), span(gate_first, trees + 1));
    });
}

EXPORT i64 fill_gates(const i64* root, i64 trees, const i64* steps, i64 n, const i64* columns, const i64* ranks,
                      const i64* n_words, const i64* gate_first, i64* column, i64 gates, void* rank, i64 size,
                      i64* byte, u8* kept, u32* exit, i64 exits) {
    return with_memory([&] {
        const auto fill = [&]<typename Code>(Code* codes) {
            costframe::fill_gates<Code>(span(root, trees), span(steps, n), span(columns, n), span(ranks, n),
                                        span(n_words, trees), span(gate_first, trees + 1),
                                        {span(column, gates), span(codes, gates), span(byte, gates), span(kept, gates),
                                         span(exit, exits)});
        };
        if (size == 2) fill(static_cast<u16*>(rank));
        if (size == 4) fill(static_cast<u32*>(rank));
    });
}

EXPORT void fill_payload(const u8* kind, i64 L, const i32* width, const i64* place, const i64* target_first,
                         const i64* target, i64 T, const i64* payload_first, const i64* row, const double* weights,
                         i64 R, i64 K, const i64* origin, i64 n, const i64* first, const i64* value, i64 N,
                         const double* values, i64 V, double* payload, i64 P) {
    const UsesToLayOut uses{span(kind, L), span(width, L), span(place, L), span(target_first, L + 1), span(target, T),
                            span(payload_first, L + 1), span(row, L), {weights, R, K}};
    costframe::fill_payload(uses, {span(origin, n), span(first, L), span(value, N), span(values, V)}, span(payload, P));
}

EXPORT i64 lay_out_bounds(const Model* model, i64* test_first, i64* test, i64 tests, u64* every, i64 words,
                          const i64* word_first, const i64* value_first, double* lowest, i64 V, double* highest,
                          bool* ascends) {
    return with_memory([&] {
        const i64 L = model->use.size;
        return costframe::lay_out_bounds(*model, {span(test_first, model->n_used() + 1),
                                                  span(reinterpret_cast<LeafTest*>(test), tests), span(every, words),
                                                  span(word_first, L + 1), span(value_first, L), span(lowest, V),
                                                  span(highest, V), span(ascends, L)});
    });
}

EXPORT i64 step_row(const Plainly* way, u64* state, const double* supplied) {
    return step(supplied, [&] {
        return PlainRow{StepRow(*way->model, state, way->prices->split.data(), way->prices->spends != 0)};
    });
}

EXPORT i64 ask_rows(const double* X, i64 n, i64 d, const u64* begin, i64 size, const Model* model,
                    const StepPrices* prices, i32* asked) {
    return with_memory([&]() -> i64 {
        std::vector<u64> own(size);
        PlainRow row{StepRow(*model, own.data(), prices->split.data(), prices->spends != 0)};
        return ask_by_steps({{X, n, d}, span(begin, size), {asked, n, model->n_used()}}, own, row);
    });
}

EXPORT i64 ask_rows_of_trees(const double* X, i64 n, i64 d, const u64* begin, i64 size, const Model* model,
                             const i32* leaves, i64 T, i32* asked) {
    return with_memory([&] {
        OneStage(*model, {{X, n, d}, span(begin, size), {asked, n, model->n_used()}}, {leaves, n, T}).ask();
    });
}

EXPORT i64 mark_needed(const bool* acquired, i64 n, i64 d, const Needs* needs, u8* needed) {
    return with_memory([&] { costframe::mark_needed({acquired, n, d}, *needs, {needed, n, needs->resources()}); });
}

EXPORT i64 pay_tree(const double* X, i64 n, i64 d, const Tree* tree, const double* split, double learner, double reuse,
                    const double* cost, const Needs* needs, const double* resource_cost, u64* masks, i64 W,
                    double* computed, double* bought, i64* leaves) {
    return with_memory([&]() -> i64 {
        return costframe::pay_tree({X, n, d}, *tree, {split, learner, reuse}, {nullptr, d, cost, *needs, resource_cost},
                                   {{masks, n, W}, computed, bought, leaves});
    });
}

EXPORT i64 follow_tree(const Visits* visits, const Tree* tree, const double* X, i64 n, i64 d, const i32* rows, i64 m) {
    return with_memory([&] {
        AskingTree<Tree> way(*visits, *tree, d);
        const Matrix<const double> table{X, n, d};
        for (i64 i = 0; i < m; ++i) way.follow(rows[i], table[rows[i]]);
    });
}

EXPORT void recount_rounds(const Visits* visits, const i32* rows, i64 m, double* paid) {
    for (i64 i = 0; i < m; ++i) {
        visits->recount(rows[i]);
        paid[i] = visits->paid(rows[i]);
    }
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

EXPORT void choose_next(const double* gains, i64 n, i64 w, const i64* rows, i64 r, const i64* place,
                        const double* price, i64 v, i64* chosen) {
    costframe::choose_next({gains, n, w}, span(rows, r), span(place, r), {price, v, w}, span(chosen, r));
}

EXPORT i64 step_capped_row(const Capped* way, u64* state, const double* supplied) {
    return step(supplied, [&] { return CappedRow(*way->model, *way->expected, *way->bill, state); });
}

EXPORT i64 walk_capped(const double* X, i64 n, i64 d, const i64* rows, i64 m, const double* opaque, i64 o,
                       const bool* called, const u64* begin, i64 size, const Model* model,
                       const Expected* expected, const Bill* bill, i64* waits, i64* exits, bool* cut, double* share,
                       double* scores, i64 K, double* final, double* route_scores, u64* masks, i64 words, double* spent,
                       i32* asked, i64 asked_rows, i64 U) {
    return with_memory([&] {
        const CappedTable table{{X, n, d}, {opaque, n, o}, {called, n, o}};
        const CappedEnds ends{exits, cut, share, {scores, n, K}, {final, n, K}, route_scores, {masks, n, words}, spent,
                              {asked, asked_rows, U}};
        costframe::walk_capped(table, span(rows, m), span(begin, size), *model, *expected, *bill, waits, ends);
    });
}

EXPORT void set_final_scores(const Expected* expected, const double* scores, i64 n, i64 K, const bool* cut,
                             const double* share, double* final) {
    costframe::set_final_scores(*expected, {scores, n, K}, cut, share, {final, n, K});
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
