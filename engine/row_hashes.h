// A hash of each row's values, which depends neither on the order of rows nor on where they lie.
#pragma once

#include <bit>
#include <cmath>

#include "span.h"

namespace costframe {

// Spread the bits of a word over all of them (the finalizer of SplitMix64).
inline u64 mix(u64 word) {
    word = (word ^ (word >> 30)) * 0xBF58476D1CE4E5B9;
    word = (word ^ (word >> 27)) * 0x94D049BB133111EB;
    return word ^ (word >> 31);
}

inline void mix_words(Vector<u64> words) {
    for (u64& word : words) word = mix(word);
}

// The bits of a value; zeros of both signs are equal, and so are all NaN.
inline u64 word_of(double x) {
    constexpr u64 missing = 0x7FF8000000000000;
    return x == 0.0 ? 0 : std::isnan(x) ? missing : std::bit_cast<u64>(x);
}

// `hashes` are mixed with what is there, such as that of a label.
inline void hash_rows(Matrix<const double> X, Vector<u64> hashes) {
    constexpr u64 start = 0x9E3779B97F4A7C15;
    for (i64 row = 0; row < X.rows; ++row) {
        u64 mixed = start + hashes[row];
        for (double x : X[row]) mixed = mix(mixed ^ word_of(x)) + start;
        hashes[row] = mix(mixed);
    }
}

}  // namespace costframe
