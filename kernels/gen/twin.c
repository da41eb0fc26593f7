/* The host twin of CUDA kernels: the same text of the kernels, compiled as C for the CPU (SPEC N).
 *
 * In the twin, blockIdx and threadIdx are variables, and a launch runs the blocks one after the
 * other.  Kernels with neither shared tiles nor tensor blocks run thread after thread.  In other
 * kernels every thread of a block has a stack of its own, and the threads of a warp run up to the
 * next barrier before the next warp runs.  In a tensor block the lanes of a warp wait for each
 * other and exchange what they loaded.
 *
 * An access to elements of a shared tile first calls ts_read, ts_write or ts_copy, which look for
 * races.  For each element, ts_shadow has the last threads that wrote and read it, and the epoch in
 * which they did; a barrier ends an epoch.  The text in ts_fault describes the race, and the runner
 * reports it. */
#include "kernels/gen/cuda_impl.h"

static const char head[] =
    "/* The host twin: blocks and threads run one after the other. */\n"
    "#define extern_C static\n#define __global__\n#define __launch_bounds__(n)\n"
    "struct ts_index { int x, y, z; };\n"
    "static struct ts_index blockIdx, threadIdx;\n\n";

/* C text of types and messages.  It uses ts_tile and ts_shadow, which print_shadow declares before
 * it. */
static const char shadow[] =
    "#define __shared__ static\n#define __align__(n) __attribute__((aligned(n)))\n"
    "#define __syncthreads() ts_meet(__LINE__)\n"
    "#include <setjmp.h>\n#include <stdarg.h>\n#include <stdio.h>\n#include <stdlib.h>\n"
    "#include <ucontext.h>\n"
    "char ts_fault[400];\n"
    "static struct ts_fiber {\n"
    "    ucontext_t first; jmp_buf at; int line, warp, begun, done, turn;\n"
    "    int group, waited, at_epoch[16];      /* of asynchronous copies */\n} *ts_fiber;\n"
    "static struct ts_index ts_size;\n"
    "static ucontext_t ts_back;\nstatic jmp_buf ts_scheduler;\n"
    "static void (*ts_kernel)(void);\n"
    "static int ts_now, ts_epoch = 1, ts_first_epoch;\n\n"
    "/* Ends the thread that runs, and with it the launch. */\n"
    "static void ts_stop(void)\n{\n    _longjmp(ts_scheduler, 2);\n}\n\n"
    "static char *ts_who(int thread)\n{\n"
    "    static char text[4][40];\n    static int next;\n    char *s = text[next++ % 4];\n"
    "    snprintf(s, 40, \"(%d, %d, %d)\", thread % ts_size.x, thread / ts_size.x % ts_size.y,\n"
    "             thread / ts_size.x / ts_size.y);\n    return s;\n}\n\n"
    "/* Notes what is wrong in this block. */\n"
    "static void ts_say(const char *format, ...)\n{\n"
    "    va_list list;\n    va_start(list, format);\n"
    "    int n = snprintf(ts_fault, sizeof ts_fault, \"block (%d, %d, %d): \", blockIdx.x,\n"
    "                     blockIdx.y, blockIdx.z);\n"
    "    vsnprintf(ts_fault + n, sizeof ts_fault - n, format, list);\n    va_end(list);\n}\n\n"
    "static void ts_race(int tile, long i, const char *how, int other)\n{\n"
    "    ts_say(\"race on element %ld of %s: thread %s %s thread %s, with no barrier in \"\n"
    "           \"between\", i, ts_tile[tile].name, ts_who(ts_now), how, ts_who(other));\n"
    "    ts_stop();\n}\n\n"
    "static struct ts_word *ts_word(int tile, long i, const char *how)\n{\n"
    "    if (i >= 0 && i < ts_tile[tile].n)\n"
    "        return &ts_shadow[ts_tile[tile].first + i];\n"
    "    ts_say(\"thread %s %s element %ld of %s, which has %d\", ts_who(ts_now), how, i,\n"
    "           ts_tile[tile].name, ts_tile[tile].n);\n"
    "    ts_stop();\n    return 0;\n}\n\n";
