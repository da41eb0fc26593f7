#include "profile/counters/counting.h"

#include "kernels/base/arena.h"
#include "kernels/base/str.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A group of events that are read together; the same in every thread. */
struct group { int n, event[GROUP_MAX]; };

/* The counts of one event, over all threads and passes. absent: the event has no count, and `why`
 * has the reason. starved: its group was enabled in a thread but never ran. */
struct tally {
    bool absent, starved;
    char why[200];
    double value, enabled_ns, running_ns;            /* value: per call, extrapolated */
};

struct counting {
    const struct counter_source *source;
    void *ctx;
    int threads, n, n_groups, group_max;
    struct event event[EVENTS_MAX];
    struct tally tally[EVENTS_MAX];
    struct group group[EVENTS_MAX];
    int (*handle)[EVENTS_MAX];  /* [thread][event]: the handle; below 0: the code of the failure */
    bool *ran;  /* [thread]: whether the thread ran while its counters were enabled */
    int pass;  /* the current pass, for the functions that on_threads runs */
    int (*code)[EVENTS_MAX];  /* [thread][group]: result of the last start, stop or read */
    struct reading (*reading)[EVENTS_MAX];           /* [thread][group]: the last reading */
};

/* --- Opening --------------------------------------------------------------------------------- */

static void lose(struct counting *c, int event, int code)
{
    struct tally *t = &c->tally[event];
    if (t->absent)
        return;
    t->absent = true;
    if (code == COUNTER_NOT_OPEN)
        snprintf(t->why, sizeof t->why, "a thread of the team could not be reached");
    else
        c->source->explain(c->ctx, &c->event[event], code, t->why, sizeof t->why);
}

/* Opens event i in the first thread, in the last group. If that fails, opens it in a new group,
 * which may take an event that a full group refuses. Returns a handle, or a code below 0. */
static int open_first(struct counting *c, int i)
{
    struct group *last = c->n_groups > 0 ? &c->group[c->n_groups - 1] : NULL;
    int code = -1;
    if (last && last->n < c->group_max) {
        code = c->source->open(c->ctx, 0, &c->event[i], c->handle[0][last->event[0]]);
        if (code >= 0)
            last->event[last->n++] = i;
    }
    if (code < 0) {
        code = c->source->open(c->ctx, 0, &c->event[i], -1);
        if (code >= 0)
            c->group[c->n_groups++] = (struct group){ .n = 1, .event = { i } };
    }
    return code;
}

/* Opens the events in a thread other than the first, in the same groups as in the first thread. */
static void open_thread(void *arg, int thread)
{
    struct counting *c = arg;
    for (int g = 0; thread > 0 && g < c->n_groups; g++)
        for (int k = 0; k < c->group[g].n; k++) {
            int i = c->group[g].event[k], leader = c->handle[thread][c->group[g].event[0]];
            if (k > 0 && leader < 0)
                c->handle[thread][i] = leader;
            else
                c->handle[thread][i] = c->source->open(c->ctx, thread, &c->event[i],
                                                       k > 0 ? leader : -1);
        }
}

static void on_threads(struct counting *c, void (*part)(void *arg, int thread))
{
    if (c->source->on_threads) {
        c->source->on_threads(c->ctx, part, c);
        return;
    }
    for (int t = 0; t < c->threads; t++)
        part(c, t);
}

static struct counting *allocate(int threads)
{
    struct counting *c = xcalloc(1, sizeof *c);
    size_t n = (size_t)threads;
    c->threads = threads;
    c->handle = xcalloc(n, sizeof *c->handle);
    c->code = xcalloc(n, sizeof *c->code);
    c->reading = xcalloc(n, sizeof *c->reading);
    c->ran = xcalloc(n, sizeof *c->ran);
    for (int t = 0; t < threads; t++)
        for (int i = 0; i < EVENTS_MAX; i++)
            c->handle[t][i] = COUNTER_NOT_OPEN;
    return c;
}

