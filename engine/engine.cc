// The C interface: each function takes pointers and the sizes that `costframe/engine.py` has checked.
#include "interface.h"
#include "row_hashes.h"
#include "sums.h"

using namespace costframe;

EXPORT void hash_rows(const double* X, i64 n, i64 d, u64* hashes) { costframe::hash_rows({X, n, d}, span(hashes, n)); }

EXPORT void add_exactly(const double* values, i64 n, i64* sums) {
    costframe::add_exactly(span(values, n), span(sums, digits_of_doubles + 3));
}

EXPORT void score_rows(const double* left, i64 n, i64 C, const double* weights, i64 M, double* found) {
    costframe::score_rows({left, n, C}, {weights, M, C}, {found, n, M});
}

EXPORT void add_products(const double* left, i64 n, i64 C, const double* right, i64 M, double* high, double* low) {
    costframe::add_products({left, n, C}, {right, n, M}, {high, M, C}, {low, M, C});
}

EXPORT bool has_avx2() {
#if defined(__x86_64__) || defined(_M_X64)
    return __builtin_cpu_supports("avx2");
#else
    return false;
#endif
}
