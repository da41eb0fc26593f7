/* Writes the files of a library. They are templates (template.h); this file fills in their
 * slots. */
#include "sessions/export/network_export.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "kernels/base/file.h"
#include "kernels/base/vec.h"
#include "kernels/gen/names.h"
#include "sessions/export/export_code.h"
#include "sessions/export/export_command.h"
#include "sessions/export/template.h"

#define KERNELS_BYTES ((size_t)1 << 20)   /* default of network_export_opts.file_bytes */
#define COLUMNS 100
#define HEAD_BYTES 64  /* size of the weights file's head, and alignment of constants */
#define MAGIC "tilescop"
#define VERSION 1
#define MAX_SLOTS 32

struct template_slot { const char *name; struct str text; };

struct library {
    const struct network *net;
    const struct network_values *values;
    const struct network_export_opts *opts;
    const char *folder, *type;            /* type: the C type of the elements */
    struct arena *a;
    const char **name;  /* per buffer: the C name of an input or output; else NULL */
    int *port, n_ports, n_inputs;         /* port: the buffers of inputs, then those of outputs */
    int64_t *at;  /* per buffer: index of its first element in the weights; -1: not a constant */
    struct str weights;                   /* content of the weights file */
    struct template_slot slot[MAX_SLOTS];
    int n_slots;
    VEC(struct file_pending *) written;   /* by write_file */
};

const char *network_export_name(struct arena *a, const char *path)
{
    /* names of CMake's own targets, and of headers that a NAME.h would hide */
    static const char *const taken[] = {
        "all", "clean", "edit_cache", "help", "install", "package", "rebuild_cache", "test",
        "complex", "ctype", "errno", "fenv", "limits", "locale", "math", "memory", "omp", "sched",
        "setjmp", "signal", "stdint", "stdio", "stdlib", "string", "strings", "time", "unistd",
    };
    struct names *n = names_new(a);
    const char *file = strrchr(path, '/');
    char *stem = arena_strdup(a, file ? file + 1 : path);
    char *ending = strrchr(stem, '.');
    if (ending && ending > stem)
        *ending = '\0';
    for (int i = 0; i < COUNT_OF(taken); i++)
        names_claim(n, taken[i]);
    const char *name = names_claim(n, stem);
    names_free(n);
    return name;
}

/* --- Slots ------------------------------------------------------------------------------------ */

/* Returns the text of the slot whose name is the n bytes at `name`; NULL: there is no such slot. */
static struct str *find_slot(struct library *l, const char *name, size_t n)
{
    for (int i = 0; i < l->n_slots; i++)
        if (strlen(l->slot[i].name) == n && memcmp(l->slot[i].name, name, n) == 0)
            return &l->slot[i].text;
    return NULL;
}

/* Returns the text of a slot; creates the slot if it does not exist. */
static struct str *slot(struct library *l, const char *name)
{
    struct str *known = find_slot(l, name, strlen(name));
    if (known)
        return known;
    if (l->n_slots == MAX_SLOTS)
        UNREACHABLE();
    l->slot[l->n_slots].name = name;
    return &l->slot[l->n_slots++].text;
}

/* Writes a file of the library beside its place; publish puts it there. */
static bool write_file(struct library *l, const char *file, const struct str *text, struct err *e)
{
    const char *path = arena_printf(l->a, "%s/%s", l->folder, file);
    struct file_pending *p;
    if (!file_begin(path, str_text(text), text->len, &p, e))
        return false;
    vec_push(&l->written, p);
    return true;
}

/* Puts the written files in their places once all of them are written, or removes them if one could
 * not be (ok: false).  So a library that is exported again is not mixed of old and new files: the
 * weights of the one would fit the kernels of the other in size, but not in layout. */
static bool publish(struct library *l, bool ok, struct err *e)
{
    for (int i = 0; i < l->written.len; i++)
        ok = file_finish(l->written.data[i], ok, e) && ok;
    vec_free(&l->written);
    return ok;
}

