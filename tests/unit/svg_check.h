/* A small XML parser that fails the test: tags balanced, attributes quoted and once each, known
 * entities, no stray '<', valid UTF-8; and no number that is none. */
#ifndef TS_TESTS_SVG_CHECK_H
#define TS_TESTS_SVG_CHECK_H
void svg_check(const char *text);
#endif
