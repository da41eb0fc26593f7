#include "profile/cuda/object.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const char first_line[] = "tilescope cuda 2\n";

void cuda_object_write(struct str *out, const struct cuda_object *o)
{
    str_add(out, first_line);
    for (int i = 0; i < o->launches.n; i++) {
        const struct gen_launch *l = &o->launches.launch[i];
        str_printf(out, "launch %s", l->name);
        for (int k = 0; k < COUNT_OF(l->extent); k++)
            str_printf(out, " %" PRId64, l->extent[k]);
        str_printf(out, " %" PRId64 " %d", l->shared, l->n);
        for (int k = 0; k < l->n; k++)
            str_printf(out, " %d", l->argument[k]);
        str_add(out, "\n");
    }
    str_printf(out, "cubin %zu\n", o->bytes);
    str_add_n(out, o->cubin, o->bytes);
}

/* The unread rest of a line.  ok: no error so far. */
struct object_line { char *at; bool ok; };

static int64_t take_number(struct object_line *l, int64_t lo, int64_t hi)
{
    char *end = l->at;
    long long x = strtoll(l->at, &end, 10);
    l->ok = l->ok && end > l->at && x >= lo && x <= hi;
    l->at = end;
    return x;
}

static bool read_launch(struct arena *a, char *text, int n_buffers, struct gen_launch *out)
{
    struct object_line l = { .at = text + strcspn(text, " "), .ok = true };
    out->name = arena_printf(a, "%.*s", (int)(l.at - text), text);
    for (int i = 0; i < COUNT_OF(out->extent); i++)
        out->extent[i] = take_number(&l, 1, INT32_MAX);
    out->shared = take_number(&l, 0, SHARED_MOST);
    out->n = (int)take_number(&l, 0, CUDA_MAX_ARGUMENTS);
    if (!l.ok)
        return false;
    int *argument = ARENA_ARRAY(a, int, out->n + 1);
    for (int i = 0; i < out->n; i++)
        argument[i] = (int)take_number(&l, 0, n_buffers - 1);
    out->argument = argument;
    return l.ok && !*l.at && out->name[0];
}

/* Counts the lines in the first n bytes; the launches are fewer. */
static int count_lines(const char *data, size_t n)
{
    int lines = 0;
    for (size_t i = 0; i < n; i++)
        lines += data[i] == '\n';
    return lines;
}

static bool read_lines(struct arena *a, const char *data, size_t n, int n_buffers,
                       struct cuda_object *out)
{
    const char *at = data + strlen(first_line), *end = data + n, *stop;
    struct gen_launch *launch = ARENA_ARRAY(a, struct gen_launch, count_lines(data, n) + 1);
    while ((stop = memchr(at, '\n', (size_t)(end - at))) != NULL) {
        char *text = arena_printf(a, "%.*s", (int)(stop - at), at);
        at = stop + 1;
        if (str_starts(text, "launch ")) {
            if (!read_launch(a, text + strlen("launch "), n_buffers,
                             &launch[out->launches.n++]))
                return false;
            continue;
        }
        if (!str_starts(text, "cubin "))
            return false;
        struct object_line l = { .at = text + strlen("cubin "), .ok = true };
        out->bytes = (size_t)take_number(&l, 1, end - at);
        out->cubin = at;
        out->launches.launch = launch;
        return l.ok && !*l.at;
    }
    return false;
}

bool cuda_object_read(struct arena *a, const char *data, size_t n, int n_buffers,
                      struct cuda_object *out, struct err *e)
{
    *out = (struct cuda_object){ .bytes = 0 };
    return (n >= strlen(first_line) && memcmp(data, first_line, strlen(first_line)) == 0
            && read_lines(a, data, n, n_buffers, out))
        || err_set(e, ERR_COMPILE, "the compiled module is damaged");
}
