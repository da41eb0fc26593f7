/* Makes the output of nvdisasm and cuobjdump readable. Both print the offset of an instruction as a
 * comment, then the instruction:
 *     @!P0 BRA `(.L_x_3) ;
 * cuobjdump prints the offset of the jump target instead of a label, and the encoding of the
 * instruction after the semicolon. */
#include "profile/build/sass.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/base/vec.h"
#include "profile/cuda/library.h"

/* --- The text --------------------------------------------------------------------------------- */

/* A piece of the dump, without a NUL at its end. */
struct sass_piece { const char *text; int len; };
/* The target of a jump. at: the text of the target in the instruction; empty: the instruction has
 * no target, or an offset outside of the function. name: the label; empty: the target is written as
 * an offset. known: whether the target is inside the function. */
struct sass_target { struct sass_piece at, name; unsigned offset; bool known; };
/* guard: the predicate "@!P0", or empty; op: the instruction without guard and semicolon. label:
 * the number of the new label that is printed before the instruction; 0: no label. */
struct sass_insn {
    unsigned offset;
    struct sass_piece guard, op;
    int source_line, label;
    struct sass_target to;
};
struct sass_label { struct sass_piece name; unsigned offset; };
#define NOWHERE (~0u)          /* no offset: a label after all instructions, or no known target */
struct sass_function {
    struct sass_piece name;
    VEC(struct sass_insn) insn;
    VEC(struct sass_label) label;
};
typedef VEC(struct sass_function) sass_functions;

static bool same(struct sass_piece a, struct sass_piece b)
{
    return a.len == b.len && memcmp(a.text, b.text, (size_t)a.len) == 0;
}

static bool starts(struct sass_piece p, const char *word)
{
    return p.len >= (int)strlen(word) && memcmp(p.text, word, strlen(word)) == 0;
}

static struct sass_piece skip(struct sass_piece p, int n)
{
    n = n < p.len ? n : p.len;
    return (struct sass_piece){ p.text + n, p.len - n };
}

static struct sass_piece trim(struct sass_piece p)
{
    while (p.len > 0 && strchr(" \t", *p.text))
        p = skip(p, 1);
    while (p.len > 0 && strchr(" \t", p.text[p.len - 1]))
        p.len--;
    return p;
}

/* Returns the part of p before the first character that is in `characters`; all of p if none is. */
static struct sass_piece before(struct sass_piece p, const char *characters)
{
    int n = 0;
    while (n < p.len && !strchr(characters, p.text[n]))
        n++;
    return (struct sass_piece){ p.text, n };
}

static bool parse_insn(struct sass_piece line, struct sass_insn *out)
{
    char *end;
    line = trim(line);
    if (!starts(line, "/*"))
        return false;
    out->offset = (unsigned)strtoul(line.text + 2, &end, 16);
    struct sass_piece rest = skip(line, (int)(end - line.text));
    if (end == line.text + 2 || !starts(rest, "*/"))
        return false;
    rest = trim(before(skip(rest, 2), ";"));
    out->guard = (struct sass_piece){ rest.text, starts(rest, "@") ? before(rest, " ").len : 0 };
    out->op = trim(skip(rest, out->guard.len));
    return out->op.len > 0 && !starts(out->op, "/*");
}

/* Returns the last line number of `//## File "kernel.cu", line 3 inlined at "kernel.cu", line 8`,
 * here 8: the line in the kernel. Returns 0 if the text has another form. */
static int source_line(struct sass_piece line)
{
    static const char mark[] = "\", line ";
    const char *last = NULL, *end = line.text + line.len;
    for (const char *p = line.text; (p = memmem(p, (size_t)(end - p), mark, sizeof mark - 1));)
        last = p += sizeof mark - 1;
    return last && starts(trim(line), "//##") ? (int)strtol(last, NULL, 10) : 0;
}

