// What the files of exported functions share.
#pragma once

#include <new>
#include <type_traits>

#include "span.h"

#if defined(_WIN32)
#define EXPORT extern "C" __declspec(dllexport)
#else
#define EXPORT extern "C" __attribute__((visibility("default")))
#endif

namespace costframe {

template <typename T>
Vector<T> span(T* data, i64 size) {
    return {data, static_cast<std::size_t>(size)};
}

// Call a function that allocates; return its number, or 0 if it has none, or -1 without memory.
template <typename Function>
i64 with_memory(Function function) {
    try {
        if constexpr (std::is_void_v<decltype(function())>) {
            function();
            return 0;
        } else {
            return function();
        }
    } catch (const std::bad_alloc&) {
        return -1;
    }
}

}  // namespace costframe
