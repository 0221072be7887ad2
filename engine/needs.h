// Resources that features need, directly or through other resources.
#pragma once

#include <vector>

#include "span.h"

namespace costframe {

// Feature f needs need[first[f]] to need[first[f + 1] - 1], and resource r its part of `further`; there are no circles.
struct Needs {
    Vector<const i64> first;  // (d + 1,)
    Vector<const i64> need;
    Vector<const i64> further_first;  // (R + 1,)
    Vector<const i64> further;

    i64 resources() const { return std::ssize(further_first) - 1; }

    // Change the state of all resources that a feature needs from `before` to `after`; return the new count. They are
    // appended to the first `count` of `found`. It does not look behind a resource in another state: whatever that one
    // needs must have another state than `before`, too.
    i64 change(i64 feature, u8* state, u8 before, u8 after, i64* found, i64 count) const {
        i64 at = count;
        for (i64 i = first[feature]; i < first[feature + 1]; ++i) count = reach(need[i], state, before, after, found, count);
        for (; at < count; ++at) {
            const i64 r = found[at];
            for (i64 i = further_first[r]; i < further_first[r + 1]; ++i) {
                count = reach(further[i], state, before, after, found, count);
            }
        }
        return count;
    }

   private:
    static i64 reach(i64 r, u8* state, u8 before, u8 after, i64* found, i64 count) {
        if (state[r] != before) return count;
        state[r] = after;
        found[count] = r;
        return count + 1;
    }
};

// Sort the first `count` numbers, which are all those with the state `marked`: sums keep their order.
inline void ascend(i64* found, i64 count, const u8* state, u8 marked) {
    constexpr i64 few = 8;  // numbers that are sorted by insertion
    if (count <= few) {
        for (i64 i = 1; i < count; ++i) {
            const i64 r = found[i];
            i64 at = i;
            for (; at > 0 && found[at - 1] > r; --at) found[at] = found[at - 1];
            found[at] = r;
        }
        return;
    }
    i64 low = found[0], high = found[0], at = 0;
    for (i64 i = 0; i < count; ++i) {
        low = found[i] < low ? found[i] : low;
        high = found[i] > high ? found[i] : high;
    }
    for (i64 r = low; r <= high; ++r) {
        if (state[r] == marked) found[at++] = r;
    }
}

// Set needed(i, r) to one if row i needs resource r for a feature that it acquires; it is zero before.
inline void mark_needed(Matrix<const bool> acquired, const Needs& needs, Matrix<u8> needed) {
    std::vector<i64> found(needed.columns);
    for (i64 i = 0; i < acquired.rows; ++i) {
        i64 count = 0;
        for (i64 f = 0; f < acquired.columns; ++f) {
            if (acquired(i, f)) count = needs.change(f, needed[i].data(), 0, 1, found.data(), count);
        }
    }
}

}  // namespace costframe
