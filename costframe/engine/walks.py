"""Rows on their way through models: one by one, through plans, under limits, and until they are certain."""

from costframe.engine.charges import Needs
from costframe.engine.library import bind, bind_step, constants, struct
from costframe.engine.models import Model

# Single rows: engine/step.h, engine/ahead.h
walk_row = bind_step("walk_row(model: Model)", Model, walks=True)  # returns scores, and the exit
StepPrices = struct("StepPrices(split: f8[U?], spends: i8)")
step_row = bind_step("step_row(model: Model, prices: StepPrices)", Model, StepPrices)

# Rounds of rows of a table: engine/asked.h
ask_rows = bind(
    "ask_rows(X: f8[n,d], begin: u8[s], model: Model, prices: StepPrices, asked: >i4[n,U]) -> code", Model, StepPrices
)
ask_rows_of_trees = bind(
    "ask_rows_of_trees(X: f8[n,d], begin: u8[s], model: Model, leaves: i4[n,T], asked: >i4[n,U]) -> code",
    Model,
)

# Rows on their way through a plan: engine/plan.h
ADD_SETS, CALL_OPAQUES = constants("add_sets", "call_opaques")  # of `carry_rows`
Plan = struct("Plan(sets: u8[m,W], width: i8, stop: i8[m,3], model: i8[models,s])")
PaidSets = struct(
    "PaidSets(next: i8[S,m], price: f8[S,m], price_left: f8[S,m], can_pay: b1[S,m], keeps: b1[S?,M?], can_have: b1[m], "
    "planned: b1)"
)
step_plan_row = bind_step("step_plan_row(plan: Plan, paid: PaidSets)", Plan, PaidSets)
carry_rows = bind(
    "carry_rows(plan: Plan, paid: PaidSets, supplied: f8[v], X: >f8[n,d], places: >i8[n,p], opaque: f8[o,k], "
    "next: >i4[n?,m?], called: i8) -> code",
    Plan,
    PaidSets,
)

# Rows on their way while plans are made: engine/next_stops.h
choose_next = bind("choose_next(gains: f8[n,w], rows: i8[r], place: i8[r], price: f8[v,w], chosen: >i8[r])")

# Rows under limits: engine/capped.h; prices are whole numbers of W words, the lowest first
Bill = struct(
    "Bill(cost: u8[U,W], split: u8[U,W], comparisons: f8[U], needs: Needs, resource_cost: u8[R,W], round: u8[R?,W], "
    "stays: b1[R], reuse: u8[W], own: u8[L,W], most: u8[L,W])",
    Needs,
)
Expected = struct("Expected(column: f8[L], opaque: f8[O], knots: f8[J], curves: f8[C,K?], ranges: f8[M,K?])")
step_capped_row = bind_step("step_capped_row(model: Model, expected: Expected, bill: Bill)", Model, Expected, Bill)
walk_capped = bind(
    "walk_capped(X: f8[n,d], rows: i8[m], opaque: f8[n,O], called: b1[n,O], begin: u8[s], "
    "model: Model, expected: Expected, bill: Bill, waits: >i8[n], exits: >i8[n], cut: >b1[n], share: >f8[n], "
    "scores: >f8[n,K], final: >f8[n,K], route_scores: >f8[n], masks: >u8[n,words], spent: >f8[n,3], "
    "asked: >i4[n?,U?]) -> code",
    Model,
    Expected,
    Bill,
)

# Final scores of rows of one stage under limits: engine/expected.h
set_final_scores = bind(
    "set_final_scores(expected: Expected, scores: f8[n,K], cut: b1[n], share: f8[n], final: >f8[n,K])", Expected
)

# Rows that end when they are certain: engine/certain.h
Goal = struct("Goal(kind: i8, margin: f8, divisor: f8, above: f8, below: f8, by_sigmoid: b1)")
Dues = struct("Dues(cost: f8[U], needs: Needs, resource_cost: f8[R], split: f8[U], spends: b1)", Needs)
Bounds = struct(
    "Bounds(test_first: i8[U+1], test: i8[tests,5], every: u8[leaf_words], word_first: i8[L+1], value_first: i8[L], "
    "lowest: f8[leaf_values], highest: f8[leaf_values], ascends: b1[L])"
)
step_certain_row = bind_step(
    "step_certain_row(model: Model, bounds: Bounds, dues: Dues, goal: Goal)", Model, Bounds, Dues, Goal
)
run_certain_rows = bind(
    "run_certain_rows(X: f8[n,d], opaque: f8[n,O], begin: u8[s], model: Model, bounds: Bounds, dues: Dues, "
    "goal: Goal, scores: >f8[n,K], masks: >u8[n,words], account: >f8[n,4], rounds: >i8[n], early: >b1[n]) -> code",
    Model,
    Bounds,
    Dues,
    Goal,
)
