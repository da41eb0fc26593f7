/* Programs: what each loop step leaves in its stage, why a layout stops, what is stored where, and
 * the texts about algorithms, tiles that overlap and packed constants. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "kernels/layout/layout.h"
#include "kernels/program/contract.h"
#include "tests/unit/perm.h"
#include "tests/unit/programs.h"
#undef fail                               /* ours; cmocka has its own */
#include <cmocka.h>

#define GEMM "gmm m=8 k=8 n=8"
#define F16  "gmm m=32 k=32 n=32 type=f16"
#define CONV "c2d n=1 i=4 h=10 w=10 o=8 k=3 bias=1 relu=1"
#define TWO  "x = input n=1 i=4 h=10 w=10; a = c2d(x) o=4 k=3; r = relu(a); b = c2d(r) o=4 k=3"
#define ADDS "x = input m=4 k=4; w = const k=4 n=4; b = const n=4; c = const n=4; " \
             "y = gmm(x, w) n=4; z = add(y, b); t = add(z, c)"

/* steps: separated by ';'. */
static const struct program *after(const char *spec, const char *steps)
{
    const struct program *p = program_bare(perm, spec);
    char *rest = NULL, *text = arena_strdup(perm, steps);
    struct err e;
    for (char *s = strtok_r(text, ";", &rest); s; s = strtok_r(NULL, ";", &rest))
        if (!program_apply_line(p, s, &p, &e))
            fail_msg("%s: %s: %s", spec, s, e.text);
    return p;
}

/* --- Stages ----------------------------------------------------------------------------------- */

static void print_form(struct str *out, const struct tile_form *f)
{
    str_printf(out, "%s pad=%lld keep=%lld", f->memory == MEMORY_SHARED ? " shared" : "",
               (long long)f->pad, (long long)f->keep);
}

/* The loops, and what is at them. */
static void print_stage(struct str *out, const struct program *p, const struct stage *s)
{
    for (int i = 0; i < s->n_axes; i++)
        str_printf(out, "%s%s%s%s", i ? " " : "", s->axis[i].name, s->axis[i].ann ? ":" : "",
                   s->axis[i].ann ? loop_ann_name[s->axis[i].ann] : "");
    if (s->cache_at)
        str_printf(out, "; sums at %s", s->cache_at);
    for (int i = 0; i < s->n_reads; i++) {
        str_printf(out, "; %s at %s", s->read[i].tensor, s->read[i].axis);
        print_form(out, &s->read[i].form);
    }
    for (int i = 0; i < s->n_ahead; i++)
        str_printf(out, "; %s ahead at %s by %lld", s->ahead[i].tensor, s->ahead[i].axis,
                   (long long)s->ahead[i].by);
    if (s->attach >= 0) {
        str_printf(out, "; in %s of %s", s->attach_axis, p->stage[s->attach]->name);
        print_form(out, &s->attach_form);
    }
    str_add(out, s->inlined ? "; inlined" : s->stream ? "; streamed" : "");
}

