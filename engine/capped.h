// Walks of rows under limits; `StageWalker` in Python is their slow, obvious twin, to the last bit.
#pragma once

#include "needs.h"
#include "scores.h"

namespace costframe {

enum Learner : u8 { untouched, finished, given_up };      // states of a learner
enum Resource : u8 { unpaid, paid, pending, looked_at };  // a pending one is in a sum that may stay unpaid

// Prices, and the features that each use of a learner reads; the slot of its learner, and what it is expected to give.
struct Bill {
    Vector<const double> cost;         // (U,), like the next three
    Vector<const double> split;
    Vector<const double> comparisons;  // `split` in units of comparisons
    Vector<const bool> barred;
    Needs needs;
    Vector<const double> resource_cost;  // (R,)
    double reuse;
    Vector<const double> own;         // (L,): price of evaluating the learner
    Vector<const double> evaluation;  // (L,): e_t in its unit
    Vector<const i64> read_first;     // (L + 1,)
    Vector<const i64> read;
    Vector<const i64> slot;         // (L,)
    Vector<const double> expected;  // (L,)
    Vector<const double> expected_opaque;
    i64 by_path, expects;
};

// Ends of rows, and their purchases; see `CappedRows`.
struct Ends {
    i64* exits;
    bool* cut;
    double* share;
    Matrix<double> scores;
    double* route_scores;
    Matrix<u64> masks;
    double* spent;  // (rows, 3)
};

// One row on its way: its purchases, and its place in the stage tree.
template <typename Code>
class CappedRow {
   public:
    CappedRow(const Nodes& nodes, const Stages& stages, const Bill& bill)
        : nodes_(nodes), stages_(stages), bill_(bill), bought_(bill.cost.size()), used_(bill.cost.size()),
          seen_(bill.cost.size()), paid_(bill.resource_cost.size()), found_(bill.resource_cost.size()) {
        i64 n_learners = 0;
        for (i64 slot : bill.slot) n_learners = std::max(n_learners, slot + 1);
        state_.resize(n_learners);
        left_.resize(n_learners);
    }

    // Walk row i through all stages. If the model expects outputs of learners given up, the row ends at the stage where
    // it gives up the first; else these learners add nothing, and the row goes on.
    void walk(i64 i, Matrix<const double> X, Matrix<const Code> codes, Matrix<const double> opaque, double limit,
              const Ends& ends) {
        begin(limit, codes.data + i * codes.columns, X.data + i * X.columns, opaque.data + i * opaque.columns, ends.masks[i]);
        i64 stage = 0;
        while (true) {
            const i64 first = stages_.stage_first[stage], last = stages_.stage_first[stage + 1];
            const auto scores = ends.scores[i];
            std::copy_n(stages_.intercept[stage].begin(), scores.size(), scores.begin());
            for (i64 use = first; use < last; ++use) evaluate(use);
            i64 n_finished = 0;
            for (i64 use = first; use < last; ++use) n_finished += add_outputs(use, scores);
            ends.cut[i] |= n_finished < last - first;
            ends.exits[i] = stage;
            ends.share[i] = last > first ? static_cast<double>(n_finished) / static_cast<double>(last - first) : 1.0;
            if (stages_.below[stage] < 0 || (bill_.expects && ends.cut[i])) break;
            ends.route_scores[i] = scores[0];
            stage = scores[0] > stages_.threshold[stage] ? stages_.above[stage] : stages_.below[stage];
        }
        ends.spent[3 * i] = weight_, ends.spent[3 * i + 1] = comparisons_, ends.spent[3 * i + 2] = uses_;
    }

   private:
    void begin(double limit, const Code* codes, const double* x, const double* opaque, Vector<u64> mask) {
        limit_ = limit, codes_ = codes, x_ = x, opaque_ = opaque, mask_ = mask;
        spent_ = weight_ = comparisons_ = uses_ = 0.0;
        std::fill(bought_.begin(), bought_.end(), 0);
        std::fill(used_.begin(), used_.end(), 0);
        std::fill(seen_.begin(), seen_.end(), -1);
        std::fill(paid_.begin(), paid_.end(), unpaid);
        std::fill(state_.begin(), state_.end(), untouched);
    }

    void set_resources(i64 u, u8 before, u8 after) { bill_.needs.change(u, paid_.data(), before, after, found_.data(), 0); }

    // The price of a feature not yet bought, with the resources that it needs first.
    double price_of(i64 u) {
        double due = bill_.cost[u];
        if (bill_.needs.first[u] == bill_.needs.first[u + 1]) return due;
        const i64 count = bill_.needs.change(u, paid_.data(), unpaid, looked_at, found_.data(), 0);
        ascend(found_.data(), count, paid_.data(), looked_at);
        for (i64 at = 0; at < count; ++at) {
            due += bill_.resource_cost[found_[at]];
            paid_[found_[at]] = unpaid;
        }
        return due;
    }

