// Prices of a row's steps as whole numbers of W words, the lowest first, and their sums.
#pragma once

#include "needs.h"

namespace costframe {

enum Resource : u8 { unpaid, paid, pending };  // a pending one is in a sum that may stay unpaid

// Prices of a model's steps in one unit; see `Bill` in Python.
struct Bill {
    Matrix<const u64> cost;   // (U, W)
    Matrix<const u64> split;  // (U, W)
    Vector<const double> comparisons;  // (U,): `split` in units of comparisons
    Needs needs;
    Matrix<const u64> resource_cost;  // (R, W)
    Matrix<const u64> round;          // (R, W): of each further round that goes to it; no rows if these are free
    Vector<const bool> stays;         // (R,): no further round goes to it once it is there
    Vector<const u64> reuse;          // (W,)
    Matrix<const u64> own;   // (L, W): of evaluating the learner
    Matrix<const u64> most;  // (L, W): of that, and the most that its comparisons and further uses of features cost

    bool prices_rounds() const { return round.rows > 0; }
};

// Add whole numbers of as many words, the lowest first.
inline void add(Vector<u64> total, Vector<const u64> more) {
    u64 carry = 0;
    for (std::size_t w = 0; w < total.size(); ++w) {
        const u64 sum = total[w] + carry;
        carry = sum < carry;
        total[w] = sum + more[w];
        carry += total[w] < sum;
    }
}

// Add the price of a feature with the resources that it needs first; return the new count of `found`. Those that are
// unpaid are `after` now, and appended to the first `count` of `found`.
inline i64 add_feature(const Bill& bill, i64 u, u8* state, u8 after, i64* found, i64 count, Vector<u64> total) {
    add(total, bill.cost[u]);
    const i64 end = bill.needs.change(u, state, unpaid, after, found, count);
    for (i64 i = count; i < end; ++i) add(total, bill.resource_cost[found[i]]);
    return end;
}

inline bool exceeds(Vector<const u64> one, Vector<const u64> other) {
    for (std::size_t w = one.size(); w-- > 0;) {
        if (one[w] != other[w]) return one[w] > other[w];
    }
    return false;
}

}  // namespace costframe
