"""Trees grown at prices."""

from costframe.engine.charges import Visits
from costframe.engine.library import bind, constants, struct

# Growing trees: engine/room.h; fields as in trees/room.py and trees/prices.py
Task = struct(
    "Task(bins: u1[n,d], by_column: u1[d,n], words: >i8[n,w], columns: i8[k], n_bins: i8[k], categorical: b1[d?], "
    "signs: i1[d?], count_bits: i8, units: >f8[3], limits: f8[3], max_depth: i8, max_leaves: i8, breadth: b1, "
    "cells_worth_threads: i8, address: i8)"
)
Room = struct(
    "Room(state: >i8[4], gain: >f8[L,d], best: >i8[L,d,B], paid: >f8[L,items], money: >f8[L,d], place: >i8[L,8], "
    "numbers: >f8[L,4], tested: >b1[L,d?], nodes: >i8[M,10], gained: >f8[M], histogram: >i8[L,groups,bins,lanes,w], "
    "rows: >i4[n], price: >f8[d], goes_left: >b1[256], board: >i8[64], parts: >i8[helpers,groups,bins,lanes,w])"
)
Prices = struct(
    "Prices(kind: i8, tradeoff: f8, root: f8, reuse: f8, row_weight: f8[n?], split: f8[d?], once: >f8[d?], "
    "once_paid: >b1[d?], begin: i8[d+1?], needed: i8[needs], feature_price: f8[d?], feature_paid: >b1[d?], "
    "resource_price: f8[resources], resource_paid: >b1[resources], used: >b1[d?], totals: >f8[2], marks: >u8[n?,W], "
    "seen: f8[items], uncharged: f8[items], paid_by_all: >f8[items], true_once: f8[d?], n_items: i8, all_known: b1, "
    "address: i8, unit: f8, visits: Visits)",
    Visits,
)
pack = bind(
    "pack(gradients: f8[n], hessians: f8[n?], counts: i8[n?], count_bits: i8, address: i8, words: >i8[n,w], "
    "scales: >f8[2])"
)
fill_histogram = bind(
    "fill_histogram(bins: u1[n,d], words: i8[n,w], rows: i4[m], columns: i8[k], n_bins: i8[k], "
    "histogram: >i8[groups,size,lanes,w])"
)
subtract = bind("subtract(histogram: >i8[groups,size,lanes,w], child: i8[groups,size,lanes,w], n_bins: i8[k])")
find_splits = bind(
    "find_splits(task: Task, histogram: i8[groups,size,lanes,w], total: i8[2], bounds: f8[2], prices: f8[2,k?], "
    "gain: >f8[d], best: >i8[d,B]) -> code",
    Task,
)
route_rows = bind("route_rows(bins: u1[n,d], nodes: i8[M,10], leaf_of_row: >i4[n])")
finish_tree = bind(
    "finish_tree(task: Task, room: Room, prices: Prices, gradients: f8[n], hessians: f8[n?], rows: >i4[m], "
    "first: i8[d+1], cut: f8[c], leaf_of_row: >i4[n], feature: >i4[N], threshold: >f8[N], missing_left: >b1[N], "
    "left: >i4[N], right: >i4[N], outputs: >f8[N]) -> code",
    Task,
    Room,
    Prices,
)
sum_marks = bind("sum_marks(marks: u8[n,W], rows: i4[m], weight: f8[n?], sums: >f8[items])")
weigh_rows = bind("weigh_rows(rows: i4[m], weight: f8[n?]) -> f8")
price_marks = bind(
    "price_marks(marks: >u8[n,W], rows: i4[m], items: u8[m,W], cost: f8[items], n_features: i8, per_row: >f8[m], "
    "new_features: >f8[m])"
)
charge = bind("charge(prices: Prices, money: f8[d], price: >f8[d])", Prices)
DONE, MORE_LEAVES, PAUSE, BAD_GRADIENTS, BAD_HESSIANS, NEGATIVE = constants(  # how `grow` ends
    "done", "more_leaves", "pause_for_signals", "bad_gradients", "bad_hessians", "negative"
)
grow = bind(
    "grow(task: Task, room: Room, prices: Prices, gradients: f8[n], hessians: f8[n?], counts: i8[n?], "
    "rows: >i4[m]) -> code",
    Task,
    Room,
    Prices,
)
assist = bind("assist(task: Task, room: Room, prices: Prices, rows: >i4[m]) -> code", Task, Room, Prices)