static const struct { const char *spec, *steps, *stage, *want; } stages[] = {
    { CONV, "loop reorder Conv KH O", "Conv", "N KH H W I O KW" },
    { GEMM, "loop cache_write C", "C", "M N K; sums at N" },
    { GEMM, "loop cache_write C at=M", "C", "M N K; sums at M" },
    { GEMM, "loop cache_read C A", "C", "M N K; A at N pad=0 keep=0" },
    { GEMM, "loop cache_read C b at=M scope=shared pad=3", "C",
      "M N K; B at M shared pad=3 keep=0" },
    { GEMM, "loop cache_read C A at=M scope=local", "C", "M N K; A at M pad=0 keep=0" },
    { GEMM, "loop cache_read C A at=M scope=shared;loop swizzle C A", "C",
      "M N K; A at M shared pad=0 keep=1" },
    { GEMM, "loop cache_read C A at=M scope=shared;loop swizzle C A by=4", "C",
      "M N K; A at M shared pad=0 keep=4" },
    /* a bank has 4 bytes: two elements of f16 stay together, whatever is asked for */
    { F16, "loop cache_read C A at=M scope=shared;loop swizzle C A", "C",
      "M N K; A at M shared pad=0 keep=2" },
    { F16, "loop cache_read C A at=M scope=shared;loop swizzle C A by=2", "C",
      "M N K; A at M shared pad=0 keep=2" },
    { GEMM, "loop prefetch C a at=K", "C", "M N K; A ahead at K by 1" },
    { GEMM, "loop prefetch C A at=K ahead=3", "C", "M N K; A ahead at K by 3" },
    { GEMM, "loop vthread C M", "C", "N K M:unroll" },
    { GEMM, "loop vthread C N", "C", "M K N:unroll" },
    { GEMM, "loop reorder C M K N;loop vectorize C N;loop vthread C M", "C",
      "K M:unroll N:vectorize" },
    { GEMM, "loop bind C M THREAD.Y", "C", "M:thread.y N K" },
    { GEMM, "loop bind C M block.x;loop serial C M", "C", "M N K" },
    { CONV, "loop compute_at BiasAdd Conv H;loop split Conv H 2 2 2", "BiasAdd",
      "N O H W; in H.2 of Conv pad=0 keep=0" },
    { CONV, "loop compute_at BiasAdd Conv H;loop split Conv W 2 4", "BiasAdd",
      "N O H W; in H of Conv pad=0 keep=0" },
    { CONV, "loop compute_at BiasAdd Conv H;loop compute_root BiasAdd", "BiasAdd", "N O H W" },
    { CONV, "loop inline BiasAdd", "BiasAdd", "N O H W; inlined" },
    { CONV, "loop inline BiasAdd;loop compute_root BiasAdd", "BiasAdd", "N O H W" },
    { CONV, "loop stream ReLU", "ReLU", "N O H W; streamed" },
};

static void steps_change_their_stage(void **state)
{
    (void)state;
    for (int i = 0; i < COUNT_OF(stages); i++) {
        const struct program *p = after(stages[i].spec, stages[i].steps);
        struct str got = {0};
        print_stage(&got, p, p->stage[program_stage(p, stages[i].stage)]);
        if (!streq(str_text(&got), stages[i].want))
            fail_msg("%s: %s, not %s", stages[i].steps, str_text(&got), stages[i].want);
        str_free(&got);
    }
}

/* --- Replays ---------------------------------------------------------------------------------- */

#define WIDE "gmm m=512 k=512 n=16"
#define WHOLE "loop reorder C N M K", "loop cache_read C A at=N scope=shared"
/* A is read whole in each iteration of N: 1 MiB, too much for a shared tile.  bad: the line that is
 * refused, even if a later line makes the tile smaller; -1: none. */
static const struct { const char *line[5]; int bad; } replays[] = {
    { { WHOLE }, 1 },
    { { WHOLE, "loop cache_read C A at=M scope=shared" }, 1 },
    { { WHOLE, "loop reorder C M N K" }, 1 },
    { { WHOLE, "loop vthread C N" }, 1 },
    { { WHOLE, "loop unroll C N", "loop cache_read C A at=M scope=shared" }, 1 },
    { { WHOLE, "loop cache_write C at=M", "loop reorder C M N K" }, 1 },
    { { "loop reorder C N M K", "loop vthread C N", "loop cache_read C A at=M scope=shared",
        "loop cache_write C at=M" }, -1 },
    { { "loop reorder C N M K", "loop cache_read C A at=M scope=shared", "loop swizzle C A by=4",
        "loop unroll C N", "loop serial C N" }, -1 },
};

static void refused_lines_are_found(void **state)
{
    (void)state;
    for (int i = 0; i < COUNT_OF(replays); i++) {
        const struct program *p = program_bare(perm, WIDE), *all;
        struct err e = {0}, one = {0};
        int n = 0, k = 0, bad;
        while (n < COUNT_OF(replays[i].line) && replays[i].line[n])
            n++;
        bool ok = program_replay(perm, WIDE, replays[i].line, n, &all, &bad, &e);
        while (k < n && program_apply_line(p, replays[i].line[k], &p, &one))
            k++;
        if (ok != (replays[i].bad < 0) || bad != replays[i].bad || (!ok && k != bad))
            fail_msg("row %d: line %d (%s), by itself %d (%s)", i, bad, e.text, k, one.text);
        assert_string_equal(e.text, one.text);
        if (ok)
            assert_int_equal(all->n_steps, n);
    }
}

/* --- Layouts ---------------------------------------------------------------------------------- */

