/* Golden files: what is printed is compared with a file; TS_UPDATE_GOLDEN=1 rewrites it. */
#ifndef TS_TESTS_GOLDEN_H
#define TS_TESTS_GOLDEN_H
/* Compares text with the file at path (relative to the project root, where tests run); fails the
 * test with a `diff -u` when they differ. */
void golden_check(const char *path, const char *text);
#endif