struct counting *counting_open(const struct counter_source *s, void *ctx, int threads,
                               const struct event *event, int n, int group_max,
                               struct counts *why_not)
{
    struct counting *c = allocate(threads);
    int left = 0;
    c->source = s;
    c->ctx = ctx;
    c->n = n < EVENTS_MAX ? n : EVENTS_MAX;
    c->group_max = group_max < GROUP_MAX ? group_max : GROUP_MAX;
    memcpy(c->event, event, sizeof *event * (size_t)c->n);
    for (int i = 0; i < c->n; i++) {
        c->handle[0][i] = open_first(c, i);
        if (c->handle[0][i] < 0)
            lose(c, i, c->handle[0][i]);
    }
    on_threads(c, open_thread);
    for (int t = 1; t < threads; t++)
        for (int i = 0; i < c->n; i++)
            if (c->handle[t][i] < 0 && c->handle[t][i] != COUNTER_GONE)
                lose(c, i, c->handle[t][i]);
    for (int i = 0; i < c->n; i++)
        left += !c->tally[i].absent;
    if (left > 0)
        return c;
    counts_refuse(why_not, "%.255s", c->n ? c->tally[0].why : "no events to count");
    counting_close(c);
    return NULL;
}

int counting_groups(const struct counting *c)
{
    return c->n_groups;
}

int counting_passes(const struct counting *c)
{
    return c->source->one_group ? c->n_groups : 1;
}

void counting_close(struct counting *c)
{
    if (!c)
        return;
    for (int t = 0; t < c->threads; t++)
        for (int g = 0; g < c->n_groups; g++)
            for (int k = c->group[g].n - 1; k >= 0; k--)
                if (c->handle[t][c->group[g].event[k]] >= 0)
                    c->source->close(c->ctx, c->handle[t][c->group[g].event[k]]);
    free(c->handle);
    free(c->code);
    free(c->reading);
    free(c->ran);
    free(c);
}

/* --- Counting -------------------------------------------------------------------------------- */

static bool takes_part(const struct counting *c, int group)
{
    return !c->source->one_group || group == c->pass;
}

static int leader_of(const struct counting *c, int thread, int group)
{
    return c->handle[thread][c->group[group].event[0]];
}

static void start_thread(void *arg, int thread)
{
    struct counting *c = arg;
    for (int g = 0; g < c->n_groups; g++) {
        int leader = leader_of(c, thread, g);
        c->code[thread][g] = leader >= 0 && takes_part(c, g) ? c->source->start(c->ctx, leader) : 0;
    }
}

static void stop_thread(void *arg, int thread)
{
    struct counting *c = arg;
    for (int g = 0; g < c->n_groups; g++) {
        int leader = leader_of(c, thread, g), code = c->code[thread][g];
        if (leader >= 0 && takes_part(c, g) && code >= 0)
            c->code[thread][g] = c->source->stop(c->ctx, leader);
    }
}

/* Reads those events of a group that are open in this thread; events that are not open get 0. */
static int read_group(struct counting *c, int thread, const struct group *g, struct reading *out)
{
    struct reading r = { .enabled_ns = 0 };
    int n = 0, at = 0;
    for (int k = 0; k < g->n; k++)
        n += c->handle[thread][g->event[k]] >= 0;
    int code = c->source->read(c->ctx, c->handle[thread][g->event[0]], n, &r);
    if (code < 0)
        return code;
    *out = (struct reading){ .enabled_ns = r.enabled_ns, .running_ns = r.running_ns };
    for (int k = 0; k < g->n; k++)
        if (c->handle[thread][g->event[k]] >= 0)
            out->value[k] = r.value[at++];
    return code;
}

static void read_thread(struct counting *c, int thread)
{
    for (int g = 0; g < c->n_groups; g++) {
        int *code = &c->code[thread][g];
        c->reading[thread][g] = (struct reading){ .enabled_ns = 0 };
        if (leader_of(c, thread, g) >= 0 && takes_part(c, g) && *code >= 0)
            *code = read_group(c, thread, &c->group[g], &c->reading[thread][g]);
    }
}

void counting_start(struct counting *c, int pass)
{
    c->pass = pass;
    on_threads(c, start_thread);
}

/* Adds the values of a reading, divided by the number of calls and multiplied by enabled / running.
 * Computes in double, because the product of two 64-bit integers may overflow. */
