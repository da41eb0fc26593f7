/* The bodies of the fuzz targets: each takes any bytes, returns 0, and ends the process when
 * something does not hold that must.  `make fuzz` runs them under libFuzzer (main.c),
 * tests/unit/test_fuzz_corpus.c replays the corpora through them. */
#ifndef TS_TESTS_FUZZ_H
#define TS_TESTS_FUZZ_H
#include <stddef.h>
#include <stdint.h>
#include "kernels/base/arena.h"
#include "kernels/base/err.h"
#include "kernels/base/str.h"

struct history;

/* A session file: read, written, read again; both sessions and both texts are the same. */
int fuzz_yaml(const uint8_t *data, size_t n);
/* A letter picks a small operator; the rest are lines, typed at its history; then every view of
 * the last state, its loop nest and its C. */
int fuzz_command(const uint8_t *data, size_t n);
struct history *fuzz_command_history(uint8_t letter);      /* at that operator, no line typed */
/* The text of an operator or a graph; its canonical text means the same; on tiny graphs both
 * references agree. */
int fuzz_spec(const uint8_t *data, size_t n);
/* A letter picks a tensor; each line is a layout notation and an index expression: what is
 * printed is read back as the same. */
int fuzz_notation(const uint8_t *data, size_t n);
/* An ONNX model: its list of nodes; where every node is supported, its text goes the way of
 * fuzz_spec, if it is small. */
int fuzz_onnx(const uint8_t *data, size_t n);

/* Exported records: taken whole or refused whole; what was taken goes out and in again. */
int fuzz_records(const uint8_t *data, size_t n);

/* A study: what it lists, and where it is small its reports, with numbers that nothing measured; it
 * takes its own report. */
int fuzz_study(const uint8_t *data, size_t n);
/* An expert, and its schedules of an operator. */
int fuzz_expert(const uint8_t *data, size_t n);
/* Weights of agents: these bytes, and a sound file with changes that the bytes say. */
int fuzz_weights(const uint8_t *data, size_t n);
/* A machine model: read, written, read again. */
int fuzz_machine(const uint8_t *data, size_t n);
/* A graph and step lines, all the way to text: by the length of the input the kernel and its twin,
 * or the exported file. */
int fuzz_cgen(const uint8_t *data, size_t n);

/* A line in memory of its own, so that reading past its end is noticed.  free() it. */
char *fuzz_text(const uint8_t *data, size_t n);
/* The next line of *data (up to a newline or its end), likewise; NULL after the last one. */
char *fuzz_line(const uint8_t **data, size_t *n);
/* An error says something and prints. */
void fuzz_error(const struct err *e);
/* Where the bodies say what came of their input, for tests/unit/test_digest_inputs.c; NULL: they
 * say nothing. */
extern struct str *fuzz_said;
void fuzz_say(const char *text);

#define FUZZ_CHECK(holds, ...) ((holds) ? (void)0 : fail(__VA_ARGS__))
#endif
