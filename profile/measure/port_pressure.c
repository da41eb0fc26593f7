#include "profile/measure/port_pressure.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profile/measure/mca_models.h"

#define MCA_LIMIT_S 5.0
#define MCA_ITERATIONS 100
#define PORTS_SHOWN 6
#define PROBE_FMAS 8
#define NATIVE "native"                   /* the model that llvm-mca chooses */

/* --- The hottest loop ------------------------------------------------------------------------- */

struct hot_loops hot_loops_find(const char *assembly, const struct code_lines *lines)
{
    struct hot_loops h = { .insns = xcalloc((size_t)lines->n_loops + 1, sizeof *h.insns) };
    for (int i = 0; *assembly && i < lines->n; i++) {
        int loop = lines->of[i];
        if (assembly[0] == ' ')
            h.insns[loop >= 0 ? loop : lines->n_loops]++;
        assembly += strcspn(assembly, "\n");
        assembly += *assembly == '\n';
    }
    for (int i = -1; i < lines->n_loops; i++) {
        double runs = 1;
        for (int k = i; k >= 0; k = lines->loop[k].parent)
            runs *= (double)lines->loop[k].trips;
        h.all += runs * h.insns[i >= 0 ? i : lines->n_loops];
    }
    return h;
}

double hot_loops_share(const struct hot_loops *h, const struct code_lines *lines, int loop)
{
    double runs = h->insns[loop];
    for (int k = loop; k >= 0; k = lines->loop[k].parent)
        runs *= (double)lines->loop[k].trips;
    return h->all > 0 ? runs / h->all : 0;
}

int hot_loops_hottest(const struct hot_loops *h, const struct code_lines *lines)
{
    int hottest = -1;
    for (int i = 0; i < lines->n_loops; i++)
        if (hot_loops_share(h, lines, i) > (hottest < 0 ? 0 : hot_loops_share(h, lines, hottest)))
            hottest = i;
    return hottest;
}

/* --- Asking llvm-mca -------------------------------------------------------------------------- */

/* Appends an instruction of objdump as LLVM reads it: objdump writes the operand of a broadcast as
 * "DWORD BCST [rax]", LLVM as "DWORD PTR [rax]{1to16}". */
static void add_insn(struct str *out, const char *line, size_t n)
{
    char *text = xcalloc(n + 1, 1);
    memcpy(text, line, n);
    char *cast = strstr(text, " BCST "), *end = cast ? strchr(cast, ']') : NULL;
    if (end) {
        int bits = strstr(text, "zmm") ? 512 : strstr(text, "ymm") ? 256 : 128;
        int lanes = bits / (cast - text >= 5 && strncmp(cast - 5, "QWORD", 5) == 0 ? 64 : 32);
        str_add_n(out, text, (size_t)(cast - text));
        str_add(out, " PTR ");
        str_add_n(out, cast + 6, (size_t)(end + 1 - cast - 6));
        str_printf(out, "{1to%d}%s\n", lanes, end + 1);
    } else {
        str_printf(out, "%s\n", text);
    }
    free(text);
}

static void add_loop(struct str *out, const char *assembly, const struct code_lines *lines,
                     int loop)
{
    str_add(out, ".intel_syntax noprefix\n");
    for (int i = 0; *assembly && i < lines->n; i++) {
        size_t n = strcspn(assembly, "\n");
        if (assembly[0] == ' ' && lines->of[i] == loop)
            add_insn(out, assembly, n);
        assembly += n + (assembly[n] == '\n');
    }
}

/* Returns the number after the first occurrence of `label`; -1: there is none. */
static double number_after(const char *text, const char *label)
{
    const char *at = strstr(text, label);
    return at ? strtod(at + strlen(label), NULL) : -1;
}

static void read_names(const char *text, struct port_pressure *p)
{
    const char *at = strstr(text, "\nResources:\n");
    for (at = at ? at + 12 : ""; *at == '[' && p->n < MOST_PORTS; at += strcspn(at, "\n") + 1) {
        char number[8];
        if (sscanf(at, "[%7[^]]] - %23s", number, p->port[p->n].name) != 2)
            return;
        size_t len = strlen(p->port[p->n].name);
        const char *part = strchr(number, '.');
        if (part)                         /* "[6.1] - SBPort23": the second of two equal ports */
            snprintf(p->port[p->n].name + len, sizeof p->port[0].name - len, "%s", part);
        p->n++;
        if (!strchr(at, '\n'))
            return;
    }
}

static bool read_answer(const char *text, struct port_pressure *p)
{
    double cycles = number_after(text, "Total Cycles:");
    p->cycles = cycles / MCA_ITERATIONS;
    p->least = number_after(text, "Block RThroughput:");
    p->ipc = number_after(text, "IPC:");
    read_names(text, p);
    const char *at = strstr(text, "Resource pressure per iteration:\n");
    at = at ? strchr(at, '\n') : NULL;
    at = at ? strchr(at + 1, '\n') : NULL;  /* skips the line with the port numbers */
    for (int i = 0; i < p->n && at; i++) {
        char *end;
        at += strspn(at, " \n");
        p->port[i].cycles = *at == '-' ? 0 : strtod(at, &end);
        at += strcspn(at, " \n");
    }
    return cycles > 0 && p->n > 0 && at;
}

/* Stores a reason with the first line of llvm-mca's output that is not empty. */
static void refuse_answer(const char *output, struct port_pressure *p)
{
    const char *line = output + strspn(output, "\n");
    int n = (int)strcspn(line, "\n");
    snprintf(p->reason, sizeof p->reason, "llvm-mca does not read this loop: %.*s",
             n > 100 ? 100 : n > 0 ? n : 9, n > 0 ? line : "no output");
}

