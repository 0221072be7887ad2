// Arithmetic of libraries that compute in float32.
#pragma once

#include <algorithm>
#include <cmath>

#include "span.h"

namespace costframe {

// The exponentials of numbers that are float32, by the C library, whose bits other libraries' exponentials have.
inline void exp_float32(Vector<const double> values, Vector<double> found) {
    std::transform(values.begin(), values.end(), found.begin(), [](double x) { return std::exp(static_cast<float>(x)); });
}

}  // namespace costframe
