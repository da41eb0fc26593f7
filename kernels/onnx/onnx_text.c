/* Prints the statements of the imported graph as text: names, and the data of constants. */
#include "kernels/onnx/onnx_impl.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "kernels/ops/source.h"

/* Names of tensors in the text: identifiers that differ from each other in more than case, and that
 * are no names of operators and no keywords. */

static bool name_taken(const struct imp *im, const char *name, int before)
{
    static const char *const words[] = { "input", "const", "output" };
    for (int i = 0; i < COUNT_OF(words); i++)
        if (strcaseeq(words[i], name))
            return true;
    char lower[64];
    snprintf(lower, sizeof lower, "%s", name);
    for (char *c = lower; *c; c++)
        *c = (char)tolower((unsigned char)*c);
    if (ops_find(lower))
        return true;
    for (int i = 0; i < before; i++)
        if (im->stmt.data[i].live && strcaseeq(im->stmt.data[i].name, name))
            return true;
    return false;
}

static const char *pretty(struct imp *im, int i)
{
    const struct stmt *s = &im->stmt.data[i];
    char stem[40], name[64];
    int n = 0;
    const char *from = s->want ? s->want : s->op;
    if (strlen(from) > sizeof stem - 2)  /* keeps the end, in which long names usually differ */
        from += strlen(from) - (sizeof stem - 2);
    if (!isalpha((unsigned char)*from))
        stem[n++] = 'v';
    for (; *from && n < COUNT_OF(stem) - 1; from++)
        stem[n++] = (char)(isalnum((unsigned char)*from) ? *from : '_');
    stem[n] = '\0';
    snprintf(name, sizeof name, "%s", stem);
    for (int k = 2; name_taken(im, name, i); k = k == 9 && i > 9 ? i : k + 1)
        snprintf(name, sizeof name, "%s_%d", stem, k);
    return arena_strdup(im->a, name);
}

static bool is_initializer(const struct onnx_model *m, const char *name)
{
    for (int i = 0; i < m->n_init; i++)
        if (streq(m->init[i].name, name))
            return true;
    return false;
}

/* Prints the source of a constant: a few numbers, or the file of the model and the name of the
 * tensor.  Prints nothing for a long constant of a model that was read from memory. */
static void print_source(struct imp *im, struct str *out, const struct stmt *s)
{
    const struct onnx_model *m = im->m;
    struct tensor_source from = { .n = 1, .value = s->data->f };
    if (!s->data->one && !source_short(s->data->f, s->data->elems, &from)) {
        if (!m->file)
            return;
        const char *name = m->dims && !is_initializer(m, s->value)
                               ? arena_printf(im->a, "%s?%s", s->value, m->dims) : s->value;
        from = (struct tensor_source){ .file = m->file, .tensor = name,
                                       .hash = tensor_hash(s->data->f, s->data->elems) };
    }
    source_print(out, &from);
}

static void print_stmt(struct imp *im, const struct stmt *s)
{
    struct str *out = &im->out->text;
    str_printf(out, "%s = %s", s->name, s->op);
    for (int k = 0; k < s->n_in; k++)
        str_printf(out, "%s%s", k ? ", " : "(", im->stmt.data[s->in[k]].name);
    if (s->n_in)
        str_add(out, ")");
    if (s->params[0])
        str_printf(out, " %s", s->params);
    for (int d = 0; d < s->shape.rank && !s->n_in; d++)
        str_printf(out, " d%d=%lld", d, (long long)s->shape.dim[d]);
    if (s->data && streq(s->op, "const"))
        print_source(im, out, s);
    str_add(out, "\n");
}

void onnx_print_plain(struct imp *im, struct str *out, int i)
{
    const struct stmt *s = &im->stmt.data[i];
    str_printf(out, "t%d = %s", i, s->n_in ? s->op : "const");
    for (int k = 0; k < s->n_in; k++)
        str_printf(out, "%st%d", k ? ", " : "(", s->in[k]);
    str_printf(out, "%s %s", s->n_in ? ")" : "", s->params);
    for (int d = 0; d < s->shape.rank && !s->n_in; d++)
        str_printf(out, " d%d=%lld", d, (long long)s->shape.dim[d]);
    str_add(out, "\n");
}

void onnx_print_text(struct imp *im, bool plain)
{
    str_clear(&im->out->text);
    vec_clear(&im->out->input);
    vec_clear(&im->out->output);
    for (int i = 0; i < im->stmt.len; i++) {
        struct stmt *s = &im->stmt.data[i];
        if (!s->live)
            continue;
        s->name = plain ? arena_printf(im->a, "t%d", i) : pretty(im, i);
        print_stmt(im, s);
        if (!s->n_in)
            vec_push(&im->out->input,
                     (struct onnx_binding){ s->name, s->value, s->data });
    }
    for (int k = 0; k < im->m->n_out; k++) {
        const struct value *v = onnx_find_value(im, im->m->out[k].name);
        const char *name = im->stmt.data[v->stmt].name;
        str_printf(&im->out->text, "%s%s", k ? ", " : "output ", name);
        vec_push(&im->out->output,
                 (struct onnx_binding){ name, v->name, NULL });
    }
    str_add(&im->out->text, "\n");
}
