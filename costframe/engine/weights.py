"""Weights of learners: by forward selection, and with norms of groups."""

from costframe.engine.library import bind, constants

# Weights by forward selection and with norms: engine/forward_selection.h, engine/proximal.h
(MOST_PASSES,) = constants("most_passes")  # of `shrink`
select_forward = bind(
    "select_forward(gram: f8[C,C], right: >f8[C,M], ridge: f8, first: i8[G+1], output: i8[e], price: f8[G], "
    "reads: u8[e,W], paid: >u8[G,W], mass: f8[b,256], offers: >f8[C], patience: i8, support: >b1[C]) -> code"
)
shrink = bind(
    "shrink(residual: >f8[M,D], metric: f8[M,D], first: i8[J+1], member: i8[e], radius: f8[J], dual: >f8[M,e], "
    "disjoint: b1, zero: >b1[D]) -> code"
)
minimize_quadratic = bind(
    "minimize_quadratic(hessian: f8[M,D,D], gradient: f8[M,D], origin: f8[M,D], lipschitz: f8[M], scale: f8[D], "
    "first: i8[J+1], member: i8[e], radius: f8[J], dual: >f8[M,e], disjoint: b1, most: i8, tolerance: f8, "
    "found: >f8[M,D]) -> code"
)
