#include <stdlib.h>
#include "sessions/file/session.h"
#include "tests/fuzz/fuzz.h"

static void same_text(const char *what, const char *a, const char *b)
{
    FUZZ_CHECK(streq(a, b), "%s: \"%s\" became \"%s\"", what, a, b);
}

static void same_branch(const struct history *a, const struct history *b, int i)
{
    int n, at, n2, at2;
    same_text("branch", history_branch(a, i)->name, history_branch(b, i)->name);
    const int *path = history_path(a, i, &n, &at), *path2 = history_path(b, i, &n2, &at2);
    FUZZ_CHECK(n == n2 && at == at2, "%d steps, at %d, became %d, at %d", n, at, n2, at2);
    for (int k = 0; k < n; k++) {
        const struct state *s = history_state(a, path[k]), *t = history_state(b, path2[k]);
        same_text("step", s->step, t->step);
        FUZZ_CHECK(!s->measured == !t->measured, "a measurement of step %d came or went", k);
    }
}

static void same_session(const struct session *a, const struct session *b)
{
    const struct history *h = a->history, *k = b->history;
    same_text("title", a->title, b->title);
    same_text("note", str_text(&a->note), str_text(&b->note));
    same_text("machine", a->machine, b->machine);
    same_text("operator", history_spec(h), history_spec(k));
    FUZZ_CHECK(history_n_branches(h) == history_n_branches(k), "%d branches became %d",
               history_n_branches(h), history_n_branches(k));
    FUZZ_CHECK(history_branch_index(h) == history_branch_index(k), "another current branch");
    for (int i = 0; i < history_n_branches(h); i++)
        same_branch(h, k, i);
}

static void round_trip(const struct session *s)
{
    struct str text = {0}, again = {0};
    struct session *t = NULL;
    struct err e = {0};
    session_yaml_in(s, NULL, &text);
    if (!session_parse("again.yaml", str_text(&text), text.len, &t, &e)) {
        struct str out = {0};
        err_print(&out, &e);
        fail("what was written is refused:\n%s%s", str_text(&out), str_text(&text));
    }
    same_session(s, t);
    fuzz_say(str_text(&text));
    session_yaml_in(t, NULL, &again);
    same_text("file", str_text(&text), str_text(&again));
    session_free(t);
    str_free(&text);
    str_free(&again);
}

int fuzz_yaml(const uint8_t *data, size_t n)
{
    char *text = fuzz_text(data, n);
    struct session *s = NULL;
    struct err e = {0};
    if (session_parse("fuzz.yaml", text, n, &s, &e)) {
        round_trip(s);
        session_free(s);
    } else {
        FUZZ_CHECK(!s, "a session with an error");
        fuzz_error(&e);
    }
    free(text);
    return 0;
}