static const char *template_text(const char *name)
{
    for (const struct export_template *t = export_template; t->name; t++)
        if (streq(t->name, name))
            return t->text;
    UNREACHABLE();
}

static bool write_template(struct library *l, const char *name, const char *file, struct err *e)
{
    struct str out = {0};
    for (const char *p = template_text(name); *p;) {
        size_t n = *p == '@' ? strspn(p + 1, "ABCDEFGHIJKLMNOPQRSTUVWXYZ_") : 0;
        struct str *text = n > 0 && p[1 + n] == '@' ? find_slot(l, p + 1, n) : NULL;
        if (text)
            str_add_n(&out, str_text(text), text->len);
        else
            str_add_char(&out, *p);
        p += text ? n + 2 : 1;
    }
    bool ok = write_file(l, file, &out, e);
    str_free(&out);
    return ok;
}

/* Adds text wrapped at blanks, without a newline after its last line.  hang: indent of the lines
 * after the first. */
static void add_wrapped(struct str *out, const char *text, int hang)
{
    str_wrap(out, text, COLUMNS, hang);
    if (out->len > 0 && out->data[out->len - 1] == '\n')
        out->data[--out->len] = '\0';
}

/* --- Weights ---------------------------------------------------------------------------------- */

/* The same function is in library/network.c.in. */
static uint64_t hash_of(const char *data, size_t bytes)
{
    uint64_t hash = 0;
    for (size_t i = 0; i < bytes; i += 8) {
        uint64_t word;
        memcpy(&word, data + i, 8);
        hash = (hash ^ word) * 0x9e3779b97f4a7c15u;
        hash ^= hash >> 29;
    }
    return hash;
}

/* Packs the constants into l->weights. */
static void pack_weights(struct library *l)
{
    const struct module *m = l->net->module;
    int64_t bytes = 0;
    for (int b = 0; b < m->n_buffers; b++) {
        l->at[b] = -1;
        if (l->net->buffer[b].role != NETWORK_CONST)
            continue;
        l->at[b] = bytes / m->buffer[b].is->type->bytes;
        bytes += (buffer_bytes(m->buffer[b].is) + HEAD_BYTES - 1) / HEAD_BYTES * HEAD_BYTES;
    }
    size_t size = (size_t)bytes + HEAD_BYTES;
    char *data = xcalloc(size, 1);
    for (int b = 0; b < m->n_buffers; b++)
        if (l->at[b] >= 0)
            layout_pack_given(l->net->buffer[b].layout,
                              l->values->value[l->net->buffer[b].tensor],
                              data + HEAD_BYTES + l->at[b] * m->buffer[b].is->type->bytes);
    uint64_t head[HEAD_BYTES / 8] = { 0, VERSION, (uint64_t)bytes,
                                      hash_of(data + HEAD_BYTES, (size_t)bytes) };
    memcpy(head, MAGIC, 8);
    memcpy(data, head, sizeof head);
    str_printf(slot(l, "MAGIC"), "%016llx", (unsigned long long)head[0]);
    str_printf(slot(l, "VERSION"), "%d", VERSION);
    str_printf(slot(l, "HASH"), "%016llx", (unsigned long long)head[3]);
    str_printf(slot(l, "FILE_BYTES"), "%zu", size);
    l->weights = (struct str){ data, size, size };
}

static bool write_check(struct library *l, struct err *e)
{
    struct str data = {0};
    for (int i = 0; i < l->n_ports; i++)
        str_add_n(&data, (const char *)l->values->value[l->net->buffer[l->port[i]].tensor],
                  (size_t)buffer_bytes(l->net->module->buffer[l->port[i]].is));
    bool ok = write_file(l, arena_printf(l->a, "%s.check", l->opts->name), &data, e);
    str_free(&data);
    return ok;
}

/* --- Kernels ---------------------------------------------------------------------------------- */

