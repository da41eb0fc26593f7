/* Makes the output of objdump readable: without addresses and padding, with labels as jump
 * targets. */
#include "profile/build/build.h"

#include "kernels/base/vec.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#define OBJDUMP_LIMIT_S 20.0

/* One instruction line of the dump: its address, its text (without a NUL at its end), and its line
 * of the C source. */
struct disasm_line { unsigned long long address; const char *text; int len, c_line; };
typedef VEC(struct disasm_line) insns;

/* Parses a line such as " 1092:\tjne 1060 <conv2d+0x30>". */
static bool parse_insn(const char *line, size_t len, struct disasm_line *out)
{
    char *end;
    out->address = strtoull(line, &end, 16);
    if (end == line || *end != ':' || end[1] != '\t' || end + 2 > line + len)
        return false;
    out->text = end + 2;
    out->len = (int)(line + len - out->text);
    return true;
}

/* Whether x is one of the instructions that pad functions and loops: a nop in one of its spellings,
 * int3 or udf. */
static bool is_padding(const struct disasm_line *x)
{
    static const char *const word[] = { "nop", "data16", "cs nop", "xchg   ax,ax", "int3", "udf" };
    for (int i = 0; i < COUNT_OF(word); i++)
        if (strncmp(x->text, word[i], strlen(word[i])) == 0)
            return true;
    return false;
}

/* A jump target "1060 <conv2d+0x30>" in the operands. at: where the number starts; name: the text
 * between < and >, without a NUL at its end. */
struct target_ref { const char *at; unsigned long long address; const char *name; int name_len; };

static bool find_target(const struct disasm_line *x, struct target_ref *out)
{
    const char *open = memchr(x->text, '<', (size_t)x->len);
    if (!open || open - x->text < 3 || open[-1] != ' ')
        return false;
    const char *p = open - 1;
    while (p > x->text && isxdigit((unsigned char)p[-1]))
        p--;
    const char *close = memchr(open, '>', (size_t)(x->text + x->len - open));
    if (p == open - 1 || !close)
        return false;
    out->at = p;
    out->address = strtoull(p, NULL, 16);
    out->name = open + 1;
    out->name_len = (int)(close - open - 1);
    return true;
}

/* Drops a comment "# 2000 <...>". The address of data tells nothing, because the printed text has
 * no addresses. */
static void drop_comment(struct disasm_line *x)
{
    const char *hash = memmem(x->text, (size_t)x->len, "# ", 2);
    if (hash)
        x->len = (int)(hash - x->text);
    while (x->len > 0 && isspace((unsigned char)x->text[x->len - 1]))
        x->len--;
}

