/* The candidates of one round: made from points, de-duplicated by text, ranked and picked. */
#include "explorer/tune/search_impl.h"

#include <math.h>
#include <string.h>

void search_pool_reset(struct search *s)
{
    vec_clear(&s->pool);
    text_set_clear(&s->in_pool);
    arena_reset(s->round);
    if (s->p->forget)
        s->p->forget(s->p->ctx);
}

const char *search_text(struct arena *a, const char *const *line, int n)
{
    struct str text = {0};
    for (int i = 0; i < n; i++)
        str_printf(&text, "%s\n", line[i]);
    const char *copy = arena_strdup(a, str_text(&text));
    str_free(&text);
    return copy;
}

struct tune_candidate *search_add(struct search *s, int arm, const void *point)
{
    struct tune_candidate c = { .arm = arm, .trial = -1, .ms = INFINITY, .reason = "" };
    const char *const *line;
    if (!s->p->point_lines(s->p->ctx, arm, point, s->round, &line, &c.n_lines)) {
        s->illegal++;
        return NULL;
    }
    c.line = line;
    c.text = search_text(s->round, line, c.n_lines);
    c.hash = hash_text(c.text);
    struct tune_candidate *old = text_set_find(&s->measured, c.text, c.hash);
    if (!old)
        old = text_set_find(&s->in_pool, c.text, c.hash);
    if (old)
        return old;
    c.point = arena_copy(s->round, point, s->p->point_bytes);
    struct tune_candidate *kept = ARENA_NEW(s->round, struct tune_candidate);
    *kept = c;
    text_set_add(&s->in_pool, kept);
    vec_push(&s->pool, kept);
    return kept;
}

void search_add_random(struct search *s, int arm, int n)
{
    void *point = xcalloc(1, s->p->point_bytes);
    for (int tries = 0; tries < 4 * n && s->pool.len < n; tries++) {
        s->p->point_draw(s->p->ctx, arm, &s->rng, point);
        search_add(s, arm, point);
    }
    free(point);
}

void search_score(struct search *s, struct tune_candidate *const *c, int n)
{
    if (!s->p->score)
        return;
    struct tune_candidate **todo = ARENA_ARRAY(s->round, struct tune_candidate *, n);
    int n_todo = 0;
    for (int i = 0; i < n; i++)
        if (!c[i]->scored && !c[i]->illegal)
            todo[n_todo++] = c[i];
    double began = clock_s();
    if (n_todo > 0)
        s->p->score(s->p->ctx, s->round, todo, n_todo);
    s->model_s += clock_s() - began;
    for (int i = 0; i < n_todo; i++) {
        todo[i]->scored = true;
        s->illegal += todo[i]->illegal;
    }
}

/* A candidate to be ranked, with its index in the pool.  Start points come first, then the others
 * by descending score.  Of equal scores, the lower index comes first, so that the order does not
 * depend on the C library's sort. */
struct pool_ranked { struct tune_candidate *c; int at; };

static int by_score(const void *a, const void *b)
{
    const struct pool_ranked *x = a, *y = b;
    if (x->c->start != y->c->start)
        return x->c->start ? -1 : 1;
    if (x->c->score != y->c->score)
        return x->c->score > y->c->score ? -1 : 1;
    return (x->at > y->at) - (x->at < y->at);
}

static bool is_new(const struct search *s, const struct tune_candidate *c)
{
    return !c->illegal && !text_set_find(&s->measured, c->text, c->hash);
}

/* Picks the `want` candidates with the best ranks.  If there are more candidates, then with
 * probability epsilon * want draws the last one at random from those that are not picked yet. */
static int pick_ranked(struct search *s, int want, struct tune_candidate **out)
{
    struct pool_ranked *r = ARENA_ARRAY(s->round, struct pool_ranked, s->pool.len);
    int n = 0, n_out = 0;
    for (int i = 0; i < s->pool.len; i++)
        if (is_new(s, s->pool.data[i]))
            r[n++] = (struct pool_ranked){ s->pool.data[i], i };
    qsort(r, (size_t)n, sizeof *r, by_score);
    if (n <= want) {
        for (int i = 0; i < n; i++)
            out[n_out++] = r[i].c;
        return n_out;
    }
    int n_random = s->o.epsilon > 0 && rng_unit(&s->rng) < s->o.epsilon * want;
    for (int i = 0; i < want - n_random; i++)
        out[n_out++] = r[i].c;
    if (n_random) {
        out[n_out] = r[rng_range(&s->rng, want - 1, n - 1)].c;
        out[n_out++]->explored = true;
    }
    return n_out;
}

/* Picks candidates when nothing ranks them.  Start points, and all points of an ordered strategy,
 * are considered in order; others at random.  Scores only the candidates that it considers, which
 * shows whether they are valid. */
static int pick_any(struct search *s, int want, struct tune_candidate **out)
{
    int n = s->pool.len, n_out = 0;
    for (int i = 0; i < n && n_out < want; i++) {
        bool as_is = s->strategy->ordered || s->pool.data[i]->start;
        int64_t j = as_is ? i : rng_range(&s->rng, i, n - 1);
        struct tune_candidate *c = s->pool.data[j];
        s->pool.data[j] = s->pool.data[i];
        s->pool.data[i] = c;
        search_score(s, &c, 1);
        if (is_new(s, c))
            out[n_out++] = c;
    }
    return n_out;
}

int search_pick(struct search *s, int want, struct tune_candidate **out)
{
    bool ranked = !s->strategy->ordered && s->p->ranks && s->p->ranks(s->p->ctx);
    if (!ranked)
        return pick_any(s, want, out);
    search_score(s, s->pool.data, s->pool.len);
    return pick_ranked(s, want, out);
}
