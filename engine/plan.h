// Rows on their way through a plan: from stop to stop, until each misses features or stays. See `PlannedPredictor`.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <functional>
#include <iterator>

#include "scores.h"
#include "step.h"

namespace costframe {

enum RowStatus : i64 { arrives, pays, waits, stays };           // one that pays lacks its new set of items
enum PlanRequest : i64 { no_request, add_sets, call_opaques };  // what rows need from Python

struct PlanStop {
    i64 answer, gains, planned;  // numbers of models, -1 for none
};

// See `PlanLayout` in Python: m stops, and their models.
struct Plan {
    Matrix<const u64> sets;       // (m, W): features of each stop
    i64 width;                    // of a row: values, and scores at its stop
    RecordRows<PlanStop> stop;    // (m, 3)
    RecordRows<Model> model;

    i64 n_opaque(i64 at) const { return model[stop[at].answer].n_opaque; }
};

// S sets of items that rows have paid for, and what each stop costs from there.
struct PaidSets {
    Matrix<const i64> next;           // (S, m): the set with a stop's items too; -1 if it is not there
    Matrix<const double> price;       // (S, m): tradeoff times the price of what the stop adds
    Matrix<const double> price_left;  // (S, m): the same for rows that follow a plan no more
    Matrix<const bool> can_pay;       // (S, m): whether the stop leaves the row within its cap
    Matrix<const bool> keeps;         // (S, m m), or none: of each stop, whether others that do still do after it
    Vector<const bool> can_have;      // (m,)
    i64 planned;

    Vector<const bool> kept(i64 paid, i64 to) const {
        return keeps[paid].subspan(to * can_have.size(), can_have.size());
    }
};

// A row: its stop, or its next one while it waits. Words of the features that have values follow.
// Why it may be cut are bits, of both limits: absence hides a cap to others, but it is the cap that parts it from a plan.
struct PlanRow {
    i64 stop, paid, why, rounds, status;
};

// Rows of a table with columns for the scores, (n, d + K), on their way through a plan.
struct PlanRows {
    const Plan& plan;
    const PaidSets& sets;
    Matrix<double> X;
    Matrix<i64> places;           // (n, 5 + W), see `PlanRow`
    Matrix<const double> opaque;  // outputs of opaque learners for the rows that arrive
    Matrix<i32> next;             // (n, m), or none: where rows go from each stop

    PlanRow& row(i64 i) const { return *reinterpret_cast<PlanRow*>(places[i].data()); }
    u64* known(i64 i) const { return reinterpret_cast<u64*>(&row(i) + 1); }

    // Give a row the values that its stop misses, as far as there are any, and return their end.
    const double* supply(i64 i, const double* value, const double* end) const {
        bool misses = false;
        for (i64 w = 0; w < plan.sets.columns; ++w) {
            u64 missing = plan.sets(row(i).stop, w) & ~known(i)[w];
            for (; missing != 0 && value < end; missing &= missing - 1) {
                const int bit = std::countr_zero(missing);
                X(i, 64 * w + bit) = *value++;
                known(i)[w] |= u64{1} << bit;
            }
            misses |= missing != 0;
        }
        row(i).status = misses ? waits : arrives;
        return value;
    }

    // Carry all rows on; `called` is the stop whose opaque outputs are there.
    PlanRequest carry(Vector<const double> supplied, i64 called) const {
        const double *value = supplied.data(), *end = value + supplied.size();
        for (i64 i = 0; i < X.rows; ++i) {
            if (row(i).status == pays || row(i).status == waits) value = supply(i, value, end);
        }
        while (true) {
            i64 stop = plan.sets.rows;  // rows never go back
            for (i64 i = 0; i < X.rows; ++i) {
                if (row(i).status == arrives) stop = std::min(stop, row(i).stop);
            }
            if (stop == plan.sets.rows) return no_request;
            if (plan.n_opaque(stop) > 0 && stop != called) return call_opaques;
            if (!visit(stop)) return add_sets;
        }
    }

