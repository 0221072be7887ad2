// The C interface of BudgetRF and BudgetPrune; structs are as `costframe_budgetforest/engine.py` lays them out.
#include "budget_forest.h"
#include "interface.h"
#include "pruning.h"

using namespace costframe;

constexpr Constant constants[] = {
    {"pairs", budget::pairs},
    {"gini", budget::gini},
    {"entropy", budget::entropy},
};

EXPORT bool find_constant(const char* name, i64* value) { return find_in(constants, name, value); }

// Growing: engine/budget_forest.h

EXPORT i64 grow_budget_tree(const u8* columns, i64 F, i64 n, const i64* y, const double* weight,
                            const budget::Prices* prices, const budget::Rule* rule, i32* rows, i64 m,
                            const budget::Tree* tree, i64* order, budget::State* state) {
    return with_memory([&] {
        const budget::Data data{{columns, F, n}, span(y, n), span(weight, n)};
        budget::grow(data, *prices, *rule, span(rows, m), *tree, span(order, F), *state);
    });
}

// Pruning: engine/pruning.h

EXPORT i64 list_items(const i64* parent, i64 N, const i32* feature, const u8* priced, i64 K, const i64* need_first,
                      i64 d, const i64* need, i64 e, i64* first, i32* item, i64 s) {
    return with_memory([&] {
        return pruning::list_items(span(parent, N), span(feature, N), span(priced, K),
                                   {span(need_first, d + 1), span(need, e)}, span(first, N + 1), span(item, s));
    });
}

EXPORT i64 count_purchases(const i64* leaves, i64 n, i64 T, const pruning::Nodes* nodes, i64 n_items, i64* sizes) {
    return with_memory([&] {
        const auto found = pruning::count_purchases({leaves, n, T}, *nodes, n_items);
        sizes[0] = found.entries;
        sizes[1] = found.pairs;
    });
}

EXPORT i64 fill_purchases(const i64* leaves, i64 n, i64 T, const pruning::Nodes* nodes, i64 n_items,
                          const pruning::Purchases* found) {
    return with_memory([&] { pruning::fill_purchases({leaves, n, T}, *nodes, n_items, *found); });
}

EXPORT void raise_shares(float* share, i64 E, const u8* kept, i64 N, double factor, const pruning::Purchases* bought,
                         const double* weight, i64 n, const double* price, i64 K, double* load) {
    pruning::raise_shares(span(share, E), span(kept, N), factor, *bought, span(weight, n), span(price, K),
                          span(load, N));
}

EXPORT void prune_trees(const pruning::Nodes* nodes, const double* load, double* value, u8* kept) {
    const i64 N = std::ssize(nodes->parent);
    pruning::prune(*nodes, span(load, N), 0, N, span(value, N), span(kept, N));
}

EXPORT void price_levels(const u8* level, i64 N, const pruning::Purchases* bought, const double* weight, i64 n,
                         const double* price, i64 K, double* sums, i64 levels) {
    pruning::price_levels(span(level, N), *bought, span(weight, n), span(price, K), span(sums, levels));
}

EXPORT void count_buyers(const i64* leaves, i64 n, i64 T, const pruning::Nodes* nodes, const u8* kept, i32* count,
                         i64 K) {
    pruning::count_buyers({leaves, n, T}, *nodes, span(kept, std::ssize(nodes->parent)), {count, n, K});
}

EXPORT void prune_one_by_one(const i64* leaves, i64 n, i64 T, const pruning::Nodes* nodes, const double* weight,
                             const double* price, i64 K, u8* kept, i32* count, double* load, double* value) {
    const i64 N = std::ssize(nodes->parent);
    pruning::prune_one_by_one({leaves, n, T}, *nodes, span(weight, n), span(price, K), span(kept, N), {count, n, K},
                              span(load, N), span(value, N));
}

EXPORT void count_labels(const i64* leaves, i64 n, i64 T, const i64* parent, i64 N, const i64* y,
                         const double* weight, double* counts, i64 C) {
    pruning::count_labels({leaves, n, T}, span(parent, N), span(y, n), span(weight, n), {counts, N, C});
}

EXPORT void inherit_shares(const i64* parent, i64 N, const double* total, double* shares, i64 C) {
    pruning::inherit_shares(span(parent, N), span(total, N), {shares, N, C});
}