static void add_reading(struct counting *c, int group, const struct reading *r, int calls)
{
    bool starved = r->enabled_ns > 0 && r->running_ns == 0;
    double scale = r->running_ns > 0 && r->running_ns < r->enabled_ns
                 ? (double)r->enabled_ns / (double)r->running_ns : 1;
    for (int k = 0; k < c->group[group].n; k++) {
        struct tally *t = &c->tally[c->group[group].event[k]];
        bool backwards = r->value[k] > INT64_MAX;
        t->starved |= starved;
        t->enabled_ns += (double)r->enabled_ns;
        t->running_ns += (double)(r->running_ns < r->enabled_ns ? r->running_ns : r->enabled_ns);
        t->value += (double)r->value[k] * scale / calls;
        if ((starved || backwards) && !t->absent)
            snprintf(t->why, sizeof t->why, "%s",
                     starved ? "its counter never ran: something else uses the counters"
                             : "the counter overflowed");
        t->absent |= starved || backwards;
    }
}

void counting_stop(struct counting *c, int pass, int calls)
{
    c->pass = pass;
    on_threads(c, stop_thread);
    for (int t = 0; t < c->threads; t++) {
        read_thread(c, t);
        for (int g = 0; g < c->n_groups; g++) {
            if (c->code[t][g] < 0)
                for (int k = 0; k < c->group[g].n; k++)
                    lose(c, c->group[g].event[k], c->code[t][g]);
            c->ran[t] |= c->reading[t][g].enabled_ns > 0;
            add_reading(c, g, &c->reading[t][g], calls);
        }
    }
}

bool counting_starved(const struct counting *c)
{
    for (int g = 0; g < c->n_groups; g++)
        if (c->group[g].n > 1 && c->tally[c->group[g].event[0]].starved)
            return true;
    return false;
}

/* --- Results --------------------------------------------------------------------------------- */

static bool stands_still(const struct counting *c, int i)
{
    const struct tally *t = &c->tally[i];
    return !t->absent && t->enabled_ns > 0 && t->value == 0
        && c->source->always(c->ctx, &c->event[i]);
}

static void add_missing_text(struct counts *out, const char *between, const char *text)
{
    size_t n = strlen(out->missing);
    snprintf(out->missing + n, sizeof out->missing - n, "%s%s", n ? between : "", text);
}

/* Appends "a, b: why; c: why": events with the same reason are listed together. */
static void add_missing(const struct counting *c, struct counts *out)
{
    bool told[EVENTS_MAX] = { false };
    for (int i = 0; i < c->n; i++) {
        const char *between = "; ";
        for (int k = i; k < c->n; k++)
            if (c->tally[k].absent && !told[k] && !told[i]
                && streq(c->tally[k].why, c->tally[i].why)) {
                add_missing_text(out, between, c->event[k].name);
                between = ", ";
                told[k] = k != i;
            }
        if (c->tally[i].absent && !told[i])
            add_missing_text(out, ": ", c->tally[i].why);
        told[i] = true;
    }
}

static void add_value(const struct counting *c, int i, struct counts *out)
{
    const struct tally *t = &c->tally[i];
    if (!counts_add(out, c->event[i].name, t->value))
        return;
    struct count *to = &out->count[out->n - 1];
    to->running = t->running_ns / t->enabled_ns;
    to->scaled = t->running_ns < t->enabled_ns;
}

void counting_result(struct counting *c, struct counts *out)
{
    int ran = 0;
    *out = (struct counts){ .n = 0 };
    for (int i = 0; i < c->n; i++)
        if (stands_still(c, i)) {
            counts_refuse(out, "the counters of this machine can be opened but do not count (%s "
                               "is 0)", c->event[i].name);
            return;
        }
    for (int i = 0; i < c->n; i++) {
        struct tally *t = &c->tally[i];
        if (!t->absent && !(t->enabled_ns > 0)) {
            t->absent = true;
            snprintf(t->why, sizeof t->why, "its counter was never enabled");
        }
        if (!t->absent)
            add_value(c, i, out);
    }
    add_missing(c, out);
    if (out->n == 0) {
        counts_refuse(out, "%.255s", c->tally[0].why);
        return;
    }
    for (int t = 0; t < c->threads; t++)
        ran += c->ran[t];
    out->available = true;
    snprintf(out->source, sizeof out->source, "%d thread%s", ran, ran == 1 ? "" : "s");
}