#define POOL "x = input n=1 i=2 h=8 w=8; a = c2d(x) o=4 k=3; p = maxpool(a) k=2"
/* stop: NULL, where the result of the node takes over the layout of its operand. */
static const struct { const char *spec, *steps, *node, *stop; } stops[] = {
    { CONV, "layout set Conv NHWO", "BiasAdd", NULL },
    { CONV, "layout set Conv NHWO", "ReLU", NULL },
    { CONV, "set propagate off;layout set Conv NHWO", "BiasAdd", "propagate is off" },
    { CONV, "set variant wp;layout set Conv NHWO", "BiasAdd",
      "variant wp does not propagate downstream" },
    { CONV, "set output_layout original;layout set Conv NHWO", "ReLU",
      "the output keeps the caller's layout" },
    { CONV, "set output_layout original;layout set Conv NHWO", "BiasAdd", NULL },
    { CONV, "layout pad Conv O after=1", "BiasAdd", "the layout has holes or copies" },
    { CONV, "layout set ReLU NOHW;layout set Conv NHWO", "ReLU", "it has a layout of its own" },
    { TWO, "layout set a NHWO", "r", "a complex operator reads it and determines its layout" },
    { TWO, "layout set b.Inp NHWO", "b",
      "it is a complex operator, which does not take over layouts" },
    { POOL, "layout set a NHWO", "p", "it is not element-wise" },
};

static void layouts_stop_for_a_reason(void **state)
{
    (void)state;
    for (int i = 0; i < COUNT_OF(stops); i++) {
        const struct program *p = after(stops[i].spec, stops[i].steps);
        int n = program_stage(p, stops[i].node), t = p->graph->node[n].out;
        int from = p->graph->node[n].data_in;
        const char *stop = p->stop[n] ? p->stop[n] : "";
        if (!streq(stop, stops[i].stop ? stops[i].stop : ""))
            fail_msg("%s: %s: %s", stops[i].steps, stops[i].node, stop);
        assert_int_equal(p->source[t] == LAYOUT_PROPAGATED, !stops[i].stop);
        assert_int_equal(p->source_tensor[t], stops[i].stop ? -1 : from);
    }
}

/* Which element of memory has which element of w (10 k + n), b (100 + n) and c (200 + n). */
static void assert_stored(const char *steps, int n, const float *want)
{
    const struct program *p = after(ADDS, steps);
    int w = graph_tensor(p->graph, "w");
    float weight[16], memory[24], inside[2][4];
    for (int i = 0; i < 16; i++)
        weight[i] = (float)(10 * (i / 4) + i % 4);
    assert_int_equal(p->layout[w]->elems, n);
    layout_pack(p->layout[w], weight, memory);
    for (int k = 0; k < 2; k++) {
        int t = graph_tensor(p->graph, k ? "c" : "b");
        for (int i = 0; i < 4; i++)
            inside[k][i] = (float)(100 * (k + 1) + i);
        assert_true(p->held_in[t] == w || p->held_in[t] == -1);
        if (p->held_in[t] == w)
            layout_place(p->pool, p->layout[t], inside[k], memory);
    }
    for (int i = 0; i < n; i++)
        if (memory[i] != want[i])
            fail_msg("%s: element %d is %g, not %g", steps, i, (double)memory[i], (double)want[i]);
}

/* Two vectors behind the rows of a matrix: without the first one, the second moves up. */
static void constants_are_stored_in_slices(void **state)
{
    static const float both[] = { 0, 1, 2, 3, 10, 11, 12, 13, 20, 21, 22, 23, 30, 31, 32, 33,
                                  100, 101, 102, 103, 200, 201, 202, 203 };
    static const float second[] = { 0, 1, 2, 3, 10, 11, 12, 13, 20, 21, 22, 23, 30, 31, 32, 33,
                                    200, 201, 202, 203 };
    static const float turned[] = { 0, 10, 20, 30, 200, 1, 11, 21, 31, 201, 2, 12, 22, 32, 202,
                                    3, 13, 23, 33, 203 };
    (void)state;
    assert_stored("layout store_at b w K;layout store_at c w K", 24, both);
    assert_stored("layout store_at c w K;layout store_at b w K;layout decouple_at b", 20, second);
    assert_stored("layout store_at b w K;layout store_at c w K;layout decouple_at b", 20, second);
    assert_stored("layout store_at b w K;layout store_at c w K;layout decouple_at c", 20, both);
    assert_stored("layout store_at b w K;layout store_at c w K;layout reorder w N K;"
                  "layout decouple_at b", 20, turned);
    assert_stored("layout store_at b w K;layout store_at c w K;layout reset w", 16, both);
}