/* Reads the name of the function that begins on this line of nvdisasm or cuobjdump. */
static bool begins_function(struct sass_piece line, struct sass_piece *name)
{
    if (starts(line, ".text.") && line.text[line.len - 1] == ':')
        *name = (struct sass_piece){ line.text + 6, line.len - 7 };
    else if (starts(trim(line), "Function : "))
        *name = trim(skip(trim(line), 11));
    else
        return false;
    return true;
}

/* Reads the functions of the dump, in its order. */
static void read_dump(struct sass_piece dump, sass_functions *out)
{
    int at_line = 0;
    while (dump.len > 0) {
        struct sass_piece line = before(dump, "\n"), name;
        struct sass_function *f = out->len > 0 ? &out->data[out->len - 1] : NULL;
        struct sass_insn x = { .offset = 0 };
        dump = skip(dump, line.len + 1);
        if (begins_function(line, &name)) {
            vec_push(out, (struct sass_function){ .name = name });
            at_line = 0;
        } else if (f && parse_insn(line, &x)) {
            x.source_line = at_line;
            for (int i = f->label.len - 1; i >= 0 && f->label.data[i].offset == NOWHERE; i--)
                f->label.data[i].offset = x.offset;
            vec_push(&f->insn, x);
        } else if (f && line.len > 1 && line.text[line.len - 1] == ':') {
            line.len--;
            vec_push(&f->label, (struct sass_label){ line, NOWHERE });
        } else if (source_line(line) > 0) {
            at_line = source_line(line);
        }
    }
}

/* Returns the instruction at an offset, or NULL. */
static struct sass_insn *insn_at(const struct sass_function *f, unsigned offset)
{
    for (int i = 0; i < f->insn.len; i++)
        if (f->insn.data[i].offset == offset)
            return &f->insn.data[i];
    return NULL;
}

/* Finds the target of a jump if the last operand gives the target as an offset. */
static void find_offset(const struct sass_function *f, struct sass_insn *x)
{
    static const char *const jump[] = { "BRA", "CALL", "JMP", "BSSY", "BRX", "WARPSYNC" };
    struct sass_piece at = { x->op.text + x->op.len, 0 };
    bool jumps = false;
    for (int i = 0; i < COUNT_OF(jump); i++)
        jumps = jumps || starts(x->op, jump[i]);
    while (jumps && at.text > x->op.text && !strchr(" ,", at.text[-1]))
        at = (struct sass_piece){ at.text - 1, at.len + 1 };
    x->to.offset = starts(at, "0x") ? (unsigned)strtoul(at.text, NULL, 16) : NOWHERE;
    x->to.known = x->to.offset != NOWHERE && insn_at(f, x->to.offset);
    x->to.at = x->to.known ? at : (struct sass_piece){ NULL, 0 };
}

/* Finds the target of an instruction, if it has one. */
static void find_target(const struct sass_function *f, struct sass_insn *x)
{
    const char *quote = memmem(x->op.text, (size_t)x->op.len, "`(", 2);
    if (!quote) {
        find_offset(f, x);
        return;
    }
    x->to.at = before(skip(x->op, (int)(quote - x->op.text)), ")");
    x->to.name = skip(x->to.at, 2);
    x->to.at.len += x->to.at.text + x->to.at.len < x->op.text + x->op.len;  /* with the ")" */
    x->to.offset = NOWHERE;
    for (int i = 0; i < f->label.len; i++)
        if (same(f->label.data[i].name, x->to.name))
            x->to.offset = f->label.data[i].offset;
    x->to.known = x->to.offset != NOWHERE;
}

/* Drops the NOPs at the end, and the jump to itself before them, which is never reached. */
static void drop_padding(struct sass_function *f)
{
    while (f->insn.len > 0 && starts(f->insn.data[f->insn.len - 1].op, "NOP"))
        f->insn.len--;
    const struct sass_insn *last = f->insn.len > 0 ? &f->insn.data[f->insn.len - 1] : NULL;
    if (last && starts(last->op, "BRA") && last->guard.len == 0 && last->to.known
        && last->to.offset == last->offset)
        f->insn.len--;
}