    void buy(i64 u) {
        bought_[u] = 1;
        mask_[u >> 6] |= u64{1} << (u & 63);
        set_resources(u, unpaid, paid);
    }

    // Buy all features that a learner reads, or none; return false if it must be given up.
    bool buy_all(i64 use) {
        const auto reads = bill_.read.subspan(bill_.read_first[use], bill_.read_first[use + 1] - bill_.read_first[use]);
        double total = 0.0;
        bool barred = false;
        for (i64 u : reads) {
            double due = 0.0;
            if (!bought_[u]) {
                due = price_of(u);
                set_resources(u, unpaid, pending);
            }
            if (used_[u]) due += bill_.reuse;
            total += due;
            barred |= bill_.barred[u];
        }
        const bool possible = !barred && spent_ + total + bill_.own[use] <= limit_;
        for (i64 u : reads) set_resources(u, pending, unpaid);
        if (!possible) return false;
        for (i64 u : reads) {
            buy(u);
            used_[u] = 1;
            seen_[u] = use;
        }
        spent_ += total;
        uses_ += static_cast<double>(reads.size());
        return true;
    }

    // Buy what the test of a node needs; return false if the tree must be given up.
    bool buy_test(i64 node, i64 use) {
        const i64 u = nodes_.feature[node];
        const bool fresh = seen_[u] != use;
        double due = 0.0;
        if (!bought_[u]) due = price_of(u);
        if (fresh && used_[u]) due += bill_.reuse;
        if ((fresh && bill_.barred[u]) || !(spent_ + (due + bill_.split[u]) + bill_.own[use] <= limit_)) return false;
        if (!bought_[u]) buy(u);
        used_[u] = 1;
        seen_[u] = use;
        spent_ += due;
        spent_ += bill_.split[u];
        comparisons_ += bill_.comparisons[u];
        uses_ += fresh ? 1.0 : 0.0;
        return true;
    }

    u64 goes_right(u64 test) const {
        const u64 rank = test & rank_bits, code = codes_[test >> column_at & column_bits];
        return test >> named_at ? nodes_.sets[rank + (code >> 6)] >> (code & 63) & 1 : code > rank;
    }

    // Evaluate a use's learner, or give it up.
    void evaluate(i64 use) {
        const i64 slot = bill_.slot[use];
        if (state_[slot] != untouched) return;
        const bool is_tree = stages_.kind[use] == tree_kind;
        i64 node = stages_.place[use];
        bool done = spent_ + bill_.own[use] <= limit_;
        if (done && !(is_tree && bill_.by_path)) done = buy_all(use);
        if (done && is_tree) {
            u64 test = nodes_.word[node];
            while (test >> steps_at != 0 && (done = buy_test(node, use))) {
                node += static_cast<i64>((test >> steps_at & steps_bits) + goes_right(test));
                test = nodes_.word[node];
            }
        }
        left_[slot] = node;
        state_[slot] = done ? finished : given_up;
        if (done) {
            weight_ += bill_.evaluation[use];
            spent_ += bill_.own[use];
        }
    }

    // Add a learner's outputs, or expected outputs, to its targets; return whether it is finished.
    bool add_outputs(i64 use, Vector<double> scores) const {
        const bool done = state_[bill_.slot[use]] == finished;
        if (!(done || bill_.expects)) return done;
        const i64* target = stages_.target.data() + stages_.target_first[use];
        const i64 n_targets = stages_.target_first[use + 1] - stages_.target_first[use];
        const double* payload = stages_.payload.data() + stages_.payload_first[use];
        const u8 kind = stages_.kind[use];
        if (kind == opaque_kind) {
            const double* outputs = (done ? opaque_ : bill_.expected_opaque.data()) + stages_.place[use];
            for (i64 j = 0; j < n_targets; ++j) {
                scores[target[j]] += weigh_outputs(payload + j, n_targets, outputs, stages_.width[use]);
            }
            return done;
        }
        double value = 1.0;
        if (kind == tree_kind) {
            payload += (left_[bill_.slot[use]] - stages_.place[use]) * n_targets;
        } else {
            value = done ? x_[stages_.place[use]] : bill_.expected[use];
            if (done && std::isnan(value)) value = stages_.fill[use];
        }
        for (i64 j = 0; j < n_targets; ++j) scores[target[j]] += payload[j] * value;
        return done;
    }

    const Nodes& nodes_;
    const Stages& stages_;
    const Bill& bill_;
    const Code* codes_ = nullptr;
    const double *x_ = nullptr, *opaque_ = nullptr;
    double limit_ = 0, spent_ = 0, weight_ = 0, comparisons_ = 0, uses_ = 0;
    Vector<u64> mask_;               // features bought
    std::vector<u8> bought_, used_;  // (U,)
    std::vector<i64> seen_;          // (U,): the last use that read each
    std::vector<u8> paid_;           // of each resource
    std::vector<i64> found_;         // resources on the way
    std::vector<u8> state_;          // of each learner
    std::vector<i64> left_;          // the node at which each tree was left
};

}  // namespace costframe
