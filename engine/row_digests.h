// A digest of each row's values, BLAKE2b (RFC 7693) of 8 bytes: which rows are held out, and in which fold a row is,
// follows from it, so it stays as it is.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <utility>

#include "row_hashes.h"
#include "span.h"

namespace costframe {

// The state of BLAKE2b for a message of whole words.
struct Blake2b {
    static constexpr i64 block = 16, size = 8;  // words of a block, bytes of a digest
    static constexpr std::array<u64, 8> start = {0x6A09E667F3BCC908, 0xBB67AE8584CAA73B, 0x3C6EF372FE94F82B,
                                                 0xA54FF53A5F1D36F1, 0x510E527FADE682D1, 0x9B05688C2B3E6C1F,
                                                 0x1F83D9ABFB41BD6B, 0x5BE0CD19137E2179};
    static constexpr u8 order[10][16] = {
        {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}, {14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3},
        {11, 8, 12, 0, 5, 2, 15, 13, 10, 14, 3, 6, 7, 1, 9, 4}, {7, 9, 3, 1, 13, 12, 11, 14, 2, 6, 5, 10, 4, 0, 15, 8},
        {9, 0, 5, 7, 2, 4, 10, 15, 14, 1, 11, 12, 6, 8, 3, 13}, {2, 12, 6, 10, 0, 11, 8, 3, 4, 13, 7, 5, 15, 14, 1, 9},
        {12, 5, 1, 15, 14, 13, 4, 10, 0, 7, 6, 3, 9, 2, 8, 11}, {13, 11, 7, 14, 12, 1, 3, 9, 5, 0, 15, 4, 8, 6, 2, 10},
        {6, 15, 14, 9, 11, 3, 0, 8, 12, 2, 13, 7, 1, 4, 10, 5}, {10, 2, 8, 4, 7, 6, 1, 5, 15, 11, 9, 14, 3, 12, 13, 0}};

    std::array<u64, 8> hash = start;

    Blake2b() { hash[0] ^= 0x01010000 ^ size; }

    // Mix in a block of a message, filled up with zeros, of which `bytes` are known after it.
    void add(const std::array<u64, block>& words, u64 bytes, bool last) {
        std::array<u64, 16> v;
        for (int i = 0; i < 8; ++i) v[i] = hash[i], v[i + 8] = start[i];
        v[12] ^= bytes;
        if (last) v[14] = ~v[14];
        [&]<int... round>(std::integer_sequence<int, round...>) {
            (mix_all(v, words, order[round % 10]), ...);  // without a loop, the order is known to the compiler
        }(std::make_integer_sequence<int, 12>());
        for (int i = 0; i < 8; ++i) hash[i] ^= v[i] ^ v[i + 8];
    }

    // The digest, whose first byte counts most.
    u64 digest() const {
        u64 swapped = 0;
        for (int i = 0; i < 8; ++i) swapped = (swapped << 8) | ((hash[0] >> (8 * i)) & 0xFF);
        return swapped;
    }

private:
    static void mix_all(std::array<u64, 16>& v, const std::array<u64, block>& words, const u8* at) {
        mix(v, 0, 4, 8, 12, words[at[0]], words[at[1]]);
        mix(v, 1, 5, 9, 13, words[at[2]], words[at[3]]);
        mix(v, 2, 6, 10, 14, words[at[4]], words[at[5]]);
        mix(v, 3, 7, 11, 15, words[at[6]], words[at[7]]);
        mix(v, 0, 5, 10, 15, words[at[8]], words[at[9]]);
        mix(v, 1, 6, 11, 12, words[at[10]], words[at[11]]);
        mix(v, 2, 7, 8, 13, words[at[12]], words[at[13]]);
        mix(v, 3, 4, 9, 14, words[at[14]], words[at[15]]);
    }

    static void mix(std::array<u64, 16>& v, int a, int b, int c, int d, u64 x, u64 y) {
        v[a] += v[b] + x;
        v[d] = std::rotr(v[d] ^ v[a], 32);
        v[c] += v[d];
        v[b] = std::rotr(v[b] ^ v[c], 24);
        v[a] += v[b] + y;
        v[d] = std::rotr(v[d] ^ v[a], 16);
        v[c] += v[d];
        v[b] = std::rotr(v[b] ^ v[c], 63);
    }
};

// Of each row the values in some columns, in this order, and then its label.
inline void digest_rows(Matrix<const double> X, Vector<const i64> columns, Vector<const double> y,
                        Vector<u64> digests) {
    const i64 count = std::ssize(columns);
    for (i64 row = 0; row < X.rows; ++row) {
        Blake2b state;
        for (i64 begin = 0; begin <= count; begin += Blake2b::block) {
            const i64 end = std::min(begin + Blake2b::block, count + 1);
            std::array<u64, Blake2b::block> words{};
            for (i64 at = begin; at < end; ++at) words[at - begin] = word_of(at < count ? X(row, columns[at]) : y[row]);
            state.add(words, 8 * end, end > count);
        }
        digests[row] = state.digest();
    }
}

}  // namespace costframe
