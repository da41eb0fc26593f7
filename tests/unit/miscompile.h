/* Compilers that miscompile (tests/miscompile.sh has their table). */
#ifndef TS_TESTS_MISCOMPILE_H
#define TS_TESTS_MISCOMPILE_H
#include <stddef.h>

/* Writes the one of this name below $XDG_CACHE_HOME; path is that of its `gcc`.  It edits texts
 * that have `only` in them ("" = all).  Fails the test when it cannot. */
void miscompiler(const char *name, const char *only, char *path, size_t n);
#endif