/* Returns the instruction at the target if a new label .L1, .L2, ... replaces the text of the
 * target; NULL: the target keeps its name. */
static struct sass_insn *labelled(const struct sass_function *f, const struct sass_target *to)
{
    bool numbered = to->name.len == 0 || starts(to->name, ".L");
    return to->known && numbered ? insn_at(f, to->offset) : NULL;
}

/* The text under construction, with the numbers of functions and labels so far. */
struct sass_text { struct str *out; struct c_lines *lines; int n_functions, n_labels; };

static void end_line(struct sass_text *t, int source)
{
    str_add_char(t->out, '\n');
    if (t->lines)
        vec_push(t->lines, source);
}

static void print_insn(struct sass_text *t, const struct sass_function *f,
                       const struct sass_insn *x)
{
    const char *end = x->op.text + x->op.len, *behind = x->to.at.text + x->to.at.len;
    const struct sass_insn *to = labelled(f, &x->to);
    str_printf(t->out, "  %04x %6.*s ", x->offset, x->guard.len, x->guard.text);
    if (x->to.at.len == 0) {
        str_add_n(t->out, x->op.text, (size_t)x->op.len);
    } else {
        str_add_n(t->out, x->op.text, (size_t)(x->to.at.text - x->op.text));
        if (to)
            str_printf(t->out, ".L%d", to->label);
        else
            str_add_n(t->out, x->to.name.text, (size_t)x->to.name.len);
        str_add_n(t->out, behind, (size_t)(end - behind));
    }
    end_line(t, x->source_line);
}

/* Prints the labels before an instruction: the labels of the dump except .L..., then the new
 * one. */
static void print_labels(struct sass_text *t, const struct sass_function *f,
                         const struct sass_insn *x)
{
    for (int i = 0; i < f->label.len; i++) {
        struct sass_piece name = f->label.data[i].name;
        if (f->label.data[i].offset != x->offset || starts(name, ".L"))
            continue;
        str_printf(t->out, "%.*s:", name.len, name.text);
        end_line(t, x->source_line);
    }
    if (x->label > 0) {
        str_printf(t->out, ".L%d:", x->label);
        end_line(t, x->source_line);
    }
}

static void print_function(struct sass_text *t, struct sass_function *f)
{
    for (int i = 0; i < f->insn.len; i++) {
        struct sass_insn *to = labelled(f, &f->insn.data[i].to);
        if (to)
            to->label = 1;
    }
    for (int i = 0; i < f->insn.len; i++)
        if (f->insn.data[i].label)
            f->insn.data[i].label = ++t->n_labels;
    end_line(t, 0);
    t->n_functions++;
    str_printf(t->out, "%.*s:", f->name.len, f->name.text);
    end_line(t, 0);
    for (int i = 0; i < f->insn.len; i++) {
        print_labels(t, f, &f->insn.data[i]);
        print_insn(t, f, &f->insn.data[i]);
    }
}

/* Prints the functions, the last one first, because a cubin lists them in reverse. cut_by: the name
 * of the tool if its dump was cut; NULL: the dump is complete. Returns whether it printed any. */
static bool print_dump(struct sass_piece dump, const char *cut_by, struct sass_text *t)
{
    sass_functions all = {0};
    read_dump(dump, &all);
    for (int i = all.len - 1; i >= 0; i--) {
        struct sass_function *f = &all.data[i];
        for (int k = 0; k < f->insn.len; k++)
            find_target(f, &f->insn.data[k]);
        drop_padding(f);
        if (f->insn.len > 0)
            print_function(t, f);
        if (cut_by && i == all.len - 1) {
            str_printf(t->out, "// The listing is cut here: %s printed more than 1 MiB.",
                       cut_by);
            end_line(t, 0);
        }
        vec_free(&f->insn);
        vec_free(&f->label);
    }
    vec_free(&all);
    return t->n_functions > 0;
}