/* Prints what the kernel computes, for a comment. */
static void describe(struct str *out, const struct network_task *t)
{
    str_wrap(out, t->spec, COLUMNS - 10, 2);
    for (int i = 0; i < t->n_lines; i++)
        str_printf(out, "    %s\n", t->line[i]);
}

static bool print_kernel(struct library *l, int k, struct str *out, struct err *e)
{
    struct str header = {0}, code = {0};
    const struct module_kernel *kernel = &l->net->module->kernel[k];
    describe(&header, &l->net->task[k]);
    const struct gen_opts o = {
        .target = l->opts->target, .openmp = true, .header = str_text(&header),
        .name = arena_printf(l->a, "%s_%s", l->opts->name, kernel->name),
    };
    bool ok = gen_c(kernel->func, &o, &code, e);
    if (ok)
        export_kernel(out, str_text(&code));
    str_free(&header);
    str_free(&code);
    return ok;
}

/* Returns the name, without .c, of the file whose first kernel has this number. */
static const char *kernels_file(const struct library *l, int first)
{
    return first == 0 ? arena_printf(l->a, "%s_kernels", l->opts->name)
                      : arena_printf(l->a, "%s_kernels_%d", l->opts->name, first);
}

/* Writes a file with n kernels, from kernel number `first` on.  source: their C. */
static bool write_kernels(struct library *l, const char *const *source, int n, int first,
                          struct err *e)
{
    struct str out = {0};
    const char *file = kernels_file(l, first);
    str_printf(&out, "/* Kernels of %s.  Written by tilescope. */\n", l->opts->name);
    export_language(&out);
    str_printf(&out, "#include \"%s_kernels.h\"\n\n", l->opts->name);
    export_optimize(&out, l->opts->target);
    gen_join(source, n, first, &out);
    bool ok = write_file(l, arena_printf(l->a, "%s.c", file), &out, e);
    str_printf(slot(l, "SOURCES"), " %s.c", file);
    str_printf(slot(l, "OBJECTS"), " %s.o", file);
    str_free(&out);
    return ok;
}

static bool write_all_kernels(struct library *l, struct err *e)
{
    const struct module *m = l->net->module;
    size_t most = l->opts->file_bytes ? l->opts->file_bytes : KERNELS_BYTES, bytes = 0;
    VEC(const char *) source = {0};
    bool ok = true;
    for (int k = 0; ok && k < m->n_kernels; k++) {
        struct str text = {0};
        ok = print_kernel(l, k, &text, e);
        if (bytes > 0 && bytes + text.len > most) {
            ok = ok && write_kernels(l, source.data, source.len, k - source.len, e);
            vec_clear(&source);
            bytes = 0;
        }
        bytes += text.len;
        vec_push(&source, arena_strdup(l->a, str_text(&text)));
        str_free(&text);
    }
    ok = ok && write_kernels(l, source.data, source.len, m->n_kernels - source.len, e);
    vec_free(&source);
    return ok;
}

static void add_prototypes(struct library *l)
{
    struct str line = {0}, *out = slot(l, "PROTOTYPES");
    for (int k = 0; k < l->net->module->n_kernels; k++) {
        const struct module_kernel *kernel = &l->net->module->kernel[k];
        str_clear(&line);
        str_printf(&line, "void %s_%s_%d(", l->opts->name, kernel->name, k);
        for (int i = 0; i < kernel->func->n_params; i++)
            str_printf(&line, "%s%s%s *", i ? ", " : "",
                       kernel->func->buffer[i].written ? "" : "const ", l->type);
        str_add(&line, ");");
        str_add(out, k ? "\n" : "");
        add_wrapped(out, str_text(&line), 4);
    }
    str_free(&line);
}

/* --- The network ------------------------------------------------------------------------------ */

