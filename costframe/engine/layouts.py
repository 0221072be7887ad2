"""Trees and models laid out: nodes in level order, tables of cuts, gates, and what leaves add at most."""

from costframe.engine.library import bind
from costframe.engine.models import Model

# engine/layout.h
order_nodes = bind(
    "order_nodes(first: i8[trees+1], feature: i4[nodes], left: i4[nodes], right: i4[nodes], origin: >i8[nodes], "
    "parent: >i8[nodes], steps: >i8[nodes], depth: >i4[trees])"
)
tabulate_cuts = bind(
    "tabulate_cuts(first: i8[d+1], cut: f8[c], low: >f8[d], scale: >f8[d], first_step: i8[d+1], certain: >i4[s], "
    "window: >i8[d])"
)
count_gates = bind(
    "count_gates(root: i8[trees], steps: i8[nodes], depth: i4[trees], by_category: b1[trees], n_words: >i8[trees], "
    "gate_first: >i8[trees+1]) -> code"
)
fill_gates = bind(
    "fill_gates(root: i8[trees], steps: i8[nodes], columns: i8[nodes], ranks: i8[nodes], n_words: i8[trees], "
    "gate_first: i8[trees+1], column: >i8[gates], rank: >u2|u4[gates], byte: >i8[gates], kept: >u1[gates], "
    "exit: >u4[exits]) -> code"
)
fill_payload = bind(
    "fill_payload(kind: u1[L], width: i4[L], place: i8[L], target_first: i8[L+1], target: i8[T], "
    "payload_first: i8[L+1], row: i8[L], weights: f8[R,K], origin: i8[nodes], first: i8[L], value: i8[N], "
    "values: f8[V], payload: >f8[P])"
)

# engine/bounds.h
lay_out_bounds = bind(
    "lay_out_bounds(model: Model, test_first: >i8[U+1], test: >i8[tests,5], every: >u8[leaf_words], "
    "word_first: i8[L+1], value_first: i8[L], lowest: >f8[leaf_values], highest: >f8[leaf_values], "
    "ascends: >b1[L]) -> code",
    Model,
)
