"""What rows pay."""

from costframe.engine.library import bind, struct

# Prices of rows: engine/needs.h, engine/row_prices.h, engine/charges.h
Needs = struct("Needs(first: i8[U+1], need: i8[needs], further_first: i8[R+1], further: i8[further])")
Tree = struct(
    "Tree(feature: i4[N], threshold: f8[N], missing_left: b1[N], left: i4[N], right: i4[N], category_first: i8[N+1], "
    "categories: f8[categories], reading: u1[N])"
)
# Rounds of rows: engine/visits.h
Visits = struct(
    "Visits(price: f8[V], asked: >u1[n?,d?], visited: >u8[n?,V], ready: >u1[n?], moved: >b1[n?], group: i8[d?], "
    "first: i8[G+1], to: i8[ways], past: u8[ways])"
)
follow_tree = bind("follow_tree(visits: Visits, tree: Tree, X: f8[n,d], rows: i4[m]) -> code", Visits, Tree)
recount_rounds = bind("recount_rounds(visits: Visits, rows: i4[m], paid: >f8[m])", Visits)
mark_needed = bind("mark_needed(acquired: b1[n,U], needs: Needs, needed: >u1[n,R]) -> code", Needs)
price_rows = bind(
    "price_rows(masks: u8[n,W], columns: i8[U], cost: f8[U], needs: Needs, resource_cost: f8[R], weight: f8[n], "
    "acquired: >b1[n,d], per_row: >f8[n], features: >f8[U], resources: >f8[R]) -> code",
    Needs,
)
pay_tree = bind(
    "pay_tree(X: f8[n,U], tree: Tree, split: f8[U], learner: f8, reuse: f8, cost: f8[U], needs: Needs, "
    "resource_cost: f8[R], masks: >u8[n,W], computed: >f8[n], bought: >f8[n], leaves: >i8[n]) -> code",
    Tree,
    Needs,
)
weigh_sets = bind("weigh_sets(sets: u8[M,W], mass: f8[B,256], found: >f8[M])")
unite_sets = bind("unite_sets(first: i4[G+1], output: i4[E], used: b1[C], sets: u8[E,W], found: >u8[G,W])")
price_offers = bind(
    "price_offers(first: i8[G+1], output: i8[E], price: f8[G], reads: u8[E,W], paid: u8[G,W], mass: f8[B,256], "
    "offers: >f8[C])"
)
note_reads = bind(
    "note_reads(leaves: i4[n,T], root: i8[T+1], parent: i8[N], feature: i4[N], tree: i8[l], first: i8[l+1], "
    "group: i8[E], needs: b1[F,R], reads: >u8[E,W]) -> code"
)