    // Score the rows that arrive at a stop, and send them on; return false if a new set of paid items is not there.
    bool visit(i64 stop) const {
        const PlanStop& own = plan.stop[stop];
        std::vector<i64> rows, every, others;
        std::vector<double> values;
        for (i64 i = 0; i < X.rows; ++i) {
            if (row(i).status != arrives || row(i).stop != stop) continue;
            every.push_back(std::ssize(rows));
            rows.push_back(i);
            values.insert(values.end(), X[i].begin(), X[i].end());
        }
        const i64 n = std::ssize(rows), n_outputs = plan.model[own.answer].n_outputs();
        const Matrix<double> table{values.data(), n, X.columns};
        const std::vector<double> scores = score(own.answer, table, every, n_outputs);
        for (i64 i = 0; i < n; ++i) {
            for (auto of : {table[i], X[rows[i]]}) std::copy_n(&scores[i * n_outputs], n_outputs, of.end() - n_outputs);
        }
        std::vector<i64> to(n, stop);
        const i64 later = plan.sets.rows - 1 - stop;
        const bool has_plan = sets.planned && own.planned >= 0;  // by which rows go as long as they can pay for it
        const auto follows = [&](i64 i) { return has_plan && (row(rows[i]).why & by_cap) == 0; };
        if (has_plan) {
            std::ranges::copy_if(every, std::back_inserter(others), follows);
            const std::vector<double> gains = score(own.planned, table, others, later);
            for (std::size_t k = 0; k < others.size(); ++k) {
                to[others[k]] = choose(stop, row(rows[others[k]]), gains.data() + k * later, sets.price);
            }
            others.clear();
        }
        std::ranges::copy_if(every, std::back_inserter(others),
                             [&](i64 i) { return !follows(i) || spoils(stop, row(rows[i]).paid, to[i]); });
        if (own.gains >= 0) {
            const std::vector<double> gains = score(own.gains, table, others, later);
            for (std::size_t k = 0; k < others.size(); ++k) {
                const i64 i = others[k];
                to[i] = leave_plan(stop, row(rows[i]), gains.data() + k * later, follows(i) ? to[i] : stop);
            }
        }
        bool all_moved = true;
        for (i64 i = 0; i < n; ++i) all_moved &= move(rows[i], to[i]);
        return all_moved;
    }

    // Whether a row that goes on to a stop could not pay for some other one any more.
    bool spoils(i64 stop, i64 paid, i64 to) const {
        return sets.keeps.rows > 0 && to != stop && !std::ranges::all_of(sets.kept(paid, to), std::identity());
    }

    // Choose by gains without a plan. A row whose plan sends it on goes there all the same, unless its choice could not
    // be paid for from there: within the cap, the plan counts on what the row cannot have.
    i64 leave_plan(i64 stop, PlanRow& row, const double* gains, i64 planned) const {
        PlanRow left = row;
        const i64 to = choose(stop, left, gains, sets.price_left);
        if (planned != stop) {
            if (to == stop || sets.kept(row.paid, planned)[to]) return planned;
            left.why |= by_cap;
        }
        row.why = left.why;
        return to;
    }

    // The first stop of the least gain and price, of those that the row can have and pay; staying counts 0, NaN never.
    i64 choose(i64 stop, PlanRow& row, const double* gains, Matrix<const double> price) const {
        std::array<double, 3> least{};  // of all stops, of those that it can have, and of those that it can pay too
        std::array<i64, 3> to{stop, stop, stop};
        for (i64 j = stop + 1; j < plan.sets.rows; ++j) {
            const double total = gains[j - stop - 1] + price(row.paid, j);
            const int last = !sets.can_have[j] ? 0 : sets.can_pay(row.paid, j) ? 2 : 1;
            for (int k = 0; k <= last; ++k) {
                if (total < least[k]) least[k] = total, to[k] = j;
            }
        }
        if (to[2] != to[1]) row.why |= by_cap;
        if (to[1] != to[0]) row.why |= by_absence;
        return to[2];
    }

    // Send a row to its next stop; return false if its new set of paid items is not there.
    bool move(i64 i, i64 to) const {
        PlanRow& row = this->row(i);
        if (next.rows > 0) next(i, row.stop) = static_cast<i32>(to);
        if (to == row.stop) {
            row.status = stays;
            return true;
        }
        const i64 paid = sets.next(row.paid, to);
        row.stop = to;
        if (paid < 0) {
            row.status = pays;
            return false;
        }
        row.rounds += paid != row.paid;
        row.paid = paid;
        supply(i, nullptr, nullptr);
        return true;
    }

    // Score some rows of a table with a model of k outputs: few by walks of each, which begin at once, others together.
    std::vector<double> score(i64 number, Matrix<const double> table, const std::vector<i64>& rows, i64 k) const {
        constexpr std::size_t few = 16;
        std::vector<double> scores(rows.size() * k);
        const Matrix<double> found{scores.data(), std::ssize(rows), k};
        const Model& model = plan.model[number];
        if (rows.size() <= few && model.n_opaque == 0) {
            for (i64 i = 0; i < found.rows; ++i) walk_row(table[rows[i]].data(), model, found[i]);
        } else if (model.nodes.column_missing.width == 2) {
            score_table<u16>(model, table, rows, found);
        } else {
            score_table<u32>(model, table, rows, found);
        }
        return scores;
    }

    template <typename Code>
    void score_table(const Model& model, Matrix<const double> table, const std::vector<i64>& rows,
                     Matrix<double> scores) const {
        const i64 n_codes = model.nodes.column_missing.size;
        const Marks marks{no_notes, 0, {nullptr, 0, 1}, {}};
        std::vector<Code> codes(n_codes * table.rows);
        code_rows<Code>(table, model.used, model.nodes, {codes.data(), n_codes, table.rows});
        const Scoring<const Code> scoring{table, {codes.data(), n_codes, table.rows}, model, marks, opaque,
                                          {nullptr, 0, 1}, {nullptr, 0, 2}};
        score_rows(scoring, rows, 0, scores);
    }
};

}  // namespace costframe