/* C text of the functions that watch accesses and copies. */
static const char watch[] =
    "/* Whether the copy that writes w may still be under way.  For other threads, a copy is a\n"
    " * write at the time when its own thread waited for it. */\n"
    "static int ts_under_way(struct ts_word *w)\n{\n"
    "    if (!w->group || w->write_epoch < ts_first_epoch)\n        return 0;\n"
    "    struct ts_fiber *f = &ts_fiber[w->writer];\n"
    "    if (w->group > f->waited)\n        return 1;\n"
    "    w->write_epoch = f->waited - w->group < 16 ? f->at_epoch[w->group % 16]"
    " : ts_first_epoch;\n"
    "    w->group = 0;\n    return 0;\n}\n\n"
    "static void ts_check_copy(int tile, long i, struct ts_word *w, const char *how)\n{\n"
    "    if (!ts_under_way(w))\n        return;\n"
    "    ts_say(\"race on element %ld of %s: thread %s %s what a copy of thread %s may still \"\n"
    "           \"write, which nobody has waited for\", i, ts_tile[tile].name, ts_who(ts_now),"
    " how,\n"
    "           ts_who(w->writer));\n    ts_stop();\n}\n\n"
    "static inline void ts_read_one(int tile, long i)\n{\n"
    "    struct ts_word *w = ts_word(tile, i, \"reads\");\n"
    "    ts_check_copy(tile, i, w, \"reads\");\n"
    "    if (w->write_epoch == ts_epoch && w->writer != ts_now)\n"
    "        ts_race(tile, i, \"reads what was written by\", w->writer);\n"
    "    if (w->write_epoch < ts_first_epoch && !ts_unset)\n"
    "        ts_unset = w;\n"
    "    if (w->read_epoch != ts_epoch) {\n"
    "        w->read_epoch = ts_epoch;\n        w->reader = w->other = ts_now;\n"
    "    } else if (w->reader != ts_now) {\n        w->other = ts_now;\n    }\n"
    "}\n\n"
    "static inline long ts_read(int tile, int n, long i)\n{\n"
    "    for (int k = 0; k < n; k++)\n        ts_read_one(tile, i + k);\n"
    "    return i;\n}\n\n"
    "/* Reports an element that was read but not written.  (A write after the read is a "
    "race.) */\n"
    "static void ts_check_unset(void)\n{\n"
    "    for (int k = 0; ts_unset && k < (int)(sizeof ts_tile / sizeof *ts_tile); k++) {\n"
    "        long i = ts_unset - ts_shadow - ts_tile[k].first;\n"
    "        if (i >= 0 && i < ts_tile[k].n)\n"
    "            ts_say(\"thread %s reads element %ld of %s, which nothing has written\",\n"
    "                   ts_who(ts_unset->reader), i, ts_tile[k].name);\n    }\n"
    "    ts_unset = 0;\n}\n\n"
    "static inline void ts_write_one(int tile, long i)\n{\n"
    "    struct ts_word *w = ts_word(tile, i, \"writes\");\n"
    "    ts_check_copy(tile, i, w, \"writes\");\n"
    "    if (w->write_epoch == ts_epoch && w->writer != ts_now)\n"
    "        ts_race(tile, i, \"writes what was written by\", w->writer);\n"
    "    if (w->read_epoch == ts_epoch && (w->reader != ts_now || w->other != ts_now))\n"
    "        ts_race(tile, i, \"writes what was read by\",\n"
    "                w->reader != ts_now ? w->reader : w->other);\n"
    "    w->write_epoch = ts_epoch;\n    w->writer = ts_now;\n    w->group = 0;\n}\n\n"
    "static inline long ts_write(int tile, int n, long i)\n{\n"
    "    for (int k = 0; k < n; k++)\n        ts_write_one(tile, i + k);\n"
    "    return i;\n}\n\n"
    "static inline long ts_copy(int tile, int n, long i)\n{\n"
    "    ts_write(tile, n, i);\n    for (int k = 0; k < n; k++)\n"
    "        ts_word(tile, i + k, \"writes\")->group = ts_fiber[ts_now].group + 1;\n"
    "    return i;\n}\n\n"
    "static inline void ts_commit(void) { ts_fiber[ts_now].group++; }\n\n"
    "static inline void ts_wait_copies(int left)\n{\n"
    "    struct ts_fiber *f = &ts_fiber[ts_now];\n"
    "    while (f->waited < f->group - left)\n"
    "        f->at_epoch[++f->waited % 16] = ts_epoch;\n}\n\n";
