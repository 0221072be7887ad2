// The rounds of rows of a table: in which of them each row asks for each feature, as its inquiry does.
#pragma once

#include "ahead.h"

namespace costframe {

// Rows to follow from their first needs on, and where the round of each feature is written, 0 for one not asked for.
struct AskingRows {
    Matrix<const double> X;
    Vector<const u64> begin;  // the state of each row when it waits for its first needs
    Matrix<i32> asked;        // (n, U)
};

// Step each row to its end; `own` is the room of `stepper`. Return whether a row comes to an opaque learner whose
// outputs are not there, where it goes no further.
template <typename Stepper>
bool ask_by_steps(const AskingRows& rows, Vector<u64> own, Stepper& stepper) {
    const StepRow& row = stepper.row;
    std::vector<double> values(row.model.n_used());
    bool calls = false;
    for (i64 i = 0; i < rows.X.rows; ++i) {
        std::ranges::copy(rows.begin, own.begin());
        i64 waits = row.count;
        for (i32 round = 1; waits > 0; ++round) {
            for (i64 at = 0; at < row.count; ++at) {
                const i64 u = row.needed[at];
                values[at] = rows.X(i, row.model.used[u]);
                rows.asked(i, u) = round;
            }
            waits = stepper.advance(values.data());
        }
        calls |= waits < 0;
    }
    return calls;
}

// One stage of trees that acquire split by split, and columns. The leaves of a row tell all that it will ask for: trees
// on whose paths nothing is left need no look, and a feature left alone is what the row asks for next.
class OneStage {
   public:
    OneStage(const Model& model, const AskingRows& rows, Matrix<const i32> leaves)
        : rows_(rows), leaves_(leaves), own_(rows.begin.begin(), rows.begin.end()),
          row_(model, own_.data(), nullptr, false), model_(model), ahead_(row_), n_words_(ahead_.n_words()),
          paths_(model.word.size() * 2 * n_words_), first_(n_words_), left_(n_words_), rest_(n_words_),
          found_(n_words_) {
        for (i64 at = 0; at < row_.count; ++at) add(first_.data(), row_.needed[at]);
        describe_paths();
    }

    void ask() {
        for (i64 i = 0; i < rows_.X.rows; ++i) {
            std::ranges::copy(rows_.begin, own_.begin());
            for (i64 u = 0; u < model_.n_used(); ++u) row_.x[u] = rows_.X(i, model_.used[u]);
            begin(i);
            for (i32 round = 2; count(left_) > 0; ++round) {
                if (count(left_) == 1) {
                    found_ = left_;
                } else {
                    look(i);
                }
                note(i, round);
                std::ranges::fill(found_, 0);
            }
        }
    }

   private:
    static void add(u64* words, i64 u) { words[u >> 6] |= u64{1} << (u & 63); }

    static i64 count(const std::vector<u64>& words) {
        i64 total = 0;
        for (u64 word : words) total += std::popcount(word);
        return total;
    }

    // Features on the path to a node, and behind them the one that a row with its first values asks for there, if any.
    u64* path_to(i64 v) { return paths_.data() + v * 2 * n_words_; }

    void describe_paths() {
        for (i64 v = 0; v < std::ssize(model_.word); ++v) {  // parents before children
            const i64 parent = model_.nodes.parent[v];
            if (parent == v) continue;  // a root, maybe a leaf
            u64* path = path_to(v);
            std::copy_n(path_to(parent), 2 * n_words_, path);
            const i64 u = model_.feature(parent);
            const bool asks = std::any_of(path + n_words_, path + 2 * n_words_, [](u64 word) { return word != 0; });
            if (!asks && !(first_[u >> 6] >> (u & 63) & 1)) add(path + n_words_, u);
            add(path, u);
        }
    }

    // Note the first round of a row; set what is left after it, and what its trees wait for then.
    void begin(i64 i) {
        std::ranges::fill(left_, 0);
        std::ranges::fill(rest_, 0);
        for (i64 tree = 0; tree < leaves_.columns; ++tree) {
            const u64* path = path_to(leaves_(i, tree));
            for (i64 w = 0; w < n_words_; ++w) left_[w] |= path[w], rest_[w] |= path[n_words_ + w];
        }
        found_ = first_;
        note(i, 1);
        found_ = rest_;
    }

    // Note the round of the features found, which are then known, and left no more.
    void note(i64 i, i32 round) {
        for (i64 w = 0; w < n_words_; ++w) {
            for (u64 bits = found_[w]; bits != 0; bits &= bits - 1) {
                const i64 u = 64 * w + std::countr_zero(bits);
                rows_.asked(i, u) = round;
                row_.marks[u] |= is_known;
            }
            left_[w] &= ~found_[w];
        }
    }

    // Find all features left that trees certainly read next; some may be found.
    void look(i64 i) {
        for (i64 w = 0; w < n_words_; ++w) rest_[w] = left_[w] & ~found_[w];
        ahead_.want(left_[0]);
        for (i64 number = 0; number < model_.use.size && count(rest_) > 0; ++number) {
            const Use& use = model_.use[number];
            if (use.kind != tree_kind) continue;
            const u64* path = path_to(leaves_(i, use.tree));
            bool reads = false;
            for (i64 w = 0; w < n_words_; ++w) reads |= (path[w] & rest_[w]) != 0;
            if (!reads) continue;
            i64& at = row_.at[use.learner];
            at = row_.walk_on(at);
            ahead_.add_needs(use, found_.data());
            for (i64 w = 0; w < n_words_; ++w) rest_[w] &= ~found_[w];
        }
    }

    const AskingRows& rows_;
    const Matrix<const i32> leaves_;  // (n, trees): nodes
    std::vector<u64> own_;
    const StepRow row_;
    const Model& model_;
    Lookahead ahead_;
    const i64 n_words_;
    std::vector<u64> paths_;  // of each node
    std::vector<u64> first_, left_, rest_, found_;  // features: of the first round; not asked for, of these not found; found
};

}  // namespace costframe
