"""Rounds of boosted trees, and their losses."""

from costframe.engine.growing import Prices, Room, Task
from costframe.engine.library import bind

# Boosting: engine/losses.h, engine/boosting.h, engine/regression.h
derive = bind(
    "derive(kind: i8, y: f8[n], scores: f8[n,K], address: i8, first: i8, last: i8, gradients: >f8[K,n], "
    "hessians: >f8[K,n])"
)
sum_losses = bind(
    "sum_losses(kind: i8, y: f8[n], weight: f8[n], scores: f8[n,K], rows: i4[m], count_bits: i8, address: i8, "
    "total: >f8[1]) -> code"
)
add_rounds = bind(
    "add_rounds(task: Task, room: Room, prices: Prices, kind: i8, y: f8[n], weight: f8[n], counts: i8[n], "
    "inside: i4[m], outside: i4[o], largest: f8, step: f8, scores: >f8[n,K], nodes: >i8[R,K,N,5], "
    "values: >f8[R,K,N], sizes: >i8[R,K], lost: >f8[R], kept: >f8[R,o,K], gain: >f8[d,d]) -> code",
    Task,
    Room,
    Prices,
)
boost_many = bind(
    "boost_many(task: Task, room: Room, prices: Prices, weight: f8[n], counts: i8[n], inside: i4[m], outside: i4[o], "
    "step: f8, residual: >f8[n,T], mix: >f8[T], largest: >f8[1], nodes: >i8[R,N,5], values: >f8[R,N,T], "
    "sizes: >i8[R], lost: >f8[R], kept: >f8[R,o,T]) -> code",
    Task,
    Room,
    Prices,
)

# Ranking losses: engine/ranking.h
pair_gradients = bind(
    "pair_gradients(scores: f8[n], grades: f8[n], counts: f8[n], starts: i8[Q+1], gradient: >f8[n], hessian: >f8[n])"
)
pair_losses = bind("pair_losses(scores: f8[n], grades: f8[n], counts: f8[n], starts: i8[Q+1], losses: >f8[Q])")
discounted_gains = bind(
    "discounted_gains(scores: f8[n], gains: f8[n], spans: f8[n], starts: i8[Q+1], discounts: f8[k], "
    "found: >f8[Q]) -> code"
)
lambda_gradients = bind(
    "lambda_gradients(scores: f8[n], gains: f8[n], counts: f8[n], spans: f8[n], starts: i8[Q+1], discounts: f8[k], "
    "gradient: >f8[n], hessian: >f8[n]) -> code"
)
