// Sums of packed gradients per bin.
//
// Training spends most of its time here. A processor adds to about one place per cycle if the first-level cache holds
// it, but at half that speed if only the second-level cache does. So a part of the rows at a time is laid out by groups
// of eight columns, each bin as the place of its sums, and then added to the histograms of one group, or for two words
// of half a group. One vector adds both words of a row. Histograms hold the eight words of a group's bin side by side,
// for vectors that go through the bins of all its columns.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "room.h"

namespace costframe::trees {

using Bytes __attribute__((vector_size(8))) = u8;
using Places __attribute__((vector_size(16))) = u16;

// Places of sums of a part of the rows, eight for each row and group of columns, and the words of their gradients.
struct LaidOut {
    static constexpr i64 most_rows = 512, most_columns = 64;
    static constexpr i64 ahead = 16;              // rows between the prefetch and the copy of a row
    static constexpr i64 burst = 64;              // rows that are added before some are fetched
    static constexpr i64 stride = most_rows + 8;  // a power of two would crowd the groups into few sets of the cache

    std::array<u16, most_columns * stride> places;
    std::array<i64, 2 * most_rows> words;
};

// Copy the words of some rows, and lay out their bins; `last` is the last bin.
template <i64 n_words>
void lay_out(Matrix<const u8> bins, const i64* words, Vector<const i32> rows, Vector<const i64> columns, u64 last,
             LaidOut& laid) {
    const i64 n_columns = columns.size(), n_rows = rows.size(), groups = (n_columns + 7) / 8, first = columns[0];
    const bool unbroken = columns[n_columns - 1] - first == n_columns - 1;
    const i64 last_begin = unbroken ? bins.rows * bins.columns - first - 8 * groups : -1;
    const auto place = [&](u64 eight, i64 at, i64 group) {
        const u64 kept = eight & (last * 0x0101010101010101);
        const Places places = __builtin_convertvector(std::bit_cast<Bytes>(kept), Places) * static_cast<u16>(line_words);
        std::memcpy(&laid.places[8 * (group * LaidOut::stride + at)], &places, sizeof(Places));
    };
    for (i64 at = 0; at < n_rows; ++at) {
        const i64 row = rows[at];
        if (at + LaidOut::ahead < n_rows) {
            const i64 coming = rows[at + LaidOut::ahead];
            __builtin_prefetch(&bins(coming, first));
            __builtin_prefetch(&bins(coming, columns[n_columns - 1]));
            __builtin_prefetch(&words[n_words * coming]);
        }
        laid.words[n_words * at] = words[n_words * row];
        laid.words[n_words * at + n_words - 1] = words[n_words * row + n_words - 1];
        const bool may_pass = row * bins.columns <= last_begin;  // to read bins of no column
        const i64 whole = may_pass ? groups : unbroken ? n_columns / 8 : 0;
        const u8* cells = &bins(row, 0);
        for (i64 group = 0; group < whole; ++group) {
            u64 eight;
            std::memcpy(&eight, cells + first + 8 * group, 8);
            place(eight, at, group);
        }
        for (i64 group = whole; group < groups; ++group) {
            u64 eight = 0;
            for (i64 k = 0; k < std::min<i64>(8, n_columns - 8 * group); ++k) {
                eight |= u64{cells[columns[8 * group + k]]} << (8 * k);
            }
            place(eight, at, group);
        }
    }
}

using Pair __attribute__((vector_size(16), aligned(8), may_alias)) = i64;  // two words, which one instruction adds

// Add one or two words per row to the sums of a group of columns; `fixed` is their number, or 0.
template <i64 n_words, i64 fixed>
void add_words(const u16* places, const i64* words, i64 n_rows, i64 n_columns, i64* sums) {
    const i64 count = fixed ? fixed : n_columns;
    for (i64 at = 0; at < n_rows; ++at, places += 8, words += n_words) {
        if constexpr (n_words == 1) {
            const i64 own = *words;
            for (i64 k = 0; k < count; ++k) sums[places[k] + k] += own;
        } else {
            const Pair own = *reinterpret_cast<const Pair*>(words);
            for (i64 k = 0; k < count; ++k) *reinterpret_cast<Pair*>(sums + places[k] + 2 * k) += own;
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

// Fetch what `lay_out` will read of some rows into the second-level cache, while others are added.
template <i64 n_words>
void fetch_rows(Matrix<const u8> bins, const i64* words, Vector<const i32> rows, Vector<const i64> columns) {
    for (i32 row : rows) {
        __builtin_prefetch(&bins(row, columns.front()), 0, 2);
        __builtin_prefetch(&bins(row, columns.back()), 0, 2);
        __builtin_prefetch(&words[n_words * row], 0, 2);
        asm volatile("");  // or a compiler drops a loop without effects
    }
}

// Add some rows to the sums of at most `most_columns` columns, of which the first is in `group`.
template <i64 n_words>
void add_rows(Matrix<const u8> bins, const i64* words, Vector<const i32> rows, Vector<const i64> columns, i64 group,
              Histogram histogram, LaidOut& laid) {
    constexpr i64 lanes = line_words / n_words;
    const i64 n_rows = rows.size(), n_columns = columns.size(), n_groups = (n_columns + lanes - 1) / lanes;
    const bool scattered = n_rows > 0 && rows[n_rows - 1] - rows[0] >= n_rows;  // else a processor foresees them
    for (i64 begin = 0; begin < n_rows; begin += LaidOut::most_rows) {
        const i64 size = std::min(LaidOut::most_rows, n_rows - begin);
        lay_out<n_words>(bins, words, rows.subspan(begin, size), columns, histogram.bins - 1, laid);
        const auto next = rows.subspan(begin + size, scattered ? std::min(LaidOut::most_rows, n_rows - begin - size) : 0);
        i64 fetched = 0, bursts = n_groups * ((size + LaidOut::burst - 1) / LaidOut::burst);  // to come
        for (i64 at = 0; at < n_columns; at += lanes) {
            const u16* places = &laid.places[at / 8 * 8 * LaidOut::stride + at % 8];
            const i64 count = std::min(lanes, n_columns - at);
            const auto add = count == lanes ? add_words<n_words, lanes> : add_words<n_words, 0>;
            i64* sums = histogram.group(group + at / lanes).data();
            for (i64 row = 0; row < size; row += LaidOut::burst, --bursts) {
                add(places + 8 * row, &laid.words[n_words * row], std::min(LaidOut::burst, size - row), count, sums);
                const auto some = next.subspan(fetched, (std::ssize(next) - fetched) / bursts);
                fetch_rows<n_words>(bins, words, some, columns);
                fetched += std::ssize(some);
            }
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
    const i64 n_columns = columns.size();
    for (i64 first = 0; first < n_columns; first += LaidOut::most_columns) {
        const auto some = columns.subspan(first, std::min(LaidOut::most_columns, n_columns - first));
        const auto add = histogram.n_words == 1 ? add_rows<1> : add_rows<2>;
        add(bins, words.data, rows, some, first / histogram.lanes, histogram, laid);
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