/* Runs llvm-mca with one model. False, with the reason, when it gives no answer. */
static bool ask_model(const struct str *loop, const char *model, const struct cancel *c,
                      struct port_pressure *p)
{
    char mcpu[40];
    const char *const argv[] = { "llvm-mca", mcpu, "-iterations=100", "-instruction-info=0",
                                 "/dev/fd/3", NULL };
    struct subprocess_result res = {0};
    struct err e = {0};
    snprintf(mcpu, sizeof mcpu, "-mcpu=%s", model);
    snprintf(p->model, sizeof p->model, "%.23s", model);
    p->reason[0] = '\0';
    p->n = 0;
    bool ran = subprocess_run_on(str_text(loop), loop->len, argv, MCA_LIMIT_S, c, &res, &e);
    if (ran && (res.timed_out || res.signal))
        ran = subprocess_refuse("llvm-mca", &res, MCA_LIMIT_S, &e);
    if (!ran)
        snprintf(p->reason, sizeof p->reason, "%.159s", e.text);
    else if (res.exit_code != 0 || !read_answer(str_text(&res.out), p))
        refuse_answer(str_text(&res.out), p);
    str_free(&res.out);
    return !p->reason[0];
}

/* Whether a model needs about as few cycles per FMA as the CPU. True if llvm-mca gives no
 * answer. */
static bool has_all_fmas(const char *model, double fma_cycles, const struct cancel *c)
{
    struct str fmas = {0};
    struct port_pressure p = {0};
    str_add(&fmas, ".intel_syntax noprefix\n");
    for (int i = 0; i < PROBE_FMAS; i++)
        str_printf(&fmas, "    vfmadd231ps ymm%d,ymm14,ymm15\n", i);
    bool ok = !ask_model(&fmas, model, c, &p) || p.least < 1.5 * fma_cycles * PROBE_FMAS;
    str_free(&fmas);
    return ok;
}

/* Returns the models for this CPU; if there are none, the model that llvm-mca itself chooses. */
static struct mca_models models_here(const struct cancel *c)
{
    const char *const argv[] = { "llvm-mca", "-mcpu=help", "/dev/null", NULL };
    struct subprocess_result help = {0};
    struct machine_cpu cpu;
    struct err e;
    (void)subprocess_run(argv, MCA_LIMIT_S, c, &help, &e);
    machine_cpu_read(&cpu);
    struct mca_models models = mca_models_of(&cpu, str_text(&help.out));
    str_free(&help.out);
    if (models.n == 0)
        models = (struct mca_models){ .n = 1, .exact = true, .name = { NATIVE } };
    return models;
}

/* Runs llvm-mca with the nearest model that accepts the loop and is right about FMAs. If there is
 * no such model, *p has the answer of the nearest model that accepts the loop. If no model accepts
 * it, *p has the reason that the nearest model gave. */
static void ask(const struct str *loop, const struct mca_models *models, const struct cancel *c,
                struct port_pressure *p)
{
    bool counts = models->fma_cycles > 0 && strstr(str_text(loop), "vfmadd");
    struct port_pressure best = *p;
    bool answered = false, right = false;
    for (int i = 0; i < models->n && !right && !cancelled(c); i++) {
        bool now = ask_model(loop, models->name[i], c, p);
        right = now && (!counts || has_all_fmas(models->name[i], models->fma_cycles, c));
        p->exact = i == 0 && models->exact;
        if (now && !right && !p->slow[0])
            memcpy(p->slow, p->model, sizeof p->slow);
        if (i == 0 || right || (now && !answered))
            best = *p;
        answered = answered || now;
    }
    *p = best;
}

void port_pressure_read(const char *assembly, const struct code_lines *lines,
                        const struct mca_models *models, const struct cancel *c,
                        struct port_pressure *out)
{
    struct hot_loops hot = hot_loops_find(assembly, lines);
    struct str loop = {0};
    *out = (struct port_pressure){ .loop = hot_loops_hottest(&hot, lines) };
    free(hot.insns);
    if (out->loop < 0) {
        snprintf(out->reason, sizeof out->reason, "the kernel has no loop");
    } else if (!subprocess_find("llvm-mca", NULL)) {
        snprintf(out->reason, sizeof out->reason,
                 "llvm-mca is not installed (Debian package llvm)");
    } else {
        struct mca_models here = models ? *models : models_here(c);
        add_loop(&loop, assembly, lines, out->loop);
        ask(&loop, &here, c, out);
    }
    str_free(&loop);
}

void port_pressure_print(struct str *out, const struct port_pressure *p)
{
    bool shown[MOST_PORTS] = {0};
    if (p->reason[0]) {
        str_add(out, p->reason);
        return;
    }
    str_printf(out, "by llvm-mca's model of %s", p->model);
    if (streq(p->slow, p->model))
        str_add(out, " (which has fewer FMAs a cycle than this CPU)");
    else if (p->slow[0])
        str_printf(out, " (LLVM's model of %s has fewer FMAs a cycle than this CPU)", p->slow);
    else if (!p->exact)
        str_add(out, " (the nearest model to this CPU that accepts this loop)");
    str_add(out, ": ");
    str_printf(out, "%.1f cycles an iteration at least, %.1f predicted, IPC %.2f;", p->least,
               p->cycles, p->ipc);
    for (int k = 0; k < PORTS_SHOWN; k++) {
        int most = -1;
        for (int i = 0; i < p->n; i++)
            if (!shown[i] && p->port[i].cycles > (most < 0 ? 0 : p->port[most].cycles))
                most = i;
        if (most < 0)
            return;
        shown[most] = true;
        str_printf(out, "%s %s %.1f", k ? "," : "", p->port[most].name, p->port[most].cycles);
    }
}
