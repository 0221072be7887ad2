// The bin of every value, the values of columns with few distinct values, and cuts at quantiles.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "cuts.h"
#include "span.h"

namespace costframe {

constexpr i64 strip = 256;  // rows at a time, so that the cache holds them
constexpr u8 missing_bin = 255;

// Write into `bins`, (n, d), the number of thresholds below each value of X, at most 255 for each column, and 255 for
// NaN; into `columns`, (d, more rows), too, column after column, from place `begin` on.
inline void bin_rows(Matrix<const double> X, const Cuts& cuts, Matrix<u8> bins, Matrix<u8> columns, i64 begin) {
    std::array<double, strip> values;
    std::array<u32, strip> below;
    for (i64 first = 0; first < X.rows; first += strip) {
        const i64 size = std::min(strip, X.rows - first);
        for (i64 feature = 0; feature < X.columns; ++feature) {
            for (i64 at = 0; at < size; ++at) values[at] = X(first + at, feature);
            count_below(std::span(below).first(size), std::span(values).first(size), cuts, feature);
            for (i64 at = 0; at < size; ++at) {
                const u8 cell = std::isnan(values[at]) ? missing_bin : static_cast<u8>(below[at]);
                bins(first + at, feature) = cell;
                columns(feature, begin + first + at) = cell;
            }
        }
    }
}

// Set the bins of values that are not categories of their feature, among categorical ones, to the missing bin; `bins`
// and `columns` are as `bin_rows` wrote them, and the categories of feature f are category[first[f]:first[f + 1]].
inline void mark_unknown(Matrix<const double> X, Vector<const i64> first, Vector<const double> category,
                         Vector<const i64> features, Matrix<u8> bins, Matrix<u8> columns, i64 begin) {
    for (i64 row = 0; row < X.rows; ++row) {
        for (i64 feature : features) {
            const u8 cell = bins(row, feature);
            const i64 at = first[feature] + cell;
            if (cell != missing_bin && (at >= first[feature + 1] || category[at] != X(row, feature))) {
                bins(row, feature) = missing_bin;
                columns(feature, begin + row) = missing_bin;
            }
        }
    }
}

// The distinct values of a column, in order of appearance, by a hash table of their numbers.
struct DistinctValues {
    static constexpr i64 n_slots = 1024;  // a power of two, four times the most values of a column
    static constexpr u8 empty = 255;
    std::array<u8, n_slots> slots;
    double last = std::numeric_limits<double>::quiet_NaN();  // equal values often follow each other

    DistinctValues() { slots.fill(empty); }

    // Hash a double so that whole and other simple numbers spread.
    static i64 slot_of(double x) {
        i64 bits = x == 0.0 ? 0 : std::bit_cast<i64>(x);  // zero has two signs
        bits ^= bits >> 32;
        bits ^= bits >> 20;
        return (bits ^ (bits >> 10)) & (n_slots - 1);
    }

    // Add a value to the first `count` ones if it is not among them; return whether there was room.
    bool add(double x, std::span<double> values, i64& count) {
        if (x == last || std::isnan(x)) return true;
        last = x;
        i64 slot = slot_of(x);
        while (slots[slot] != empty && values[slots[slot]] != x) slot = (slot + 1) & (n_slots - 1);
        if (slots[slot] != empty) return true;
        if (count == std::ssize(values)) return false;
        slots[slot] = static_cast<u8>(count);
        values[count++] = x;
        return true;
    }
};

// Collect the distinct values of each column, without NaN, in `values`, (d, limit), with a limit of at most 255. The
// count of a column becomes the number of values, or limit + 1 if more; it skips columns that have more already.
inline void collect_distinct(Matrix<const double> X, Matrix<double> values, Vector<i64> counts) {
    std::vector<DistinctValues> known(X.columns);
    const i64 limit = values.columns;
    for (i64 first = 0; first < X.rows; first += strip) {
        for (i64 column = 0; column < X.columns; ++column) {
            for (i64 row = first; row < std::min(first + strip, X.rows) && counts[column] <= limit; ++row) {
                if (!known[column].add(X(row, column), values[column], counts[column])) ++counts[column];
            }
        }
    }
}

// Sorts series of doubles, NaN last, by the digits of their bits, a quarter of the time of comparisons.
class DigitSort {
public:
    explicit DigitSort(i64 size) : key(size), other(size), starts(n_digits * base) {}

