#include "app/model/help.h"

#include <string.h>

#include "app/model/appcmd.h"
#include "app/ui/key.h"
#include "app/ui/text.h"
#include "explorer/history/command.h"
#include "explorer/tune/strategies.h"
#include "kernels/ops/graph.h"
#include "profile/measure/measure.h"
#include "profile/measure/meters.h"
#include "sessions/file/expert_file.h"

enum { STEP_HELP_COLUMN = 44 };

static void topic_steps(struct str *out)
{
    str_add(out,
        "A step is one line of text. It is the same in a session file, at the `:` prompt,\n"
        "in a --steps script and in an error message. A # starts a comment.\n"
        "\n"
        "T is a tensor; the loops of T are those that compute it. D is a dimension of a\n"
        "tensor or a loop. The parts of a split are numbered from the outside: O.0, O.1.\n"
        "[...] is optional. At the `:` prompt of the screen, the first word may be left\n"
        "out: vectorize C N, edit 2 unroll C K. Where both groups fit, it is loop.\n\n");
    struct str all = {0};
    for (int i = 0; i < appcmd_rows(); i++) {
        struct command_row row = appcmd_row(i);
        if (i == command_rows())
            str_add(&all, "\nThese commands work only at the `:` prompt of the screen:\n\n");
        size_t start = all.len;
        command_row_print(&all, &row);
        int n = (int)(all.len - start);
        str_repeat(&all, ' ', n < STEP_HELP_COLUMN ? STEP_HELP_COLUMN - n : 2);
        str_printf(&all, "%s\n", row.help);
    }
    str_wrap(out, str_text(&all), HELP_WIDTH, STEP_HELP_COLUMN);
    str_free(&all);
}

static void topic_keys(struct str *out)
{
    struct str all = {0};
    int context = -1;
    str_add(&all, "Every key stands for a line that could be typed at the `:` prompt. "
            "In the key bar and in this list, … at the end belongs to a key that only begins its "
            "line, which Enter runs; a key of a step or command without … runs it at once. "
            "On the prompt, Tab completes; in its list, Tab, Down and Up choose. Else Up and Down "
            "bring back earlier lines. C-w deletes "
            "the word before the cursor, which after a refusal is the refused one. C-u empties the "
            "line: first behind the `edit N`, `insert N` or `layout set T` of a key, then whole. "
            "Alt-b and Alt-f (or C-Left and "
            "C-Right) move by words, and Alt-d deletes the next word.\n");
    str_wrap(out, str_text(&all), HELP_WIDTH, 0);
    str_clear(&all);
    for (int i = 0; i < key_binding_count(); i++) {
        const struct key_binding *b = key_binding_get(i);
        if ((int)b->context != context)
            str_printf(&all, "\n%s\n", key_context_title[b->context]);
        context = (int)b->context;
        str_printf(&all, "  %-14s %s\n", b->keys, b->help);
    }
    str_wrap(out, str_text(&all), HELP_WIDTH, 17);
    str_free(&all);
}

static void topic_meters(struct str *out)
{
    str_add(out,
        "A meter measures one kind of number. `run --meters clock,sim` chooses meters. A\n"
        "meter that cannot count on this machine says why; it never shows a zero instead.\n"
        "\n"
        "perf, perf-sw and papi count the events of an event set, on all threads of the\n"
        "kernel and per call. `tilescope meters --events` explains the sets, and\n"
        "`run --events l1` chooses one. `run --events sw,papi-sw` chooses one for each of\n"
        "two meters.\n"
        "\n"
        "A processor has few counters. If a set has more events, perf counts groups of\n"
        "them in turns and extrapolates (marked `~`, in JSON `scaled`); papi runs the\n"
        "kernel once for each group. An event that was not counted is listed with the\n"
        "reason.\n"
        "\n"
        "To add a set, write a file $XDG_CONFIG_HOME/tilescope/events/NAME.txt:\n"
        "\n"
        "  SHORT  lines brought into the first level\n"
        "  METER  perf\n"
        "  CPU    GenuineIntel                 optional: refuse other CPUs\n"
        "  EVENTSET\n"
        "  l1d_loads                           a known name (`meters --events`)\n"
        "  lines_in raw:0x151                  or a name and a raw config\n"
        "  METRICS\n"
        "  traffic [GB/s] = 1e-9 * 64 * lines_in / time_s\n"
        "  LONG\n"
        "  Any prose.\n"
        "\n"
        "A formula has + - * / and parentheses. It can use the events of the set, and\n"
        "time_s, flops, bytes and threads.\n"
        "\n"
        "The meters on this machine:\n\n");
    struct meter_info meter[16];
    int n = meters_probe(meter, COUNT_OF(meter));
    struct str all = {0};
    for (int i = 0; i < n; i++)
        str_printf(&all, "  %-12s %s%s%s\n", meter[i].name, meter[i].what,
                   meter[i].available ? "" : "; not available: ", meter[i].reason);
    str_wrap(out, str_text(&all), HELP_WIDTH, 15);
    str_free(&all);
}