/* --- Texts ------------------------------------------------------------------------------------ */

enum what { ALGORITHMS, NOTES, PACKED, LAYOUTS };

#define CHAIN "x = input n=1 i=4 h=10 w=10; a = c2d(x) o=4 k=3; b = c2d(a) o=4 k=3"
static const struct { enum what what; const char *spec, *steps, *want; } texts[] = {
    { ALGORITHMS, CONV, "", "" },
    { ALGORITHMS, CHAIN, "algorithm b winograd m=2", "b: winograd m=2" },
    { ALGORITHMS, CHAIN, "algorithm b winograd m=2;algorithm a winograd m=4;set multiply tf32",
      "b: winograd m=2, a: winograd m=4, products in tf32" },
    { ALGORITHMS, GEMM, "set multiply tf32", "products in tf32" },
    { ALGORITHMS, GEMM, "set multiply tf32;set multiply f32", "" },
    /* three tiles of 4 rows, one every 2: 96 elements instead of 64 */
    { NOTES, GEMM, "layout unfold C M tile=4 stride=2",
      "the tiles of the output C overlap: it is stored as M.0:3 M.1:4 N:8, 1.50 times its 64"
      " elements\n" },
    { NOTES, GEMM, "layout unfold A M tile=4 stride=2", "" },
    { NOTES, GEMM, "layout pad C M after=2", "" },
    { PACKED, GEMM, "", "" },
    { PACKED, GEMM, "layout set A KM;layout set B NK", "; B packed as NK" },
    { PACKED, CONV, "layout set Ker \"O/4 I KH KW 4o\"", "; Ker packed as O/4 I KH KW 4o" },
    { PACKED, CONV, "layout reorder Ker I O KH KW;layout split Bias O 2 4",
      "; Ker packed as I O KH KW; Bias packed as O/4 4o" },
    { PACKED, GEMM, "layout pad B K after=1", "; B packed as K=9 N=8" },
    { LAYOUTS, GEMM, "layout fuse C M N", "\nmemory-equal to the plain layout\n" },
    { LAYOUTS, GEMM, "layout reorder C N M", "\nnot memory-equal to the plain layout\n" },
};

static void texts_say_what_is_there(void **state)
{
    (void)state;
    for (int i = 0; i < COUNT_OF(texts); i++) {
        const struct program *p = after(texts[i].spec, texts[i].steps);
        struct str got = {0};
        if (texts[i].what == ALGORITHMS)
            program_print_algorithms(&got, p);
        else if (texts[i].what == NOTES)
            program_print_notes(&got, p);
        else if (texts[i].what == PACKED)
            contract_print_packed(&got, p);
        else
            program_print_layouts(&got, p, "c", 80);
        const char *text = str_text(&got), *want = texts[i].want;
        size_t n = strlen(want), from = texts[i].what == LAYOUTS && got.len > n ? got.len - n : 0;
        if (!streq(text + from, want))
            fail_msg("%s: \"%s\", not \"%s\"", texts[i].steps, text, want);
        str_free(&got);
    }
}

/* Layouts of several tensors have an empty line between them; a plain one has no last line. */
static void layouts_are_listed(void **state)
{
    const struct program *p = after(GEMM, "layout reorder B N K");
    struct str all = {0}, one = {0};
    (void)state;
    program_print_layouts(&all, p, NULL, 80);
    for (int t = 0; t < p->graph->n_tensors; t++) {
        if (t > 0)
            str_add_char(&one, '\n');
        layout_draw(&one, p->pool, p->layout[t], 80, 6);
        if (streq(p->graph->tensor[t].name, "B"))
            str_add(&one, "not memory-equal to the plain layout\n");
    }
    assert_string_equal(str_text(&all), str_text(&one));
    str_free(&all);
    str_free(&one);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(steps_change_their_stage),
        cmocka_unit_test(refused_lines_are_found),
        cmocka_unit_test(layouts_stop_for_a_reason),
        cmocka_unit_test(constants_are_stored_in_slices),
        cmocka_unit_test(texts_say_what_is_there),
        cmocka_unit_test(layouts_are_listed),
    };
    return cmocka_run_group_tests(tests, perm_setup, perm_teardown);
}
