#include "profile/measure/asm_loops.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/base/vec.h"

/* A basic block: the lines first to last - 1. next: indices of the blocks that can follow it,
 * -1: none. number: its position in reverse postorder, -1: control never reaches it. dominator:
 * index of its nearest dominator (of block 0: 0), -1: none. loop: index of its innermost loop,
 * -1: none. */
struct basic_block { int first, last, next[2], number, dominator, loop; };
typedef VEC(int) ints;

/* header: the block where the loop begins, which dominates the other blocks of the loop. jump: the
 * last line that jumps back to the header. parent: the enclosing loop, -1: none. of: the C loop
 * from which this loop was compiled, -1: unknown. body: all blocks of the loop. */
struct natural_loop { int header, jump, parent, of; ints body; };

struct flow {
    struct code_lines *lines;
    const char **line;                    /* beginning of each line */
    VEC(struct basic_block) block;
    VEC(struct natural_loop) loop;
    ints order;                           /* blocks in reverse postorder */
    /* The predecessors of block b are before[i] for before_first[b] <= i < before_first[b + 1].
     * Blocks that control never reaches are left out. */
    ints before, before_first;
};

/* --- Blocks ----------------------------------------------------------------------------------- */

static bool is_label(const char *line)
{
    return line[0] == '.' && line[1] == 'L' && isdigit((unsigned char)line[2]);
}

static bool is_operation(const char *line, const char *name)
{
    const char *at = line + strspn(line, " ");
    size_t n = strlen(name);
    return line[0] == ' ' && strncmp(at, name, n) == 0 && (!at[n] || strchr(" \n", at[n]));
}

/* Whether control never goes on to the next line (x86-64 and AArch64). */
static bool stops(const char *line)
{
    return is_operation(line, "jmp") || is_operation(line, "ret") || is_operation(line, "b")
        || is_operation(line, "br");
}

/* Returns the number in "    jne    .L12" or ".L12:"; -1: the line has no label. */
static int label_of(const char *line)
{
    const char *at = is_label(line) ? line : memmem(line, strcspn(line, "\n"), " .L", 3);
    at = at ? strchr(at, 'L') : NULL;
    return at ? (int)strtol(at + 1, NULL, 10) : -1;
}

/* Whether a line jumps inside the function: only jumps have labels as operands. */
static bool is_jump(const char *line)
{
    return line[0] == ' ' && label_of(line) >= 0;
}

/* Divides the lines first to last - 1, a function, into blocks. */
static void find_blocks(struct flow *f, int first, int last)
{
    bool open = false;
    f->block.len = 0;
    for (int i = first; i < last; i++) {
        if (!open || is_label(f->line[i]))
            vec_push(&f->block, ((struct basic_block){ .first = i, .next = { -1, -1 },
                                                       .number = -1, .loop = -1 }));
        f->block.data[f->block.len - 1].last = i + 1;
        open = !is_jump(f->line[i]) && !stops(f->line[i]);
    }
}

static void find_edges(struct flow *f)
{
    ints of_label = {0};
    for (int b = 0; b < f->block.len; b++) {
        const char *line = f->line[f->block.data[b].first];
        int label = is_label(line) ? label_of(line) : -1;
        while (of_label.len <= label)
            vec_push(&of_label, -1);
        if (label >= 0)
            of_label.data[label] = b;
    }
    for (int b = 0; b < f->block.len; b++) {
        struct basic_block *x = &f->block.data[b];
        const char *end = f->line[x->last - 1];
        int label = is_jump(end) ? label_of(end) : -1;
        if (label >= 0 && label < of_label.len)
            x->next[0] = of_label.data[label];
        if (!stops(end) && b + 1 < f->block.len)
            x->next[1] = b + 1;
    }
    vec_free(&of_label);
}

/* --- Dominators ------------------------------------------------------------------------------- */