static void topic_cache(struct str *out)
{
    str_add(out,
        "`run --cache CACHE` chooses the cache that is simulated. CACHE is a preset, or\n"
        "the levels from L1 outwards as SIZE/WAYS/LINE. Options follow. Commas separate\n"
        "all of them:\n"
        "\n"
        "  --cache 32K/8/64                        L1 alone\n"
        "  --cache 32K/8/64,1M/16/64,28160K/11/64  three levels\n"
        "  --cache 32K/8/64/plru,1M/16/64/inclusive    tree-PLRU; L2 includes L1\n"
        "  --cache zen3,prefetch=stride:2          a preset with a prefetcher\n"
        "  --cache host,levels=1                   this machine's L1\n"
        "\n"
        "A level can end in /lru, /plru or /random, and in /inclusive. The options:\n"
        "\n"
        "  replace=lru|plru|random    replacement policy of every level\n"
        "  prefetch=none              no prefetcher (the default)\n"
        "  prefetch=next              a miss also fetches the next line\n"
        "  prefetch=lines:N           a miss fetches N lines: its own and the next N - 1\n"
        "  prefetch=stride:D:C        after C equal strides, fetch the next D\n"
        "  levels=N                   only the first N levels of a preset\n"
        "  seed=N                     seed of random replacement\n"
        "\n"
        "Prefetchers work at L1 and stay inside a page of 4 KiB. Caches are write-back\n"
        "and write-allocate. The presets:\n\n");
    struct str all = {0};
    for (int i = 0; i < cache_preset_count; i++)
        str_printf(&all, "  %-11s %s%s%s\n", cache_preset[i].name, cache_preset[i].text,
                   cache_preset[i].text[0] ? "; " : "", cache_preset[i].what);
    str_wrap(out, str_text(&all), HELP_WIDTH, 14);
    str_free(&all);
}

static void topic_experts(struct str *out)
{
    struct arena *a = arena_new();
    struct experts all;
    struct str list = {0};
    struct err e;
    str_add(out,
        "An expert is a schedule template written by hand: a YAML file in\n"
        "sessions/experts whose tile sizes are parameters. A formula in it ranks the tile\n"
        "sizes for an operator and a machine, without measuring.\n"
        "\n"
        "  tilescope expert 'OPERATOR'             print the steps of the best one\n"
        "  tilescope expert 'OPERATOR' --search 8  measure 8, take the fastest\n"
        "  tilescope expert 'OPERATOR' --target cuda --search 8\n"
        "                                          for a GPU: simulate 8, take the one\n"
        "                                          with the least simulated time\n"
        "  :expert, or X on the screen             the best one, as steps\n"
        "  :expert 2, or 02X                       the second best\n"
        "\n"
        "The steps are applied to the current branch if it has no steps yet, and to a new\n"
        "branch otherwise.\n\n");
    if (!expert_file_all(a, &all, &e))
        str_printf(&list, "  none: %s\n", e.text);
    for (int i = 0; i < all.n; i++) {
        const struct expert *x = all.item[i];
        str_printf(&list, "%s%s, for", i ? "\n" : "", x->id);
        for (int f = 0; f < x->n_families; f++)
            str_printf(&list, " %s", x->family[f]);
        str_printf(&list, "\n  %s\n", x->title);
    }
    str_wrap(out, str_text(&list), HELP_WIDTH, 2);
    str_add(out,
        "\nIn a graph of statements, the statement with the most work gets a schedule of an\n"
        "expert, and so do the element-wise statements after it. The others get a plain\n"
        "schedule: vector loops over contiguous data, sums in registers.\n");
    str_free(&list);
    arena_free(a);
}