static void add_call(struct library *l, int call)
{
    const struct network *net = l->net;
    const struct module *m = net->module;
    const struct module_call *c = &m->call[call];
    const struct module_kernel *kernel = &m->kernel[c->kernel];
    struct str line = {0}, *out = slot(l, "CALLS");
    int part = net->call[call].part;
    str_printf(out, "%s    /* %s */\n", call ? "\n" : "",
               part < 0 ? "another layout" : net->graph->tensor[net->parts.part[part].out].name);
    str_printf(&line, "    %s_%s_%d(", l->opts->name, kernel->name, c->kernel);
    for (int i = 0; i < kernel->func->n_params; i++) {
        int b = c->buffer[i];
        str_add(&line, i ? ", " : "");
        if (l->name[b])
            str_add(&line, l->name[b]);
        else if (l->at[b] >= 0)
            str_printf(&line, "&net->weights[%lld]", (long long)l->at[b]);
        else
            str_printf(&line, "&net->memory[%lld]",
                       (long long)(m->plan->at[b] / m->buffer[b].is->type->bytes));
    }
    str_add(&line, ");");
    add_wrapped(out, str_text(&line), 8);
    str_free(&line);
}

/* Whether a kernel writes a buffer by non-temporal stores, which need an aligned buffer. */
static bool is_streamed(const struct module *m, int buffer)
{
    for (int i = 0; i < m->n_calls; i++) {
        const struct func *f = m->kernel[m->call[i].kernel].func;
        for (int p = 0; p < f->n_params; p++)
            if (m->call[i].buffer[p] == buffer && f->buffer[p].stream)
                return true;
    }
    return false;
}

/* Adds the buffers with this role to l->port, in the order of the graph's tensors. */
static void add_ports(struct library *l, enum network_role role)
{
    for (int t = 0; t < l->net->graph->n_tensors; t++)
        for (int b = 0; b < l->net->module->n_buffers; b++)
            if (l->net->buffer[b].role == role && l->net->buffer[b].tensor == t)
                l->port[l->n_ports++] = b;
}

/* Returns the C name of an input or output.  A name of capitals only, as X or EOF, becomes lower
 * case, because it may be a macro where the header is used. */
static const char *port_name(struct library *l, struct names *names, const struct tensor *t)
{
    const struct session *s = l->opts->session;
    char *name = arena_strdup(l->a, s ? session_port_name(s, t->name) : t->name);
    bool capitals = true;
    for (const char *c = name; *c; c++)
        capitals &= !islower((unsigned char)*c);
    for (char *c = name; *c && capitals; c++)
        *c = (char)tolower((unsigned char)*c);
    return names_claim(names, name);
}

/* Returns the C name of the macro for the size of an input or output. */
static const char *size_macro(struct library *l, struct names *macros, const char *name)
{
    char *upper = arena_printf(l->a, "%s_%s_ELEMS", str_text(slot(l, "UPPER")), name);
    for (char *c = upper; *c; c++)
        *c = (char)toupper((unsigned char)*c);
    return names_claim(macros, upper);
}

/* Chooses C names for the inputs and outputs, and fills in the slots that depend on them. */
static void add_interface(struct library *l)
{
    /* names that library/network.c.in uses */
    static const char *const taken[] = { "net", "head", "errno" };
    struct names *names = names_new(l->a), *macros = names_new(l->a);
    struct str sign = {0};
    add_ports(l, NETWORK_INPUT);
    l->n_inputs = l->n_ports;
    add_ports(l, NETWORK_OUTPUT);
    for (int i = 0; i < COUNT_OF(taken); i++)
        names_claim(names, taken[i]);
    str_printf(&sign, "void %s_run(struct %s *net", l->opts->name, l->opts->name);
    for (int i = 0; i < l->n_ports; i++) {
        int b = l->port[i];
        bool input = i < l->n_inputs;
        const struct tensor *t = &l->net->graph->tensor[l->net->buffer[b].tensor];
        const char *name = l->name[b] = port_name(l, names, t);
        const char *macro = size_macro(l, macros, name);
        const char *line = i > 0 ? "\n" : "", *comma = i > 0 ? ", " : "";
        str_printf(slot(l, "TENSORS"), "%s *     %s ", line, name);
        for (int d = 0; d < t->rank; d++)
            str_printf(slot(l, "TENSORS"), "[%lld]", (long long)t->shape[d]);
        str_add(slot(l, "TENSORS"), input ? ", read" : is_streamed(l->net->module, b)
                                                     ? ", written, aligned to 64 bytes"
                                                     : ", written");
        str_printf(slot(l, "SIZES"), "%s#define %s %lld", line, macro, (long long)tensor_elems(t));
        str_printf(slot(l, "ROWS"), "%s    { \"%s\", %s },", line, name, macro);
        str_printf(slot(l, "ARGUMENTS"), "%s%s", comma, name);
        str_printf(slot(l, "DATA"), "%sdata[%d]", comma, i);
        str_printf(&sign, ", %s%s *%s", input ? "const " : "", l->type, name);
    }
    str_add(&sign, ")");
    add_wrapped(slot(l, "SIGNATURE"), str_text(&sign), 4);
    str_printf(slot(l, "N_INPUTS"), "%d", l->n_inputs);
    str_printf(slot(l, "N_TENSORS"), "%d", l->n_ports);
    str_free(&sign);
    names_free(names);
    names_free(macros);
}

