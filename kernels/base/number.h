/* Whole numbers. */
#ifndef TS_BASE_NUMBER_H
#define TS_BASE_NUMBER_H
#include <stdint.h>

/* Floor division and its remainder, c > 0. */
static inline int64_t floor_div(int64_t x, int64_t c)
{
    return x / c - (x % c < 0);
}

static inline int64_t floor_mod(int64_t x, int64_t c)
{
    return x % c < 0 ? x % c + c : x % c;
}

/* Greatest common divisor of |a| and |b|; 0 of two zeros. */
static inline int64_t gcd(int64_t a, int64_t b)
{
    uint64_t x = a < 0 ? 0 - (uint64_t)a : (uint64_t)a, y = b < 0 ? 0 - (uint64_t)b : (uint64_t)b;
    while (x) {
        uint64_t r = y % x;
        y = x;
        x = r;
    }
    return (int64_t)y;
}
#endif