/* Fills f->order with the blocks that are reached from block 0, without recursion. */
static void order_blocks(struct flow *f)
{
    ints open = {0}, done = {0};
    char *seen = xcalloc((size_t)f->block.len, 1);
    vec_push(&open, 0);
    seen[0] = 1;
    while (open.len > 0) {
        const struct basic_block *x = &f->block.data[open.data[open.len - 1]];
        int next = -1;
        for (int k = 0; k < 2 && next < 0; k++)
            if (x->next[k] >= 0 && !seen[x->next[k]])
                next = x->next[k];
        if (next < 0) {
            vec_push(&done, open.data[--open.len]);
        } else {
            seen[next] = 1;
            vec_push(&open, next);
        }
    }
    f->order.len = 0;
    for (int i = done.len - 1; i >= 0; i--) {
        f->block.data[done.data[i]].number = f->order.len;
        vec_push(&f->order, done.data[i]);
    }
    free(seen);
    vec_free(&open);
    vec_free(&done);
}

/* Returns the nearest block that dominates both a and b. */
static int common(const struct flow *f, int a, int b)
{
    const struct basic_block *x = f->block.data;
    while (a != b)
        if (x[a].number > x[b].number)
            a = x[a].dominator;
        else
            b = x[b].dominator;
    return a;
}

/* After Cooper, Harvey and Kennedy, "A Simple, Fast Dominance Algorithm". */
static void find_dominators(struct flow *f)
{
    struct basic_block *x = f->block.data;
    for (int b = 0; b < f->block.len; b++)
        x[b].dominator = -1;
    x[0].dominator = 0;
    for (bool changed = true; changed;) {
        changed = false;
        for (int i = 0; i < f->order.len; i++) {
            int b = f->order.data[i];
            for (int k = 0; k < 2; k++) {
                int to = x[b].next[k];
                if (to <= 0)
                    continue;
                int d = x[to].dominator < 0 ? b : common(f, x[to].dominator, b);
                changed = changed || d != x[to].dominator;
                x[to].dominator = d;
            }
        }
    }
}

static bool dominates(const struct flow *f, int a, int b)
{
    while (f->block.data[b].number > f->block.data[a].number)
        b = f->block.data[b].dominator;
    return a == b;
}

/* --- Loops ------------------------------------------------------------------------------------ */

static struct natural_loop *loop_of_header(struct flow *f, int header)
{
    for (int i = 0; i < f->loop.len; i++)
        if (f->loop.data[i].header == header)
            return &f->loop.data[i];
    vec_push(&f->loop, ((struct natural_loop){ .header = header, .jump = -1, .parent = -1 }));
    return &f->loop.data[f->loop.len - 1];
}

static void add(ints *list, char *in, int block)
{
    if (!in[block])
        vec_push(list, block);
    in[block] = 1;
}

/* Adds to the loop the header and the blocks that reach block `from` without passing the header. */
static void fill_body(const struct flow *f, struct natural_loop *l, int from)
{
    char *in = xcalloc((size_t)f->block.len, 1);
    for (int i = 0; i < l->body.len; i++)
        in[l->body.data[i]] = 1;
    add(&l->body, in, l->header);
    int at = l->body.len;
    add(&l->body, in, from);
    for (; at < l->body.len; at++) {
        int to = l->body.data[at];
        for (int i = f->before_first.data[to]; i < f->before_first.data[to + 1]; i++)
            add(&l->body, in, f->before.data[i]);
    }
    free(in);
}

/* Fills f->before and f->before_first. The first pass counts the predecessors of each block. The
 * second pass stores the predecessors; it fills the part of a block from the end of this part. */
static void find_before(struct flow *f)
{
    f->before.len = f->before_first.len = 0;
    for (int b = 0; b <= f->block.len; b++)
        vec_push(&f->before_first, 0);
    for (int pass = 0; pass < 2; pass++) {
        for (int b = 0; b < f->block.len; b++)
            for (int k = 0; k < 2; k++) {
                int to = f->block.data[b].next[k];
                if (to < 0 || f->block.data[b].number < 0)
                    continue;
                if (pass == 0) {
                    vec_push(&f->before, -1);
                    f->before_first.data[to]++;
                } else {
                    f->before.data[--f->before_first.data[to]] = b;
                }
            }
        for (int b = 0, sum = 0; pass == 0 && b <= f->block.len; b++)
            f->before_first.data[b] = sum += f->before_first.data[b];
    }
}

