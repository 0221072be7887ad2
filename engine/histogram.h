// Sums of packed gradients per bin.
//
// Training spends most of its time here. A processor adds to about one place per cycle if the first-level cache holds
// it, but at half that speed if only the second-level cache does. So a part of the rows at a time is laid out by groups
// of eight columns, and then added to the histograms of one group, or for two words of half a group. One vector adds
// both words of a row. Histograms hold the eight words of a group's bin side by side, for vectors that go through the
// bins of all its columns.
#pragma once

#include <algorithm>
#include <array>
#include <cstring>

#include "room.h"

namespace costframe::trees {

// Rows of eight columns at a time, one word for each row and group of columns, and the words of their gradients.
struct LaidOut {
    static constexpr i64 most_rows = 512, most_columns = 64;
    static constexpr i64 ahead = 16;              // rows between the prefetch and the copy of a row
    static constexpr i64 stride = most_rows + 8;  // a power of two would crowd the groups into few sets of the cache

    std::array<u64, most_columns / 8 * stride> eights;
    std::array<i64, 2 * most_rows> words;
};

// Copy the words of some rows, and their bins in groups of eight columns, the first one lowest.
inline void lay_out(Matrix<const u8> bins, Matrix<const i64> words, Vector<const i32> rows, Vector<const i64> columns,
                    LaidOut& laid) {
    const i64 n_columns = columns.size(), n_rows = rows.size(), groups = (n_columns + 7) / 8, first = columns[0];
    const bool unbroken = columns[n_columns - 1] - first == n_columns - 1;
    const i64 last_begin = unbroken ? bins.rows * bins.columns - first - 8 * groups : -1;
    for (i64 at = 0; at < n_rows; ++at) {
        const i64 coming = rows[std::min(at + LaidOut::ahead, n_rows - 1)], row = rows[at];
        __builtin_prefetch(&bins(coming, first));
        __builtin_prefetch(&bins(coming, columns[n_columns - 1]));
        __builtin_prefetch(&words(coming, 0));
        for (i64 word = 0; word < words.columns; ++word) laid.words[at * words.columns + word] = words(row, word);
        const bool may_pass = row * bins.columns <= last_begin;  // to read bins of no column
        const i64 whole = may_pass ? groups : unbroken ? n_columns / 8 : 0;
        const u8* cells = &bins(row, 0);
        u64* eights = &laid.eights[at];
        for (i64 group = 0; group < whole; ++group) {
            std::memcpy(&eights[group * LaidOut::stride], cells + first + 8 * group, 8);
        }
        for (i64 group = whole; group < groups; ++group) {
            u64 eight = 0;
            for (i64 k = 0; k < std::min<i64>(8, n_columns - 8 * group); ++k) {
                eight |= u64{cells[columns[8 * group + k]]} << (8 * k);
            }
            eights[group * LaidOut::stride] = eight;
        }
    }
}

// Add one word per row to the sums of a group of eight columns, or of fewer, if `fixed` is 0. `last` is the last bin.
template <i64 fixed>
void add_words(const u64* eights, const i64* words, i64 n_rows, i64 n_columns, u64 last, i64* sums) {
    for (i64 at = 0; at < n_rows; ++at) {
        const u64 bins = eights[at];
        const i64 word = words[at];
        for (i64 k = 0; k < (fixed ? fixed : n_columns); ++k) sums[((bins >> (8 * k)) & last) * line_words + k] += word;
    }
}

using Pair __attribute__((vector_size(16), aligned(8), may_alias)) = i64;  // two words, which one instruction adds

// Add two words per row to the sums of a group of four columns, or of fewer, that begin at the `first` of eight.
template <i64 fixed>
void add_pairs(const u64* eights, const i64* words, i64 n_rows, i64 first, i64 n_columns, u64 last, i64* sums) {
    for (i64 at = 0; at < n_rows; ++at) {
        const u64 bins = eights[at] >> (8 * first);
        const Pair both = *reinterpret_cast<const Pair*>(words + 2 * at);
        for (i64 k = 0; k < (fixed ? fixed : n_columns); ++k) {
            *reinterpret_cast<Pair*>(sums + ((bins >> (8 * k)) & last) * line_words + 2 * k) += both;
        }
    }
}

// Return the largest number of bins of a group's columns.
inline i64 used_bins(Vector<const i64> n_bins, i64 group, i64 lanes) {
    i64 most = 0;
    for (i64 k = group * lanes; k < std::min<i64>(n_bins.size(), (group + 1) * lanes); ++k) {
        most = std::max(most, n_bins[k]);
    }
    return most;
}

// Add the rows that are laid out to the sums of the columns, of which the first is in `group`.
inline void add_laid(const LaidOut& laid, i64 n_rows, i64 n_columns, i64 group, Histogram histogram) {
    const u64 last = histogram.bins - 1;
    for (i64 at = 0; at < n_columns; at += histogram.lanes, ++group) {
        const u64* eights = &laid.eights[at / 8 * LaidOut::stride];
        const i64 *words = laid.words.data(), count = std::min(histogram.lanes, n_columns - at);
        i64* sums = histogram.group(group).data();
        if (histogram.n_words == 1) {
            (count == 8 ? add_words<8> : add_words<0>)(eights, words, n_rows, count, last, sums);
        } else {
            (count == 4 ? add_pairs<4> : add_pairs<0>)(eights, words, n_rows, at % 8, count, last, sums);
        }
    }
}

// Fill the histogram of some rows on some columns, ascending, in the used bins. It has a power of two of bins, at most
// 256 and more than any column's; the last one is for missing values.
inline void fill_histogram(Matrix<const u8> bins, Matrix<const i64> words, Vector<const i32> rows,
                           Vector<const i64> columns, Vector<const i64> n_bins, Histogram histogram) {
    for (i64 group = 0; group < histogram.groups; ++group) {
        const auto sums = histogram.group(group);
        std::ranges::fill(sums.first(line_words * used_bins(n_bins, group, histogram.lanes)), 0);
        std::ranges::fill(sums.last(line_words), 0);  // the missing bin
    }
    LaidOut laid;
    const i64 n_rows = rows.size(), n_columns = columns.size();
    for (i64 first = 0; first < (n_rows > 0 ? n_columns : 0); first += LaidOut::most_columns) {
        const auto some = columns.subspan(first, std::min(LaidOut::most_columns, n_columns - first));
        for (i64 begin = 0; begin < n_rows; begin += LaidOut::most_rows) {
            const auto part = rows.subspan(begin, std::min(LaidOut::most_rows, n_rows - begin));
            lay_out(bins, words, part, some, laid);
            add_laid(laid, part.size(), some.size(), first / histogram.lanes, histogram);
        }
    }
}

// Call `change(word, of another histogram)` for the words of the used bins, and of the missing bin.
template <typename Change>
void for_used_words(Histogram histogram, Histogram other, Vector<const i64> n_bins, Change change) {
    for (i64 group = 0; group < histogram.groups; ++group) {
        const auto sums = histogram.group(group), others = other.group(group);
        const i64 used = line_words * used_bins(n_bins, group, histogram.lanes), missing = sums.size() - line_words;
        for (i64 at = 0; at < used; ++at) change(sums[at], others[at]);
        for (i64 at = missing; at < missing + line_words; ++at) change(sums[at], others[at]);
    }
}

// Add the sums of a part of the rows to those of another.
inline void add_to(Histogram histogram, Histogram part, Vector<const i64> n_bins) {
    for_used_words(histogram, part, n_bins, [](i64& sum, i64 more) { sum += more; });
}

// Turn a parent's histogram into that of its other child.
inline void subtract(Histogram histogram, Histogram child, Vector<const i64> n_bins) {
    for_used_words(histogram, child, n_bins, [](i64& sum, i64 less) { sum -= less; });
}

}  // namespace costframe::trees
