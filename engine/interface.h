// What the files of exported functions share.
#pragma once

#include <new>
#include <string_view>
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

// A number that Python asks for by its name.
struct Constant {
    std::string_view name;
    i64 value;
};

// Set the value of a constant; return whether there is one of that name.
inline bool find_in(Vector<const Constant> constants, std::string_view name, i64* value) {
    for (const Constant& constant : constants) {
        if (constant.name != name) continue;
        *value = constant.value;
        return true;
    }
    return false;
}

// Call a function; return its number, or 0 if it has none.
template <typename Function>
i64 number_of(Function function) {
    if constexpr (std::is_void_v<decltype(function())>) {
        function();
        return 0;
    } else {
        return function();
    }
}

// Call a function that allocates; return its number, or 0 if it has none, or -1 without memory. A browser, where there
// are no exceptions, ends the call itself.
template <typename Function>
i64 with_memory(Function function) {
#if defined(__cpp_exceptions)
    try {
        return number_of(function);
    } catch (const std::bad_alloc&) {
        return -1;
    }
#else
    return number_of(function);
#endif
}

}  // namespace costframe
