#include <stdlib.h>
#include <string.h>
#include "kernels/gen/gen.h"
#include "sessions/export/export.h"
#include "tests/fuzz/fuzz.h"

#define LINES_MAX 24
#define NODES_MAX 24
#define MOST_BYTES ((size_t)16 << 20)    /* of a program, or of a text, and ... */
#define BYTES_PER_BYTE 40000             /* ... for each byte of the input */

/* The first lines, up to an empty one, are a graph, the others steps. */
static struct session *open_input(const uint8_t **data, size_t *n)
{
    struct session *s = NULL;
    struct str graph = {0};
    struct err e = {0};
    char *line;
    bool more = true;
    while (more && (line = fuzz_line(data, n)) != NULL) {
        more = line[0] != '\0';
        if (more)
            str_printf(&graph, "%s\n", line);
        free(line);
    }
    if (!session_new(str_text(&graph), &s, &e)) {
        fuzz_error(&e);
        s = NULL;
    }
    str_free(&graph);
    return s;
}

static void apply_steps(struct session *s, const uint8_t *data, size_t n)
{
    char *line;
    for (int i = 0; i < LINES_MAX && (line = fuzz_line(&data, &n)) != NULL; i++) {
        struct err e = {0};
        if (!history_apply(s->history, line, &e))
            fuzz_error(&e);
        free(line);
    }
}

/* Its brackets match outside of comments and literals, and it is not longer than its input
 * warrants. */
static void check_text(const char *what, const struct str *text, size_t n)
{
    const char *c = str_text(text);
    int depth = 0;
    FUZZ_CHECK(text->len <= MOST_BYTES + BYTES_PER_BYTE * n, "%s of %zu bytes from %zu", what,
               text->len, n);
    while (*c) {
        if (str_starts(c, "/*")) {
            for (c += 2; *c && !str_starts(c, "*/");)    /* strstr looks at all of the rest */
                c++;
            FUZZ_CHECK(*c, "%s: a comment does not end", what);
            c += 2;
        } else if (*c == '"') {
            for (c++; *c && *c != '"'; c++)
                c += *c == '\\' && c[1];
            c += *c == '"';
        } else {
            depth += (*c == '{' || *c == '(' || *c == '[') - (*c == '}' || *c == ')' || *c == ']');
            FUZZ_CHECK(depth >= 0, "%s: a bracket too many", what);
            c++;
        }
    }
    FUZZ_CHECK(depth == 0, "%s: a bracket too few", what);
}

static void generate_kernel(const struct session *s, const char *isa, size_t n)
{
    const struct func *f;
    struct trace_table table;
    struct gen_opts o = { .target = target_named(isa), .openmp = n & 1 };
    struct str kernel = {0}, twin = {0};
    struct err e = {0};
    if (!program_lower(history_current(s->history)->program, &f, &e)
        || !gen_c(f, &o, &kernel, &e) || !gen_trace(f, &o, 64, &twin, &table, &e))
        fuzz_error(&e);
    check_text("the kernel", &kernel, n);
    check_text("its twin", &twin, n);
    str_free(&kernel);
    str_free(&twin);
}

static void generate_file(const struct session *s, size_t n)
{
    struct str exported = {0};
    struct err e = {0};
    if (!export_c(s, &(struct export_opts){ .file = "x.c" }, &exported, &e))
        fuzz_error(&e);
    check_text("the exported file", &exported, n);
    str_free(&exported);
}

int fuzz_cgen(const uint8_t *data, size_t n)
{
    static const char *const isas[] = { "plain", "sse", "avx2", "avx512" };
    size_t left = n;
    struct session *s = open_input(&data, &left);
    if (!s)
        return 0;
    if (history_current(s->history)->program->graph->n_nodes <= NODES_MAX) {
        apply_steps(s, data, left);
        if (n & 4)
            generate_file(s, n);
        else
            generate_kernel(s, isas[n % COUNT_OF(isas)], n);
        size_t used = arena_used_bytes(exprs_arena(history_current(s->history)->program->pool));
        FUZZ_CHECK(used <= MOST_BYTES + BYTES_PER_BYTE * n, "%zu bytes took %zu", n, used);
    }
    session_free(s);
    return 0;
}
