// Four numbers that a processor handles at once, in the vectors of GCC and Clang; without wide registers, it takes two
// steps. Comparisons give -1 for true, and 0.
#pragma once

#ifndef LEVEL
#error "sources that are compiled once for all levels pass such vectors in another way: see WIDE in build.py"
#endif

#include <algorithm>
#include <bit>

#include "span.h"

namespace costframe {

using Double4 __attribute__((vector_size(32))) = double;
using Float4 __attribute__((vector_size(16))) = float;
using Whole4 __attribute__((vector_size(32))) = i64;
using Bits4 __attribute__((vector_size(32))) = u64;

inline Whole4 load_four(const i64* first) { return Whole4{first[0], first[1], first[2], first[3]}; }

inline void store_four(Whole4 values, i64* first) {
    for (i64 k = 0; k < 4; ++k) first[k] = values[k];
}

// The doubles `step` apart from the first on, as many as there are; zeros follow.
inline Double4 load_doubles(const double* first, i64 count, i64 step = 1) {
    if (count >= 4) return Double4{first[0], first[step], first[2 * step], first[3 * step]};
    Double4 found{};
    for (i64 k = 0; k < count; ++k) found[k] = first[k * step];
    return found;
}

inline void store_doubles(Double4 values, double* first, i64 count) {
    const i64 last = count >= 4 ? 4 : count;
    for (i64 k = 0; k < last; ++k) first[k] = values[k];
}

inline Double4 larger(Double4 a, Double4 b) { return a < b ? b : a; }

// Convert to doubles as a processor does, without an instruction that few have.
inline Double4 to_doubles(Whole4 whole) {
    const Bits4 bits = std::bit_cast<Bits4>(whole);
    const Bits4 low = (bits & 0xFFFFFFFFu) | u64{0x4330000000000000};  // 2^52 + the lower half
    const Bits4 high = (bits >> 32) ^ u64{0x4530000080000000};         // 2^84 + 2^63 + the upper half times 2^32
    return (std::bit_cast<Double4>(high) - 0x1.00000801p84) + std::bit_cast<Double4>(low);
}

// Return quotients by 2^bits, rounded down; with unsigned shifts, which come several at once.
inline Whole4 shift_down(Whole4 whole, i64 bits) {
    const Bits4 shifted = std::bit_cast<Bits4>(whole) >> static_cast<u64>(bits);
    const u64 sign = u64{1} << (63 - bits);
    return std::bit_cast<Whole4>((shifted ^ sign) - sign);
}

}  // namespace costframe
