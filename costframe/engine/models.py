"""Models for tables: the leaves of trees, their paths, and the scores of stages."""

from costframe.engine.library import bind, constants, struct

# Trees and stages for tables: engine/nodes.h, engine/model.h, engine/leaves.h, engine/scores.h
Nodes = struct(
    "Nodes(root: i8[trees], depth: i4[trees], by_category: b1[trees], word: u8[nodes], sets: u8[sets], "
    "feature: i4[nodes], parent: i8[nodes], first: i8[U+1], cut: f8[cuts], low: f8[U], scale: f8[U], "
    "first_step: i8[U+1], certain: i4[steps], window: i8[U], column_first: i8[U+1], column_missing: u2|u4[columns], "
    "column_reading: i8[columns], category_column: i8[U+1], category_first: i8[named+1], category: f8[categories], "
    "n_words: i8[trees], gate_first: i8[trees+1], column: i8[gates], rank: u2|u4[gates], byte: i8[gates], "
    "kept: u1[gates], exit_first: i8[trees], exit: u4[exits])"
)
Model = struct(
    "Model(nodes: Nodes, path_count: i8[nodes], word: i8[nodes], reads: i8[nodes], threshold: f8[nodes], "
    "span: i8[spans,2], category: f8[known], used: i8[U], use: i8[L,11], use_value: f8[L,2], read: i8[reads], "
    "target: i8[targets], payload: f8[payload], stage: i8[stages,6], stage_value: f8[stages,values], "
    "column: i8[read_columns], n_learners: i8, n_opaque: i8, depth: i8)",
    Nodes,
)
SCORES, READS, SPENDING = constants("no_notes", "reads", "spending")  # what `score_stage` notes
Marks = struct("Marks(notes: i8, by_path: b1, node_mask: u8[nodes?,W], node_spent: f8[nodes?])")
code_rows = bind("code_rows(X: f8[n,d], used: i8[U], nodes: Nodes, codes: >u2|u4[c,n]) -> code", Nodes)
walk_leaves = bind("walk_leaves(codes: u2|u4[c,n], nodes: Nodes, leaves: >i4[n,trees]) -> code", Nodes)
write_outputs = bind(
    "write_outputs(codes: u1|u2|u4[n,T], dense: f8[n,D], source: i4[C], values: f8[C,V], rows: i8[m], factor: f8[m], "
    "out: >f8[m,C]) -> code"
)
score_stage = bind(
    "score_stage(X: f8[n,d], codes: u2|u4[c,n], model: Model, marks: Marks, opaque: f8[n,o], masks: >u8[k,words], "
    "spent: >f8[k,2], rows: i8[m], stage: i8, scores: >f8[m,K]) -> code",
    Model,
    Marks,
)

# Paths of trees: engine/paths.h
mark_paths = bind("mark_paths(parent: i8[n], feature: i4[n], masks: >u8[n,W])")
price_paths = bind("price_paths(parent: i8[n], feature: i4[n], split: f8[d], spent: >f8[n])")
describe_paths = bind(
    "describe_paths(parent: i8[n], feature: i4[n], n_features: i8, counts: >i8[n], word: >i8[n], reads: >i8[n]) -> code"
)