static void add_flags(struct library *l, const char *name, bool is_clang)
{
    const char *const *flags = target_flags(l->opts->target, is_clang);
    for (int i = 0; flags[i]; i++)
        str_printf(slot(l, name), "%s%s", i ? " " : "", flags[i]);
}

/* Fills in the slots of the templates, except those of the weights file. */
static void add_network(struct library *l)
{
    const struct module *m = l->net->module;
    bool parallel = module_is_parallel(m);
    int64_t memory = m->plan->bytes > 0 ? m->plan->bytes : HEAD_BYTES;
    str_add(slot(l, "NAME"), l->opts->name);
    str_add(slot(l, "UPPER"), l->opts->name);
    for (char *c = slot(l, "UPPER")->data; *c; c++)
        *c = (char)toupper((unsigned char)*c);
    str_add(slot(l, "TYPE"), l->type);
    str_printf(slot(l, "MEMORY_BYTES"), "%lld", (long long)memory);
    str_printf(slot(l, "MIB"), "%.1f", (double)((int64_t)l->weights.len + memory) / (1 << 20));
    str_printf(slot(l, "SOURCES"), "%s.c", l->opts->name);
    str_printf(slot(l, "OBJECTS"), "%s.o", l->opts->name);
    add_flags(l, "GCC", false);
    add_flags(l, "CLANG", true);
    str_add(slot(l, "OPENMP"), parallel ? " -fopenmp" : "");
    str_add(slot(l, "CMAKE_OPENMP"), "");
    str_add(slot(l, "THREADS"), "");
    if (parallel) {
        str_printf(slot(l, "CMAKE_OPENMP"), "find_package(OpenMP REQUIRED)\n"
                   "target_link_libraries(%s PUBLIC OpenMP::OpenMP_C)\n", l->opts->name);
        str_printf(slot(l, "THREADS"), "OMP_NUM_THREADS=%d ", l->opts->threads);
    }
    add_interface(l);
    add_prototypes(l);
    for (int i = 0; i < m->n_calls; i++)
        add_call(l, i);
}

/* The files that are made from templates.  whole: files with the name of their template.  named:
 * templates, and the endings that the names of their files get after the network's name. */
static const char *const whole[] = { "main.c", "Makefile", "CMakeLists.txt" };
static const struct { const char *name, *ending; } named[] = {
    { "network.h", ".h" }, { "network.c", ".c" }, { "kernels.h", "_kernels.h" },
};

/* Whether tilescope wrote the file: it begins like the texts or the weights of a library. */
static bool is_ours(const char *path)
{
    char head[4096];
    struct stat st;
    return stat(path, &st) == 0 && S_ISREG(st.st_mode) && file_head(path, head, sizeof head) > 0
        && (str_starts(head, MAGIC) || strstr(head, "Written by tilescope."));
}