static void find_loops(struct flow *f)
{
    f->loop.len = 0;
    for (int b = 0; b < f->block.len; b++)
        for (int k = 0; k < 2; k++) {
            int to = f->block.data[b].next[k];
            if (to < 0 || f->block.data[b].number < 0 || !dominates(f, to, b))
                continue;
            struct natural_loop *l = loop_of_header(f, to);
            int jump = f->block.data[b].last - 1;
            l->jump = jump > l->jump ? jump : l->jump;
            fill_body(f, l, b);
        }
}

static int by_size(const void *a, const void *b)
{
    const struct natural_loop *x = a, *y = b;
    return x->body.len != y->body.len ? (x->body.len < y->body.len ? 1 : -1)
                                      : (x->header > y->header) - (x->header < y->header);
}

/* Finds the enclosing loop of each loop and the innermost loop of each block. Large loops come
 * first, so that an enclosing loop is before its inner ones. */
static void nest_loops(struct flow *f)
{
    if (f->loop.len > 0)
        qsort(f->loop.data, (size_t)f->loop.len, sizeof *f->loop.data, by_size);
    for (int i = 0; i < f->loop.len; i++) {
        struct natural_loop *l = &f->loop.data[i];
        l->parent = f->block.data[l->header].loop;
        for (int k = 0; k < l->body.len; k++)
            f->block.data[l->body.data[k]].loop = i;
    }
}

static bool encloses(const struct code_lines *lines, int outer, int inner)
{
    while (inner >= 0 && inner != outer)
        inner = lines->loop[inner].parent;
    return inner == outer;
}

/* Finds the C loop of each machine loop: the C loop of the line of its jump. That line can be
 * missing or wrong: the compiler may give an outer jump no line or the line of the inner loop, and
 * a machine loop that hands out iterations to threads has no line of its own. Therefore the C loop
 * of an outer machine loop is corrected unless it encloses the C loop of the inner one. An inner
 * machine loop without a C loop gets the C loop of the machine loop around it. */
static void name_loops(struct flow *f)
{
    for (int i = 0; i < f->loop.len; i++)
        f->loop.data[i].of = f->lines->of[f->loop.data[i].jump];
    for (int i = f->loop.len - 1; i >= 0; i--) {
        const struct natural_loop *l = &f->loop.data[i];
        struct natural_loop *outer = l->parent >= 0 ? &f->loop.data[l->parent] : NULL;
        int above = l->of >= 0 ? f->lines->loop[l->of].parent : -1;
        if (outer && l->of >= 0 && (outer->of < 0 || !encloses(f->lines, outer->of, above)))
            outer->of = above;
    }
    for (int i = 0; i < f->loop.len; i++) {
        struct natural_loop *l = &f->loop.data[i];
        if (l->of < 0 && l->parent >= 0)
            l->of = f->loop.data[l->parent].of;
    }
}

static void read_function(struct flow *f, int first, int last, int *of)
{
    find_blocks(f, first, last);
    if (f->block.len == 0)
        return;
    find_edges(f);
    order_blocks(f);
    find_dominators(f);
    find_before(f);
    find_loops(f);
    nest_loops(f);
    name_loops(f);
    for (int b = 0; b < f->block.len; b++) {
        const struct basic_block *x = &f->block.data[b];
        for (int i = x->first; i < x->last; i++)
            of[i] = x->loop >= 0 ? f->loop.data[x->loop].of : -1;
    }
    for (int i = 0; i < f->loop.len; i++)
        vec_free(&f->loop.data[i].body);
}

void asm_loops_find(struct arena *a, const char *assembly, struct code_lines *lines)
{
    struct flow f = { .lines = lines };
    int *of = ARENA_ARRAY(a, int, lines->n + 1);
    f.line = xcalloc((size_t)lines->n + 1, sizeof *f.line);
    for (int i = 0; i < lines->n; i++) {
        f.line[i] = assembly;
        of[i] = -1;
        assembly += strcspn(assembly, "\n");
        assembly += *assembly == '\n';
    }
    for (int i = 0; i < lines->n;) {
        int end = i;
        while (end < lines->n && (f.line[end][0] == ' ' || is_label(f.line[end])))
            end++;
        read_function(&f, i, end, of);
        i = end + 1;
    }
    vec_free(&f.block);
    vec_free(&f.loop);
    vec_free(&f.order);
    vec_free(&f.before);
    vec_free(&f.before_first);
    free(f.line);
    lines->of = of;
}