    void sort(std::span<double> values) {
        if (values.empty()) return;
        std::ranges::fill(starts, 0);
        for (std::size_t i = 0; i < values.size(); ++i) {
            key[i] = ascending(values[i]);
            for (int digit = 0; digit < n_digits; ++digit) ++starts[place(key[i], digit)];
        }
        for (int digit = 0; digit < n_digits; ++digit) {
            if (starts[place(key[0], digit)] == values.size()) continue;  // all have the same
            const auto own = std::span(starts).subspan(digit * base, base);
            std::exclusive_scan(own.begin(), own.end(), own.begin(), u32{0});
            for (std::size_t i = 0; i < values.size(); ++i) other[starts[place(key[i], digit)]++] = key[i];
            key.swap(other);
        }
        for (std::size_t i = 0; i < values.size(); ++i) {
            values[i] = std::bit_cast<double>(key[i] ^ (key[i] & sign ? sign : ~u64{0}));
        }
    }

private:
    static constexpr int n_digits = 6, digit_bits = 11, base = 1 << digit_bits;
    static constexpr u64 sign = u64{1} << 63;
    std::vector<u64> key, other;
    std::vector<u32> starts;  // how many keys have each digit, then where they begin

    // Number doubles so that whole numbers ascend as they do; all NaN have the last number, and zero has one sign.
    static u64 ascending(double x) {
        const u64 bits = std::bit_cast<u64>(x + 0.0);
        return std::isnan(x) ? ~u64{0} : bits ^ (bits & sign ? ~u64{0} : sign);
    }

    static std::size_t place(u64 number, int digit) {
        return digit * base + (number >> (digit * digit_bits) & (base - 1));
    }
};

// Set the distinct values of an ascending series, NaN at its end, and their masses.
inline void count_values(std::span<const double> ordered, std::vector<double>& values, std::vector<double>& masses) {
    values.clear();
    masses.clear();
    for (double x : ordered) {
        if (std::isnan(x)) break;
        if (!values.empty() && values.back() == x) {
            masses.back() += 1.0;
        } else {
            values.push_back(x);
            masses.push_back(1.0);
        }
    }
}

// Clip masses to one bin's share, as often as it changes something, in place; return their sum.
inline double clip(std::vector<double>& masses, i64 max_bins, i64 times) {
    double whole = std::accumulate(masses.begin(), masses.end(), 0.0);
    for (i64 k = 0; k < times && std::ranges::max(masses) * max_bins > whole; ++k) {
        for (double& mass : masses) mass = std::min(mass * max_bins, whole);
        whole = std::accumulate(masses.begin(), masses.end(), 0.0);
    }
    return whole;
}

// Find a double t with below <= t < above, half-way if rounding and infinities allow.
inline double between(double below, double above) {
    const double middle = below / 2 + above / 2;
    return below <= middle && middle < above ? middle : below;
}

// Do the work of `choose_cuts` for one column, if no value is missing or repeated; else return false.
inline bool cut_distinct(std::span<const double> ordered, std::span<double> cuts) {
    const i64 n = std::ssize(ordered), max_bins = std::ssize(cuts);
    const auto rests = [](double x, double next) { return !(x < next); };
    if (n <= max_bins || std::ranges::adjacent_find(ordered, rests) != ordered.end()) return false;
    for (i64 k = 1; k < max_bins; ++k) {
        const i64 at = (k * n + max_bins - 1) / max_bins - 1;  // the first one with max_bins * (at + 1) >= k * n
        cuts[k - 1] = between(ordered[at], ordered[at + 1]);
    }
    cuts[max_bins - 1] = std::numeric_limits<double>::infinity();
    return true;
}

// Cut between values where their cumulated mass reaches each k / max_bins of the whole; return the number of cuts.
inline i64 cut_masses(const std::vector<double>& values, const std::vector<double>& masses, double whole,
                      std::span<double> cuts) {
    const i64 max_bins = std::ssize(cuts), found = std::ssize(values);
    double cumulated = masses[0];
    i64 at = 0, last = -1, count = 0;
    for (i64 k = 1; k < max_bins; ++k) {
        while (cumulated * max_bins < k * whole) cumulated += masses[++at];
        if (last < at && at < found - 1) {
            cuts[count++] = between(values[at], values[at + 1]);
            last = at;
        }
    }
    cuts[count++] = std::numeric_limits<double>::infinity();
    return count;
}

// Choose thresholds at quantiles for columns, which it sorts, whose rows count once: see
// `thresholds.at_quantiles`. It clips heavy values to one bin's share at most `clippings` times. A count becomes the
// number of thresholds, with +inf as the last, or zero for a column with at most max_bins values.
// All sums are of whole numbers, so they are exact in any order.
inline void choose_cuts(Matrix<double> columns, i64 clippings, Matrix<double> cuts, Vector<i64> counts) {
    const i64 max_bins = cuts.columns;
    std::vector<double> values, masses;
    DigitSort by_digits(columns.columns);
    for (i64 column = 0; column < columns.rows; ++column) {
        const std::span<double> ordered = columns[column];
        by_digits.sort(ordered);
        if (cut_distinct(ordered, cuts[column])) {
            counts[column] = max_bins;
            continue;
        }
        count_values(ordered, values, masses);
        if (std::ssize(values) <= max_bins) {
            counts[column] = 0;
            continue;
        }
        const double whole = clip(masses, max_bins, clippings);
        counts[column] = cut_masses(values, masses, whole, cuts[column]);
    }
}

}  // namespace costframe
