"""Rows: their hashes, exact sums, products and bins."""

from costframe.engine.library import bind, constants

# Rows and sums: engine/row_hashes.h, engine/row_digests.h, engine/sums.h
(DIGITS,) = constants("digits_of_doubles")  # of an exact sum
mix_words = bind("mix_words(words: >u8[n])")  # the finalizer of SplitMix64
hash_rows = bind("hash_rows(X: f8[n,d], hashes: >u8[n])")
digest_rows = bind("digest_rows(X: f8[n,d], columns: i8[c], y: f8[n], digests: >u8[n])")
add_exactly = bind("add_exactly(values: f8[n], sums: >i8[71])")
sum_exactly = bind("sum_exactly(values: f8[n]) -> f8")
round_digits = bind("round_digits(sums: i8[71]) -> f8")
exp_float32 = bind("exp_float32(values: f8[n], found: >f8[n])")
score_rows = bind("score_rows(left: f8[n,C], weights: f8[M,C], found: >f8[n,M])")
add_products = bind("add_products(left: f8[n,C], right: f8[n,M], high: >f8[M,C], low: >f8[M,C])")

# Bins: engine/binning.h, engine/cuts.h
bin_rows = bind(
    "bin_rows(X: f8[n,d], first: i8[d+1], cut: f8[c], low: f8[d], scale: f8[d], first_step: i8[d+1], certain: i4[s], "
    "window: i8[d], bins: >u1[n,d], columns: >u1[d,N], begin: i8)"
)
mark_unknown = bind(
    "mark_unknown(X: f8[n,d], first: i8[d+1], category: f8[c], features: i8[k], bins: >u1[n,d], columns: >u1[d,N], "
    "begin: i8)"
)
collect_distinct = bind("collect_distinct(X: f8[n,d], values: >f8[d,limit], counts: >i8[d]) -> code")
choose_cuts = bind("choose_cuts(columns: >f8[k,n], clippings: i8, cuts: >f8[k,max_bins], counts: >i8[k]) -> code")
