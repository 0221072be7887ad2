// Spans over the caller's arrays: rows of a matrix in row-major order.
#pragma once

#include <cstdint>
#include <span>
#include <type_traits>

namespace costframe {

using i64 = std::int64_t;
using u64 = std::uint64_t;
using i32 = std::int32_t;
using u32 = std::uint32_t;
using u16 = std::uint16_t;
using u8 = std::uint8_t;
using i8 = std::int8_t;

template <typename T>
struct Matrix {
    T* data;
    i64 rows, columns;

    operator Matrix<const T>() const requires(!std::is_const_v<T>) { return {data, rows, columns}; }
    std::span<T> operator[](i64 row) const { return {data + row * columns, static_cast<std::size_t>(columns)}; }
    T& operator()(i64 row, i64 column) const { return data[row * columns + column]; }
};

template <typename T>
using Vector = std::span<T>;

// An array of one of several unsigned types, whose size in bytes is `width`.
struct Coded {
    const void* data;
    i64 size, width;

    template <typename Code>
    const Code* as() const {
        return static_cast<const Code*>(data);
    }
};

// The rows of a matrix of whole numbers as records of that many.
template <typename Record>
struct RecordRows {
    const Record* data;
    i64 size, width;

    const Record& operator[](i64 row) const { return data[row]; }
};

}  // namespace costframe
