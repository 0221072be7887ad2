"""The compiled functions of BudgetRF and BudgetPrune, of `plugins/budgetforest/engine`."""

from pathlib import Path

from costframe.engine import Library

_library = Library.load(Path(__file__).with_name("forest"), __name__)

# Trees of BudgetRF: engine/budget_forest.h
PAIRS, GINI, ENTROPY = _library.constants("pairs", "gini", "entropy")  # impurities
BudgetRule = _library.struct(
    "BudgetRule(impurity: i8, alpha: f8, minimax: b1, max_features: i8, max_depth: i8, min_leaf: f8, base: f8)"
)
BudgetPrices = _library.struct(
    "BudgetPrices(feature: f8[F], split: f8[F], resource: f8[R], need_first: i8[F+1], need: i8[e])"
)
BudgetTree = _library.struct(
    "BudgetTree(feature: >i4[N], bin: >i4[N], missing_left: >b1[N], left: >i4[N], right: >i4[N], parent: >i4[N], "
    "depth: >i4[N], begin: >i8[N], end: >i8[N], counts: >f8[N,C])"
)
grow_budget_tree = _library.bind(
    "grow_budget_tree(columns: u1[F,n], y: i8[n], weight: f8[n], prices: BudgetPrices, rule: BudgetRule, "
    "rows: >i4[m], tree: BudgetTree, order: >i8[F], state: >i8[3]) -> code",
    BudgetPrices,
    BudgetRule,
    BudgetTree,
)

# Prunings of BudgetPrune: engine/pruning.h
ForestNodes = _library.struct(
    "ForestNodes(tree_first: i8[T+1], parent: i8[N], left: i8[N], right: i8[N], error: f8[N], fixed: f8[N], "
    "item_first: i8[N+1], item: i4[s], up: i8[N])"
)
Purchases = _library.struct("Purchases(first: >i8[P+1], row: >i4[P], item: >i4[P], node: >i4[E])")
list_items = _library.bind(
    "list_items(parent: i8[N], feature: i4[N], priced: u1[K], need_first: i8[d+1], need: i8[e], first: >i8[N+1], "
    "item: >i4[s]) -> code"
)
count_purchases = _library.bind(
    "count_purchases(leaves: i8[n,T], nodes: ForestNodes, n_items: i8, sizes: >i8[2]) -> code",
    ForestNodes,
)
fill_purchases = _library.bind(
    "fill_purchases(leaves: i8[n,T], nodes: ForestNodes, n_items: i8, purchases: Purchases) -> code",
    ForestNodes,
    Purchases,
)
raise_shares = _library.bind(
    "raise_shares(share: >f4[E], kept: u1[N], factor: f8, purchases: Purchases, weight: f8[n], price: f8[K], "
    "load: >f8[N])",
    Purchases,
)
prune_trees = _library.bind("prune_trees(nodes: ForestNodes, load: f8[N], value: >f8[N], kept: >u1[N])", ForestNodes)
price_levels = _library.bind(
    "price_levels(level: u1[N], purchases: Purchases, weight: f8[n], price: f8[K], sums: >f8[levels])",
    Purchases,
)
count_buyers = _library.bind(
    "count_buyers(leaves: i8[n,T], nodes: ForestNodes, kept: u1[N], count: >i4[n,K])", ForestNodes
)
prune_one_by_one = _library.bind(
    "prune_one_by_one(leaves: i8[n,T], nodes: ForestNodes, weight: f8[n], price: f8[K], kept: >u1[N], "
    "count: >i4[n,K], load: >f8[N], value: >f8[N])",
    ForestNodes,
)
count_labels = _library.bind("count_labels(leaves: i8[n,T], parent: i8[N], y: i8[n], weight: f8[n], counts: >f8[N,C])")
inherit_shares = _library.bind("inherit_shares(parent: i8[N], total: f8[N], shares: >f8[N,C])")
