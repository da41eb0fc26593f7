/* The test cases that come with ONNX, imported and run: `make conformance`.
 *
 *     conformance [-v] [WORD]     only the cases with WORD in their path; -v: a line per case
 *
 * Every supported case runs as it is and again with random layouts and schedules (TS_SEED,
 * TS_ROUNDS).  Exits 1 when one of them is wrong. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/base/arena.h"
#include "kernels/base/file.h"
#include "kernels/base/vec.h"
#include "tests/unit/onnx_case.h"

static const char *const categories[] = { "node", "pytorch-converted", "pytorch-operator",
                                          "simple" };

struct count { int found, passed, failed, skipped, steps; };
struct reason { char text[100]; int n; };
static VEC(struct reason) reasons;
static bool verbose;

static void count_reason(const char *why)
{
    struct reason r = { .n = 1 };
    snprintf(r.text, sizeof r.text, "%s", why);
    for (int i = 0; i < reasons.len; i++)
        if (streq(reasons.data[i].text, r.text)) {
            reasons.data[i].n++;
            return;
        }
    vec_push(&reasons, r);
}

static int more_often(const void *a, const void *b)
{
    return ((const struct reason *)b)->n - ((const struct reason *)a)->n;
}

static void run_case(const char *path, uint64_t seed, int rounds, struct count *n)
{
    static const char *const word[] = { "passed", "FAILED", "skipped" };
    struct onnx_case c = { .random = rounds, .seed = seed, .most_work = 2e7 };
    enum onnx_result r = onnx_case_run(path, &c);
    n->found++;
    n->passed += r == ONNX_PASSED;
    n->failed += r == ONNX_FAILED;
    n->skipped += r == ONNX_SKIPPED;
    n->steps += c.steps;
    if (r == ONNX_SKIPPED)
        count_reason(str_text(&c.why));
    if (verbose || r == ONNX_FAILED)
        printf("%-8s %s  %s\n", word[r], path + strlen(ONNX_DATA) + 1, str_text(&c.why));
    fflush(stdout);
    str_free(&c.why);
}

static void run_category(const char *name, const char *word, uint64_t seed, int rounds,
                         struct count *n)
{
    char folder[256], path[1024];
    struct dirent **entry;
    snprintf(folder, sizeof folder, "%s/%s", ONNX_DATA, name);
    int found = scandir(folder, &entry, NULL, alphasort);
    for (int i = 0; i < found; i++) {
        snprintf(path, sizeof path, "%s/%s/model.onnx", folder, entry[i]->d_name);
        bool wanted = file_exists(path) && strstr(path, word);
        *strrchr(path, '/') = '\0';
        if (wanted)
            run_case(path, seed, rounds, n);
        free(entry[i]);
    }
    if (found >= 0)
        free(entry);
}

static void print_row(const char *name, const struct count *n)
{
    printf("%-20s %6d %9d %7d %7d %8d\n", name, n->found, n->passed + n->failed, n->passed,
           n->failed, n->skipped);
}

int main(int argc, char **argv)
{
    const char *given = getenv("TS_SEED"), *rounds = getenv("TS_ROUNDS"), *word = "";
    uint64_t seed = given ? strtoull(given, NULL, 10) : 20261121;
    struct count n[COUNT_OF(categories)] = { { 0 } }, total = { 0 };
    for (int i = 1; i < argc; i++)
        if (streq(argv[i], "-v"))
            verbose = true;
        else
            word = argv[i];
    printf("seed %llu\n", (unsigned long long)seed);
    for (int i = 0; i < COUNT_OF(categories); i++) {
        run_category(categories[i], word, seed, rounds ? atoi(rounds) : 3, &n[i]);
        total.found += n[i].found;
        total.passed += n[i].passed;
        total.failed += n[i].failed;
        total.skipped += n[i].skipped;
        total.steps += n[i].steps;
    }
    qsort(reasons.data, (size_t)reasons.len, sizeof *reasons.data, more_often);
    printf("\nskipped because of\n");
    for (int i = 0; i < reasons.len; i++)
        printf("%6d  %s\n", reasons.data[i].n, reasons.data[i].text);
    printf("\n%-20s %6s %9s %7s %7s %8s\n", "category", "found", "supported", "passed", "failed",
           "skipped");
    for (int i = 0; i < COUNT_OF(categories); i++)
        print_row(categories[i], &n[i]);
    print_row("all", &total);
    printf("%d random steps were legal\n", total.steps);
    if (total.found == 0)
        printf("no cases: install libonnx-testdata\n");
    vec_free(&reasons);
    return total.failed > 0 || total.found == 0;
}
