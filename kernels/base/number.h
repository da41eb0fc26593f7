/* Arithmetic on whole numbers. */
#ifndef TS_BASE_NUMBER_H
#define TS_BASE_NUMBER_H
#include <stdbool.h>
#include <stdint.h>

/* For c > 0, floor_div returns the floor of x / c.  floor_mod returns x - c * floor_div(x, c). */
static inline int64_t floor_div(int64_t x, int64_t c)
{
    return x / c - (x % c < 0);
}

static inline int64_t floor_mod(int64_t x, int64_t c)
{
    return x % c < 0 ? x % c + c : x % c;
}

static inline bool is_power_of_two(int64_t n)
{
    return n > 0 && (n & (n - 1)) == 0;
}

/* Returns the greatest common divisor of |a| and |b|; 0 for two zeros. */
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