static int by_value(const void *a, const void *b)
{
    const unsigned long long *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

typedef VEC(unsigned long long) labels;

/* Collects the addresses inside the function that are jump targets, ascending. */
static void collect_labels(const insns *body, labels *out)
{
    struct target_ref t;
    unsigned long long first = body->data[0].address, last = body->data[body->len - 1].address;
    for (int i = 0; i < body->len; i++)
        if (find_target(&body->data[i], &t) && t.address >= first && t.address <= last)
            vec_push(out, t.address);
    if (out->len == 0)
        return;
    qsort(out->data, (size_t)out->len, sizeof *out->data, by_value);
    int n = 1;
    for (int i = 1; i < out->len; i++)
        if (out->data[i] != out->data[n - 1])
            out->data[n++] = out->data[i];
    out->len = n;
}

static int label_number(const labels *l, unsigned long long address)
{
    for (int i = 0; i < l->len; i++)
        if (l->data[i] == address)
            return i + 1;
    return 0;
}

/* The text under construction. lines: for each line of the text, its line of the C source; NULL:
 * not wanted. n_labels: the number of labels in the functions printed so far. before: NULL, or a
 * text whose functions are not printed again. */
struct listing {
    struct str *out;
    struct c_lines *lines;
    int n_labels;
    const struct str *before;
};

static void add_c_line(struct listing *t, int line)
{
    if (t->lines)
        vec_push(t->lines, line);
}

static void print_insn(struct str *out, const struct disasm_line *x, const labels *l, int base)
{
    struct target_ref t;
    str_add(out, "    ");
    if (!find_target(x, &t)) {
        str_printf(out, "%.*s\n", x->len, x->text);
        return;
    }
    str_add_n(out, x->text, (size_t)(t.at - x->text));
    int n = label_number(l, t.address);
    const char *at = memchr(t.name, '@', (size_t)t.name_len);
    if (n)
        str_printf(out, ".L%d\n", base + n);
    else
        str_printf(out, "%.*s\n", at ? (int)(at - t.name) : t.name_len, t.name);
}

/* Prints one function. Its labels continue the numbers of the functions before it. */
static void print_function(struct listing *t, const char *name, int name_len, insns *body)
{
    labels l = {0};
    struct str *out = t->out;
    while (body->len > 0 && is_padding(&body->data[body->len - 1]))
        body->len--;
    if (body->len == 0)
        return;
    for (int i = 0; i < body->len; i++)
        drop_comment(&body->data[i]);
    collect_labels(body, &l);
    if (out->len)
        add_c_line(t, 0);
    add_c_line(t, 0);
    str_printf(out, "%s%.*s:\n", out->len ? "\n" : "", name_len, name);
    for (int i = 0; i < body->len; i++) {
        int n = label_number(&l, body->data[i].address), line = body->data[i].c_line;
        if (n) {
            add_c_line(t, line);
            str_printf(out, ".L%d:\n", t->n_labels + n);
        }
        if (n || !is_padding(&body->data[i])) {
            add_c_line(t, line);
            print_insn(out, &body->data[i], &l, t->n_labels);
        }
    }
    t->n_labels += l.len;
    vec_free(&l);
}

/* Whether `name` names a part of function `symbol` that the compiler made a function of its own.
 * clang's bodies of parallel loops (.omp_outlined, .omp_outlined.1) do not name their function.
 * They count for every symbol, and the first one gets them. */
static bool is_part(const char *name, size_t len, const char *symbol)
{
    size_t n = strlen(symbol);
    if (len >= 13 && strncmp(name, ".omp_outlined", 13) == 0)
        return true;
    return len > n && strncmp(name, symbol, n) == 0 && name[n] == '.';
}

static bool is_whole(const char *name, size_t len, const char *symbol)
{
    return len == strlen(symbol) && strncmp(name, symbol, len) == 0;
}

typedef bool name_test(const char *name, size_t len, const char *symbol);

static bool has_function(const struct str *text, const char *name, int len)
{
    struct str head = {0};
    str_printf(&head, "\n%.*s:\n", len, name);
    bool found = strstr(str_text(text), str_text(&head)) != NULL;
    str_free(&head);
    return found;
}

/* Reads the line number, here 61, from "/path/KEY.c:61 (discriminator 2)" or from "inlined by
 * /path/KEY.c:61". Returns 0 if the text has another form. */
static int c_line_of(const char *line, size_t len)
{
    static const char inlined[] = "inlined by ";
    size_t skip = len > strlen(inlined) && strncmp(line, inlined, strlen(inlined)) == 0
                ? strlen(inlined) : 0;
    const char *colon = line[skip] == '/' ? memmem(line, len, ".c:", 3) : NULL;
    return colon ? (int)strtol(colon + 3, NULL, 10) : 0;
}

/* Prints every function of the dump whose name passes the test. Returns their number. */
static int print_matching(struct listing *t, const char *dump, const char *symbol, name_test *test)
{
    insns body = {0};
    const char *name = NULL;
    int found = 0, name_len = 0, c_line = 0;
    for (const char *line = dump; *line; line += strcspn(line, "\n"), line += *line == '\n') {
        size_t len = strcspn(line, "\n");
        struct disasm_line x;
        const char *open = memchr(line, '<', len);
        if (open && isxdigit((unsigned char)*line) && line[len - 1] == ':') {
            if (name)
                print_function(t, name, name_len, &body);
            name = open + 1;
            name_len = (int)(line + len - 2 - name);
            if (!test(name, (size_t)name_len, symbol)
                || (t->before && has_function(t->before, name, name_len)))
                name = NULL;
            found += name != NULL;
            c_line = 0;
            vec_clear(&body);
        } else if (name && parse_insn(line, len, &x)) {
            x.c_line = c_line;
            vec_push(&body, x);
        } else if (c_line_of(line, len) > 0) {
            c_line = c_line_of(line, len);
        }
    }
    if (name)
        print_function(t, name, name_len, &body);
    vec_free(&body);
    return found;
}

static const char *const command[] = {
    "objdump", "-d", "--no-show-raw-insn",
#if defined __x86_64__ || defined __i386__
    "-M", "intel",
#endif
};

bool build_disassemble(const char *so_path, const char *symbol, const struct cancel *c,
                       struct str *out, struct c_lines *c_lines, struct err *e)
{
    const char *argv[COUNT_OF(command) + 4];
    struct subprocess_result res;
    memcpy(argv, command, sizeof command);
    int n = COUNT_OF(command);
    if (c_lines) {
        argv[n++] = "-l";
        argv[n++] = "--inlines";  /* code of an inlined helper gets the line of the call */
    }
    argv[n++] = so_path;
    argv[n] = NULL;
    if (!subprocess_find("objdump", NULL)) {
        err_set(e, ERR_ENV, "objdump is not installed, so there is no assembly to show");
        return err_fix(e, "apt install binutils");
    }
    if (!subprocess_run(argv, OBJDUMP_LIMIT_S, c, &res, e))
        return false;
    subprocess_drop_half_line(&res);
    struct str text = {0};
    struct listing list = { .out = &text, .lines = c_lines };
    bool failed = subprocess_failed(&res), ok = !failed
           && print_matching(&list, str_text(&res.out), symbol, is_whole) > 0;
    if (ok) {
        list.before = out;
        print_matching(&list, str_text(&res.out), symbol, is_part);
        if (res.cut) {
            add_c_line(&list, 0);
            str_add(&text, "# the rest is missing: objdump printed more than 1 MiB\n");
        }
        str_add_n(out, str_text(&text), text.len);
    } else if (failed) {
        subprocess_refuse("objdump", &res, OBJDUMP_LIMIT_S, e);
    } else {
        err_set(e, ERR_NAME, "no function %s in %sthe compiled code", symbol,
                res.cut ? "the first MiB of the listing of " : "");
    }
    str_free(&text);
    str_free(&res.out);
    return ok;
}