/* Refuses to replace a file that tilescope did not write.  ours: if the file exists, tilescope is
 * known to have written it. */
static bool may_replace(const struct library *l, const char *file, bool ours, struct err *e)
{
    const char *path = arena_printf(l->a, "%s/%s", l->folder, file);
    if (ours || !file_exists(path) || is_ours(path))
        return true;
    err_set(e, ERR_RANGE, "%.300s is not part of an exported library and is not replaced", path);
    return err_fix(e, "-o FOLDER names a new folder");
}

/* Checks that no file of the library would replace a file that tilescope did not write.  NAME.check
 * has only numbers: it is part of a library if NAME.h is there. */
static bool folder_is_free(const struct library *l, struct err *e)
{
    const char *name = l->opts->name;
    bool there = file_exists(arena_printf(l->a, "%s/%s.h", l->folder, name));
    bool ok = may_replace(l, arena_printf(l->a, "%s.weights", name), false, e);
    for (int i = 0; ok && i < COUNT_OF(whole); i++)
        ok = may_replace(l, whole[i], false, e);
    for (int i = 0; ok && i < COUNT_OF(named); i++)
        ok = may_replace(l, arena_printf(l->a, "%s%s", name, named[i].ending), false, e);
    for (int k = 0; ok && k < l->net->module->n_kernels; k++)
        ok = may_replace(l, arena_printf(l->a, "%s.c", kernels_file(l, k)), false, e);
    return ok && may_replace(l, arena_printf(l->a, "%s.check", name), there, e);
}

static bool write_texts(struct library *l, struct err *e)
{
    bool ok = true;
    for (int i = 0; ok && i < COUNT_OF(named); i++)
        ok = write_template(l, named[i].name,
                            arena_printf(l->a, "%s%s", l->opts->name, named[i].ending), e);
    for (int i = 0; ok && i < COUNT_OF(whole); i++)
        ok = write_template(l, whole[i], whole[i], e);
    return ok;
}

bool network_export(const struct network *net, const struct network_values *values,
                    const struct network_export_opts *o, const char *folder, struct err *e)
{
    int n = net->module->n_buffers;
    struct library l = { .net = net, .values = values, .opts = o, .folder = folder,
                         .type = net->graph->type->c, .a = arena_new() };
    l.name = ARENA_ARRAY(l.a, const char *, n);
    l.at = ARENA_ARRAY(l.a, int64_t, n);
    l.port = ARENA_ARRAY(l.a, int, n);
    pack_weights(&l);
    add_network(&l);
    bool ok = folder_is_free(&l, e) && write_all_kernels(&l, e) && write_texts(&l, e)
           && write_check(&l, e)
           && write_file(&l, arena_printf(l.a, "%s.weights", o->name), &l.weights, e);
    ok = publish(&l, ok, e);
    for (int i = 0; i < l.n_slots; i++)
        str_free(&l.slot[i].text);
    str_free(&l.weights);
    arena_free(l.a);
    return ok;
}

bool network_export_folder(const char *folder, bool *made, struct err *e)
{
    struct str one = {0};
    *made = !file_exists(folder);
    str_printf(&one, "%s/main.c", folder);
    bool ok = dir_make(folder, e) && file_may_write(str_text(&one), e);
    str_free(&one);
    return ok;
}

bool network_export_measured(const struct network *net, const struct network_measurement *m,
                             const struct network_values *values,
                             const struct network_export_opts *o, const char *folder,
                             const char *gap, struct str *out, struct err *e)
{
    if (m->outcome != OUTCOME_OK)
        return err_set(e, ERR_WRONG, "%s", m->reason);
    if (!network_export(net, values, o, folder, e))
        return false;
    str_printf(out, "%s: %d kernel%s, each verified; check and time the library with%smake -C ",
               folder, net->n_tasks, net->n_tasks == 1 ? "" : "s", gap);
    export_put_word(out, folder);
    str_add(out, " check");
    return true;
}