#define SIGN_COLUMN 8                     /* columns of a sign and the blanks after it */

static const struct help_sign signs[] = {
#define SIGN(sign, help, more) {sign, help, more},
#include "app/model/sign.def"
#undef SIGN
};

const struct help_sign *help_sign(int i)
{
    return i < COUNT_OF(signs) ? &signs[i] : NULL;
}

static void topic_signs(struct str *out)
{
    struct str all = {0};
    str_add(out, "The list of steps has one row for each step. Its signs:\n\n");
    for (int i = 0; i < COUNT_OF(signs); i++) {
        const char *sign = signs[i].sign;
        str_printf(&all, "  %s", sign);
        str_repeat(&all, ' ', SIGN_COLUMN - text_width(sign));
        str_printf(&all, "%s. %s\n", signs[i].help, signs[i].more);
    }
    str_wrap(out, str_text(&all), HELP_WIDTH, 2 + SIGN_COLUMN);
    str_add(out, "\nThe bottom line explains the signs of the row under the cursor.\n\n"
            "Predictions: before a step is applied or measured, the bottom line predicts\n"
            "its L1 misses, from a simulated sample. It also predicts the time of one thread,\n"
            "if `tilescope machine` or view 8 has measured the machine: the cycles of the\n"
            "code, without misses, and the time to load the missed lines from L2. Most loops\n"
            "take 0.7 to 1.4 times as long as predicted, some plain ones twice as long, and\n"
            "more if they miss L2 as well, which is not predicted. No time is predicted for\n"
            "other caches (`cache`), several threads, or `set autovectorize on`.\n");
    str_free(&all);
}

struct topic { const char *name, *summary, *text; void (*print)(struct str *out); };
static const struct topic topics[] = {
#define TOPIC(name, summary, text) {name, summary, text, NULL},
#define TOPIC_MADE(name, summary, print) {name, summary, NULL, print},
#include "app/model/help.def"
#undef TOPIC
#undef TOPIC_MADE
};

const char *help_topic_name(int i)
{
    return i < COUNT_OF(topics) ? topics[i].name : NULL;
}

const char *help_topic_summary(int i)
{
    return i < COUNT_OF(topics) ? topics[i].summary : NULL;
}

static void print_param(struct str *out, const struct op_param *p)
{
    struct str line = {0};
    str_printf(&line, "  %-5s %s", p->name, p->help);
    if (p->def == OP_REQUIRED) {
        str_add(&line, "; required");
    } else if (p->def != OP_UNSET) {
        str_add(&line, "; default ");
        op_param_print(&line, p, p->def);
    }
    if (!p->words)
        str_printf(&line, " (%lld to %lld)", (long long)p->min, (long long)p->max);
    for (int i = 0; p->words && p->words[i]; i++)
        str_printf(&line, "%s%s", i ? " " : " (", p->words[i]);
    str_add(&line, p->words ? ")\n" : "\n");
    str_wrap(out, str_text(&line), HELP_WIDTH, 8);
    str_free(&line);
}

static void print_operator(struct str *out, const struct op_family *op)
{
    str_printf(out, "%s: %s\n\n", op->name, op->title);
    str_wrap(out, op->help, HELP_WIDTH, 0);
    str_add(out, "\nparameters:\n");
    for (int i = 0; i < op->n_params; i++)
        print_param(out, &op->params[i]);
    str_printf(out, "\nexample: tilescope run '%s'\n", op->example);
}

/* Returns the topic that explains a word: "tune" for a strategy of the tuner, else the word
 * itself. */
static const char *topic_of(const char *word)
{
    for (int i = 0; i < strategy_count(); i++)
        if (streq(word, strategy_get(i)->name))
            return "tune";
    return word;
}

bool help_topic(struct str *out, const char *word)
{
    word = topic_of(word);
    for (int i = 0; i < COUNT_OF(topics); i++) {
        if (!streq(topics[i].name, word))
            continue;
        if (topics[i].print)
            topics[i].print(out);
        else
            str_add(out, topics[i].text);
        return true;
    }
    const struct op_family *op = ops_find(word);
    if (op)
        print_operator(out, op);
    return op != NULL;
}