/* C text that runs the threads of a block, which have stacks of their own. */
static const char fibers[] =
    "/* Lets others run until all threads of the block, or of the warp, are at this line. */\n"
    "static __attribute__((noinline)) void ts_wait(int line, int warp)\n{\n"
    "    ts_fiber[ts_now].line = line;\n    ts_fiber[ts_now].warp = warp;\n"
    "    __asm__ volatile(\"\" : : : \"memory\");\n"
    "    if (!_setjmp(ts_fiber[ts_now].at))\n        _longjmp(ts_scheduler, 1);\n"
    "    __asm__ volatile(\"\" : : : \"memory\");\n}\n\n"
    "static inline void ts_meet(int line) { ts_wait(line, 0); }\n"
    "static inline void ts_meet_warp(int line) { ts_wait(line, 1); }\n\n"
    "static void ts_begin(void)\n{\n"
    "    ts_kernel();\n    ts_fiber[ts_now].done = 1;\n    ts_fiber[ts_now].warp = 0;\n"
    "    _longjmp(ts_scheduler, 1);\n}\n\n"
    "static __attribute__((noinline)) void ts_resume(struct ts_fiber *f)\n{\n"
    "    if (f->begun)\n        _longjmp(f->at, 1);\n"
    "    f->begun = 1;\n    swapcontext(&ts_back, &f->first);\n}\n\n"
    "static const char *ts_place(const struct ts_fiber *f, const char *barrier)\n{\n"
    "    return f->done ? \"its end\" : f->warp ? \"an operation of its warp\" : barrier;\n}\n\n"
    "/* Whether thread i is where thread k is. */\n"
    "static int ts_together(int k, int i)\n{\n"
    "    const struct ts_fiber *x = &ts_fiber[k], *y = &ts_fiber[i];\n"
    "    if (x->done == y->done && x->line == y->line)\n        return 1;\n"
    "    ts_say(\"its threads diverge: thread %s is at %s, thread %s at %s\", ts_who(k),\n"
    "           ts_place(x, \"a barrier\"), ts_who(i),\n"
    "           ts_place(y, x->done || x->warp ? \"a barrier\" : \"another barrier\"));\n"
    "    return 0;\n}\n\n"
    "/* Runs the threads of a warp, each up to where it waits.  Returns whether all are there. */\n"
    "static int ts_run_warp(int first, int end)\n{\n"
    "    volatile int i;\n"
    "    for (i = first; i < end; i++) {\n"
    "        ts_now = i;\n"
    "        threadIdx.x = i % ts_size.x;\n        threadIdx.y = i / ts_size.x % ts_size.y;\n"
    "        threadIdx.z = i / ts_size.x / ts_size.y;\n"
    "        int came = _setjmp(ts_scheduler);\n"
    "        if (came == 2)\n            return 0;\n"
    "        if (came == 0)\n            ts_resume(&ts_fiber[i]);\n"
    "        if (!ts_together(first, i))\n            return 0;\n    }\n"
    "    return 1;\n}\n\n"
    "/* Runs every thread up to its next barrier.  Returns whether there is more to run. */\n"
    "static int ts_round(int n)\n{\n"
    "    for (int w = 0; w < n; w += 32) {\n"
    "        do {\n"
    "            if (!ts_run_warp(w, w + 32 < n ? w + 32 : n))\n                return 0;\n"
    "        } while (ts_fiber[w].warp);\n"
    "        if (!ts_together(0, w))\n            return 0;\n    }\n"
    "    ts_check_unset();\n"
    "    ts_epoch++;\n    return !ts_fiber[0].done && !ts_fault[0];\n}\n\n"
    "static void ts_run_block(int n, char *stack, long bytes)\n{\n"
    "    for (int i = 0; i < n; i++) {\n"
    "        struct ts_fiber *f = &ts_fiber[i];\n"
    "        f->line = f->warp = f->begun = f->done = f->group = f->waited = 0;\n"
    "        getcontext(&f->first);\n"
    "        f->first.uc_stack.ss_sp = stack + i * bytes;\n"
    "        f->first.uc_stack.ss_size = (size_t)bytes;\n"
    "        f->first.uc_link = 0;\n        makecontext(&f->first, ts_begin, 0);\n    }\n"
    "    ts_first_epoch = ts_epoch;\n"
    "    while (ts_round(n))\n        ;\n}\n\n"
    "/* Runs a kernel on a grid of x * y * z blocks of size.x * size.y * size.z threads.  Each\n"
    " * thread has a stack of `bytes` bytes. */\n"
    "static void ts_launch(void (*kernel)(void), int x, int y, int z, struct ts_index size,\n"
    "                      long bytes)\n{\n"
    "    int n = size.x * size.y * size.z;\n"
    "    char *stack = malloc((size_t)(n * bytes));\n"
    "    ts_fiber = calloc((size_t)n, sizeof *ts_fiber);\n"
    "    ts_kernel = kernel;\n    ts_size = size;\n"
    "    if (!stack || !ts_fiber)\n"
    "        ts_say(\"there is no memory for its threads\");\n"
    "    for (int i = 0; i < x * y * z && !ts_fault[0]; i++) {\n"
    "        blockIdx = (struct ts_index){ i % x, i / x % y, i / x / y };\n"
    "        ts_run_block(n, stack, bytes);\n    }\n"
    "    free(stack);\n    free(ts_fiber);\n}\n\n";