/* --- The tool --------------------------------------------------------------------------------- */

static const char *const tool[] = { "nvdisasm", "cuobjdump" };

/* Stores the folder TOOLKIT/bin of the toolkit that NVRTC is loaded from. NVRTC is
 * TOOLKIT/lib64/libnvrtc.so or TOOLKIT/targets/x86_64-linux/lib/libnvrtc.so. Returns whether the
 * folder exists. */
static bool toolkit_bin(struct str *out)
{
    struct err none;
    char version[32], path[1024] = "";
    const void *function;
    if (nvrtc_find(version, sizeof version, &function, &none))
        cuda_library_file(function, path, sizeof path);
    char *targets = strstr(path, "/targets/"), *slash = strrchr(path, '/');
    struct str dir = {0};
    str_printf(&dir, "%.*s/%sbin", (int)((targets ? targets : slash ? slash : path) - path), path,
               targets ? "" : "../");
    char *real = slash ? realpath(str_text(&dir), NULL) : NULL;
    str_add(out, real ? real : "");
    free(real);
    str_free(&dir);
    return out->len > 0;
}

bool sass_tool_find(struct str *path, struct err *e)
{
    struct str bin = {0};
    bool there = toolkit_bin(&bin), found = false;
    for (int i = 0; i < COUNT_OF(tool) && !found; i++)
        found = subprocess_find(tool[i], path)
             || (there && subprocess_find_in(tool[i], str_text(&bin), path));
    if (!found) {
        err_set(e, ERR_ENV, "neither nvdisasm nor cuobjdump is installed, so there is no SASS to"
                " show: they are not in PATH%s%s", there ? " and not in " : "", str_text(&bin));
        err_fix(e, "install NVIDIA's package cuda-nvdisasm (or cuda-cuobjdump) or the whole CUDA"
                " toolkit, or add the folder of nvdisasm to PATH");
    }
    str_free(&bin);
    return found;
}

/* Runs the tool on the cubin. */
static bool run_tool(const char *path, const struct gpu_build *b, double limit_s,
                     const struct cancel *c, struct subprocess_result *res, struct err *e)
{
    const char *const nvdisasm[] = { path, "-c", "-gi", "/dev/fd/3", NULL };
    const char *const cuobjdump[] = { path, "-sass", "/dev/fd/3", NULL };
    return subprocess_run_on(b->cubin, b->bytes, str_ends(path, tool[0]) ? nvdisasm : cuobjdump,
                             limit_s, c, res, e);
}

bool sass_disassemble(const struct gpu_build *b, double limit_s, const struct cancel *c,
                      struct str *out, struct c_lines *lines, struct err *e)
{
    struct str path = {0}, text = {0};
    struct subprocess_result res = {0};
    bool ok = sass_tool_find(&path, e) && run_tool(str_text(&path), b, limit_s, c, &res, e);
    bool full = ok && str_ends(str_text(&path), tool[0]);
    const char *name = tool[!full];
    struct sass_text t = { .out = &text, .lines = lines };
    str_printf(&text, "// %s by NVRTC %s, disassembled by %s%s", b->arch, b->version, name,
               full ? "" : ", which gives no source lines");
    end_line(&t, 0);
    subprocess_drop_half_line(&res);
    struct sass_piece dump = { str_text(&res.out), (int)res.out.len };
    if (ok && subprocess_failed(&res))
        ok = subprocess_refuse(name, &res, limit_s, e);
    if (ok && !print_dump(dump, res.cut ? name : NULL, &t))
        ok = err_set(e, ERR_ENV, "%s printed no function", name);
    if (ok)
        str_add_n(out, str_text(&text), text.len);
    str_free(&text);
    str_free(&path);
    str_free(&res.out);
    return ok;
}
