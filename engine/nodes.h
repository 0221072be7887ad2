// Trees laid out for tables of rows: values become codes, and the codes of a block of rows walk to leaves.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "cuts.h"

namespace costframe {

constexpr i64 block = 512;  // rows, whose codes fit the nearest cache
constexpr double nan = std::numeric_limits<double>::quiet_NaN();

// Readings of a value before a node tests it, as foreign libraries do; see `TreeTable.reading` in Python.
enum Reading : i64 { plain, zero_missing, whole, whole_float32 };

inline double read_value(double value, i64 reading) {
    constexpr double tiny = 1.0000000180025095e-35;  // float32(1e-35): LightGBM takes numbers up to here for zero
    constexpr double huge = 0x1p127;                  // no category is as large, and float32 holds all numbers below
    switch (reading) {
        case zero_missing: return std::fabs(value) <= tiny ? nan : value;
        case whole: return std::trunc(value);
        case whole_float32: {
            const double rounded = std::fabs(value) < huge ? static_cast<double>(static_cast<float>(value)) : value;
            return rounded < 0.0 ? -std::numeric_limits<double>::infinity() : std::trunc(rounded);
        }
        default: return value;
    }
}

// Whether a value is one of ascending categories, the last of which may be NaN.
inline bool is_member(double value, const double* begin, const double* end) {
    const bool has_nan = end > begin && std::isnan(end[-1]);
    if (std::isnan(value)) return has_nan;
    const double* at = std::lower_bound(begin, end - has_nan, value);
    return at < end - has_nan && *at == value;
}

// See `NodeLayout` in Python, which says what a code is.
struct Nodes {
    Vector<const i64> root;          // (trees,), like the next two
    Vector<const i32> depth;
    Vector<const bool> by_category;
    Vector<const u64> word;  // (nodes,)
    Vector<const u64> sets;
    Vector<const i32> feature;  // (nodes,), like the next one
    Vector<const i64> parent;
    Cuts cuts;
    Vector<const i64> column_first;     // (U + 1,)
    Coded column_missing;               // (code columns,), like the next one
    Vector<const i64> column_reading;
    Vector<const i64> category_column;  // (U + 1,)
    Vector<const i64> category_first;   // (code columns for categories + 1,)
    Vector<const double> category;
    Vector<const i64> n_words;      // (trees,); for gates see `GateLayout`
    Vector<const i64> gate_first;   // (trees + 1,)
    Vector<const i64> gate_column;  // (gates,), like the next three
    Coded gate_rank;
    Vector<const i64> gate_byte;
    Vector<const u8> gate_kept;
    Vector<const i64> exit_first;  // (trees,)
    Vector<const u32> exit;
};

// Codes of a table: a column for each code column of the nodes.
template <typename Code>
struct Codes {
    Code* data;
    i64 columns, rows;

    Code* operator[](i64 column) const { return data + column * rows; }
};

// Set code[i] to the rank of value[i] among the known categories, the last of which may be NaN, or to their number.
template <typename Code>
void code_categories(const double* value, u32* below, i64 count, Vector<const double> known, Code* code) {
    std::fill(below, below + count, 0);
    const auto size = static_cast<std::size_t>(count);
    count_next({below, size}, {value, size}, known.data(), static_cast<u32>(known.size()));
    const i64 last = static_cast<i64>(known.size()) - 1, missing = std::isnan(known[last]) ? last : last + 1;
    for (i64 i = 0; i < count; ++i) {
        const bool found = below[i] <= last && known[below[i]] == value[i];
        code[i] = static_cast<Code>(found ? below[i] : std::isnan(value[i]) ? missing : last + 1);
    }
}

template <typename Code>
void code_numbers(const double* value, const u32* below, i64 count, Code missing, i64 reading, Code* code) {
    for (i64 i = 0; i < count; ++i) code[i] = std::isnan(value[i]) ? missing : static_cast<Code>(below[i] + 1);
    if (reading == plain) return;
    for (i64 i = 0; i < count; ++i) code[i] = std::isnan(read_value(value[i], reading)) ? missing : code[i];
}

// Set the codes of all rows of X; feature u is column used[u].
template <typename Code>
void code_rows(Matrix<const double> X, Vector<const i64> used, const Nodes& nodes, Codes<Code> codes) {
    std::vector<double> value(block), read(block);
    std::vector<u32> below(block);
    const auto* missing = nodes.column_missing.as<Code>();
    const auto first = nodes.column_first, named = nodes.category_column;
    const i64 n_cuts = nodes.column_missing.size - std::ssize(nodes.category_first) + 1;  // columns of comparisons
    for (i64 start = 0; start < X.rows; start += block) {
        const i64 count = std::min(block, X.rows - start);
        for (i64 u = 0; u < static_cast<i64>(used.size()); ++u) {
            if (first[u] == first[u + 1] && named[u] == named[u + 1]) continue;
            for (i64 i = 0; i < count; ++i) value[i] = X(start + i, used[u]);
            const auto size = static_cast<std::size_t>(count);
            if (first[u] < first[u + 1]) count_below({below.data(), size}, {value.data(), size}, nodes.cuts, u);
            for (i64 column = first[u]; column < first[u + 1]; ++column) {
                code_numbers(value.data(), below.data(), count, missing[column], nodes.column_reading[column],
                             codes[column] + start);
            }
            for (i64 column = named[u]; column < named[u + 1]; ++column) {
                const i64 begin = nodes.category_first[column - n_cuts], end = nodes.category_first[column - n_cuts + 1];
                for (i64 i = 0; i < count; ++i) read[i] = read_value(value[i], nodes.column_reading[column]);
                code_categories<Code>(read.data(), below.data(), count,
                                      nodes.category.subspan(begin, end - begin),
                                      codes[column] + start);
            }
        }
    }
}

// Set out[i, j] to factor[i] h, h = values[j, codes[r, source[j]]], or dense[r, -1 - source[j]] + values[j, 0]. The row
// r is rows[i]; the second form of h is for source < 0.
template <typename Code>
void write_outputs(Matrix<const Code> codes, Matrix<const double> dense, const i32* source, Matrix<const double> values,
                   const i64* rows, const double* factor, Matrix<double> out) {
    for (i64 i = 0; i < out.rows; ++i) {
        const i64 row = rows[i];
        const double times = factor[i];
        for (i64 j = 0; j < out.columns; ++j) {
            const i64 column = source[j];
            const double h = column >= 0 ? values(j, codes(row, column)) : dense(row, -1 - column) + values(j, 0);
            out(i, j) = times * h;
        }
    }
}

}  // namespace costframe
