/* The libraries of NVIDIA that tests/fake has instead, built for one test. */
#ifndef TS_TESTS_FAKE_LIBS_H
#define TS_TESTS_FAKE_LIBS_H

/* Builds tests/fake/NAME.c in the folder. so gets the library's path. Asserts that gcc could. */
void fake_lib_build(const char *folder, const char *name, char so[120]);
#endif
