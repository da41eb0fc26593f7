/* A mark is a line of its own that begins with GEN_MARK: "NODE NUMBER TRIPS AXIS" follows where a
 * loop begins, and nothing where it ends. Wrapping and joining of the text keep such lines. */
#include "kernels/gen/gen_impl.h"

#include <stdlib.h>
#include <string.h>

struct mark_reader {
    struct arena *a;
    VEC(struct code_loop) loops;
    VEC(int) of;
    int now;                              /* the innermost loop around the next line, or -1 */
};

/* Reads a mark without its first character. */
static void read_mark(struct mark_reader *r, const char *text, size_t len)
{
    char *end;
    if (len == 0) {
        r->now = r->now >= 0 ? r->loops.data[r->now].parent : -1;
        return;
    }
    struct code_loop x = { .node = (int)strtol(text, &end, 10), .parent = r->now };
    x.number = (int)strtol(end, &end, 10);
    x.trips = strtoll(end, &end, 10);
    end += *end == ' ';
    x.axis = arena_strndup(r->a, end, len - (size_t)(end - text));
    r->now = r->loops.len;
    vec_push(&r->loops, x);
}

void gen_take_marks(struct arena *a, struct str *text, struct code_lines *lines)
{
    struct mark_reader r = { .a = a, .now = -1 };
    struct str plain = {0};
    for (const char *line = str_text(text); *line;) {
        size_t len = strcspn(line, "\n");
        if (*line == GEN_MARK) {
            read_mark(&r, line + 1, len - 1);
        } else {
            str_add_n(&plain, line, len);
            str_add_char(&plain, '\n');
            vec_push(&r.of, r.now);
        }
        line += len + (line[len] == '\n');
    }
    *lines = (struct code_lines){
        .n_loops = r.loops.len, .n = r.of.len,
        .loop = r.loops.len ? ARENA_DUP(a, r.loops.data, r.loops.len) : NULL,
        .of = r.of.len ? ARENA_DUP(a, r.of.data, r.of.len) : NULL,
    };
    vec_free(&r.loops);
    vec_free(&r.of);
    str_free(text);
    *text = plain;
}
