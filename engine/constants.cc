// The numbers that Python asks for by name, so that each is written once: places of fields are in words.
#include <cstddef>

#include "binning.h"
#include "boosting.h"
#include "capped.h"
#include "certain.h"
#include "interface.h"
#include "plan.h"
#include "proximal.h"
#include "sums.h"
#include "workers.h"

using namespace costframe;

namespace {

constexpr i64 word_size = sizeof(i64);

constexpr Constant constants[] = {
    // Models: model.h, nodes.h, leaves.h
    {"tree_kind", tree_kind},
    {"column_kind", column_kind},
    {"opaque_kind", opaque_kind},
    {"plain", plain},
    {"zero_missing", zero_missing},
    {"whole", whole},
    {"whole_float32", whole_float32},
    {"most_nodes", steps_bits + 1},
    {"most_columns", column_bits + 1},
    {"most_ranks", rank_bits},
    {"named_at", named_at},
    {"steps_at", steps_at},
    {"column_at", column_at},
    {"left_at", left_at},
    {"by_category_at", by_category_at},
    {"missing_left_at", missing_left_at},
    {"reading_at", reading_at},
    {"no_notes", no_notes},
    {"reads", reads},
    {"spending", spending},
    // Single rows: step.h, capped.h, certain.h
    {"is_known", is_known},
    {"is_bought", is_bought},
    {"is_barred", is_barred},
    {"is_held", is_held},
    {"paid", paid},
    {"most_cap_ranks", most_cap_ranks},
    {"called", called},
    {"complete", complete},
    {"by_cap", by_cap},
    {"by_absence", by_absence},
    {"by_certainty", by_certainty},
    {"Account.weight", offsetof(Account, weight) / word_size},
    {"Account.comparisons", offsetof(Account, comparisons) / word_size},
    {"Account.uses", offsetof(Account, uses) / word_size},
    {"Account.n_used", offsetof(Account, n_used) / word_size},
    {"Account", sizeof(Account) / word_size},
    {"close_to_score", close_to_score},
    {"beyond_cut", beyond_cut},
    {"largest_of_all", largest_of_all},
    // Plans: plan.h
    {"PlanRow.stop", offsetof(PlanRow, stop) / word_size},
    {"PlanRow.paid", offsetof(PlanRow, paid) / word_size},
    {"PlanRow.why", offsetof(PlanRow, why) / word_size},
    {"PlanRow.rounds", offsetof(PlanRow, rounds) / word_size},
    {"PlanRow.status", offsetof(PlanRow, status) / word_size},
    {"PlanRow", sizeof(PlanRow) / word_size},
    {"arrives", arrives},
    {"pays", pays},
    {"waits", waits},
    {"add_sets", add_sets},
    {"call_opaques", call_opaques},
    // Growing trees: room.h, grow.h, losses.h, binning.h
    {"State.leaves", offsetof(trees::State, leaves) / word_size},
    {"Node.left_bins", offsetof(trees::Node, left_bins) / word_size},
    {"Board.stop", offsetof(trees::Board, stop) / word_size},
    {"Board.rows_per_thread", offsetof(trees::Board, rows_per_thread) / word_size},
    {"Board.threads", offsetof(trees::Board, threads) / word_size},
    {"line_words", trees::line_words},
    {"few_rows", trees::few_rows},
    {"nobody", trees::nobody},
    {"model", trees::model},
    {"each_row", trees::each_row},
    {"done", trees::done},
    {"more_leaves", trees::more_leaves},
    {"pause_for_signals", trees::pause_for_signals},
    {"bad_gradients", trees::bad_gradients},
    {"bad_hessians", trees::bad_hessians},
    {"negative", trees::negative},
    {"squared", trees::squared},
    {"logistic", trees::logistic},
    {"softmax", trees::softmax},
    {"missing_bin", missing_bin},
    // Sums, workers and weights: sums.h, workers.h, proximal.h
    {"digits_of_doubles", digits_of_doubles},
    {"add_words_up", trees::add_words_up},
    {"take_largest", trees::take_largest},
    {"add_doubles_up", trees::add_doubles_up},
    {"most_passes", most_passes},
};

}  // namespace

EXPORT bool find_constant(const char* name, i64* value) { return find_in(constants, name, value); }