/* Prints the tables of shared tiles and the functions that watch them. */
static void print_shadow(const struct cuda_text *t, struct str *out)
{
    int64_t words = 0;
    str_add(out, "static const struct { const char *name; int first, n; } ts_tile[] = {\n");
    for (int i = 0; i < t->shared.len; i++) {
        str_printf(out, "    { \"%s\", %lld, %lld },\n", t->shared.data[i].name, (long long)words,
                   (long long)t->shared.data[i].largest->elems);
        words += t->shared.data[i].largest->elems;
    }
    if (words == 0)
        str_printf(out, "    { \"\", 0, %lld },\n", (long long)words++);
    str_printf(out, "};\nstatic struct ts_word { int writer, write_epoch, reader, other, "
               "read_epoch, group; } ts_shadow[%lld], *ts_unset;\n", (long long)words);
    str_add(out, shadow);
    str_add(out, watch);
    str_add(out, fibers);
}

static void print_call(const struct emit *m, const struct cuda_kernel *k, const char *of,
                       struct str *out)
{
    int n = 0;
    str_printf(out, "%s(", k->name);
    for (int i = 0; i < m->u->func->n_params; i++)
        if (k->touched[i])
            str_printf(out, "%s%s[%d]", n++ ? ", " : "", of, i);
    str_add(out, ");\n");
}

/* Prints the launch of a kernel without barriers: loops over all blocks and threads. */
static void print_loops(const struct emit *m, const struct cuda_kernel *k, struct str *out)
{
    static const struct { const char *name; int at; } loop[] = {
        { "blockIdx.z", 2 }, { "blockIdx.y", 1 }, { "blockIdx.x", 0 },
        { "threadIdx.z", 5 }, { "threadIdx.y", 4 }, { "threadIdx.x", 3 },
    };
    for (int i = 0; i < COUNT_OF(loop); i++) {
        str_repeat(out, ' ', 4 * (i + 1));
        str_printf(out, "for (%s = 0; %s < %lld; %s++)\n", loop[i].name, loop[i].name,
                   (long long)k->extent[loop[i].at], loop[i].name);
    }
    str_repeat(out, ' ', 28);
    print_call(m, k, "buffers", out);
}

#define STACK_BYTES (64 << 10)            /* stack of a thread, without its arrays */

static void print_launch(const struct emit *m, const struct cuda_kernel *k, struct str *out)
{
    const int64_t *x = k->extent;
    if (!k->together) {
        print_loops(m, k, out);
        return;
    }
    str_printf(out, "    ts_launch(%s_thread, %lld, %lld, %lld, (struct ts_index){ %lld, %lld, %lld"
               " }, %lld);\n", k->name, (long long)x[0], (long long)x[1], (long long)x[2],
               (long long)x[3], (long long)x[4], (long long)x[5],
               (long long)(STACK_BYTES + k->stack_bytes + 63) / 64 * 64);
    str_add(out, "    if (ts_fault[0])\n        return;\n");
}

void code_print_twin(struct unit *u, struct str *out)
{
    struct cuda_text t;
    struct emit m;
    cuda_open(&t, &m, u, true);
    str_add(out, head);
    bool together = false;
    for (int i = 0; i < t.list.len; i++)
        together = together || t.list.data[i].together;
    if (together)
        print_shadow(&t, out);
    str_add(out, str_text(&t.helpers));
    str_add(out, str_text(&t.kernels));
    if (together)
        str_printf(out, "static %s *const *ts_buffers;\n", emit_entry_type(u));
    for (int i = 0; i < t.list.len; i++)
        if (t.list.data[i].together) {
            str_printf(out, "static void %s_thread(void)\n{\n    ", t.list.data[i].name);
            print_call(&m, &t.list.data[i], "ts_buffers", out);
            str_add(out, "}\n\n");
        }
    str_printf(out, "void ts_entry(%s *const *buffers)\n{\n%s", emit_entry_type(u),
               together ? "    ts_buffers = buffers;\n" : "");
    for (int i = 0; i < t.list.len; i++)
        print_launch(&m, &t.list.data[i], out);
    str_add(out, "    (void)buffers;\n}\n");
    cuda_close(&t, &m);
}
