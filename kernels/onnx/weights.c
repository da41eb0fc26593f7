/* Provides the data of tensors.  Recently used ONNX files are kept in memory, so that a search
 * need not read them again. */
#include "kernels/onnx/weights.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "kernels/onnx/onnx.h"
#include "kernels/onnx/onnx_external.h"
#include "kernels/ops/reference.h"
#include "kernels/ops/source.h"

#define KEPT 4
#define KEPT_BYTES ((int64_t)1 << 30)

/* A tensor that a caller asked for, and a hash of its data. */
struct weights_found { const char *name; const struct onnx_tensor *tensor; uint64_t hash; };

struct weights {
    char *path;
    struct stat st;                       /* state of the file when it was read */
    struct onnx_model *m;
    VEC(struct weights_found) found;
};

/* Kept files, most recently used first, protected by the lock. */
static struct weights *kept[KEPT];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

void weights_free(struct weights *w)
{
    if (!w)
        return;
    onnx_free(w->m);
    vec_free(&w->found);
    free(w->path);
    free(w);
}

static void drop(int i)
{
    weights_free(kept[i]);
    kept[i] = NULL;
}

static bool same_file(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_size == b->st_size &&
           a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

/* Whether the files of the model are unchanged since they were read. st: the present state of the
 * model's own file.  The files of its external data are checked as well. */
static bool is_unchanged(const struct weights *w, const struct stat *st)
{
    bool same = same_file(&w->st, st);
    for (const struct onnx_file *f = w->m->external; f && same; f = f->next) {
        struct stat now;
        same = stat(f->path, &now) == 0 && same_file(&f->st, &now);
    }
    return same;
}

static int64_t bytes_of(const struct weights *w)
{
    int64_t bytes = w->st.st_size;
    for (const struct onnx_file *f = w->m->external; f; f = f->next)
        bytes += f->st.st_size;
    return bytes;
}

/* Keeps w as the most recently used file, and drops older files beyond the limits. */
static void keep(struct weights *w)
{
    int64_t bytes = bytes_of(w);
    drop(KEPT - 1);
    memmove(kept + 1, kept, (KEPT - 1) * sizeof *kept);
    kept[0] = w;
    for (int i = 1; i < KEPT; i++) {
        bytes += kept[i] ? bytes_of(kept[i]) : 0;
        if (bytes > KEPT_BYTES)
            drop(i);
    }
}

/* Returns the kept file at this path, or NULL.  Drops a file if it or its external data have
 * changed since it was read. */
static struct weights *take(const char *path, const struct stat *st)
{
    for (int i = 0; i < KEPT; i++) {
        struct weights *w = kept[i];
        if (!w || !streq(w->path, path))
            continue;
        if (!is_unchanged(w, st)) {
            drop(i);
            continue;
        }
        memmove(kept + 1, kept, (size_t)i * sizeof *kept);
        kept[0] = w;
        return w;
    }
    return NULL;
}

static bool lacks_file(const struct tensor *t, const char *why, struct err *e)
{
    err_set(e, ERR_IO, "the data of %s are in %.300s: %.200s", t->name, t->source->file, why);
    return err_fix(e, "put the model back, write its new place after file=, or import it again");
}

static struct weights *open_file(const struct tensor *t, struct err *e)
{
    const char *path = t->source->file;
    struct stat st;
    struct err why;
    bool found = stat(path, &st) == 0;
    if (!found || !S_ISREG(st.st_mode)) {
        lacks_file(t, found ? "it is no regular file" : strerror(errno), e);
        return NULL;
    }
    struct weights *w = take(path, &st);
    if (w)
        return w;
    w = weights_load(path, &why);
    if (w)
        keep(w);
    else
        lacks_file(t, why.text, e);
    return w;
}

struct weights *weights_load(const char *path, struct err *e)
{
    struct onnx_model *m;
    struct stat st = { 0 };
    if (stat(path, &st) != 0)
        st.st_ino = 0;  /* matches no file: path is "-" (stdin), or onnx_load fails below */
    if (!onnx_load(path, &m, e))
        return NULL;
    struct weights *w = xcalloc(1, sizeof *w);
    *w = (struct weights){ .path = xstrdup(path), .st = st, .m = m };
    return w;
}

struct onnx_model *weights_model(struct weights *w)
{
    return w->m;
}

void weights_keep(struct weights *w)
{
    pthread_mutex_lock(&lock);
    for (int i = 0; i < KEPT; i++)
        if (kept[i] && streq(kept[i]->path, w->path))
            drop(i);
    keep(w);
    pthread_mutex_unlock(&lock);
}

static struct weights_found find(struct weights *w, const char *name)
{
    for (int i = 0; i < w->found.len; i++)
        if (streq(w->found.data[i].name, name))
            return w->found.data[i];
    const struct onnx_tensor *t = onnx_constant(w->m, name);
    struct weights_found f = { arena_strdup(w->m->arena, name), t, t ? tensor_hash(t->f,
                                                                                   t->elems) : 0 };
    vec_push(&w->found, f);
    return f;
}

static bool from_file(const struct tensor *t, f32 *data, struct err *e)
{
    const struct tensor_source *s = t->source;
    struct weights *w = open_file(t, e);
    if (!w)
        return false;
    struct weights_found f = find(w, s->tensor);
    if (!f.tensor)
        return err_set(e, ERR_IO, "the data of %s are missing: %.300s has no float constant %.200s",
                       t->name,
                       s->file, s->tensor);
    if (f.tensor->elems != tensor_elems(t))
        return err_set(e, ERR_IO, "%s has %lld elements, but %.200s of %.300s has %lld", t->name,
                       (long long)tensor_elems(t), s->tensor, s->file,
                       (long long)f.tensor->elems);
    if (f.hash != s->hash) {
        err_set(e, ERR_IO,
                "the data of %s have changed: the hash of %.200s of %.300s is %016llx, not %016llx",
                t->name, s->tensor, s->file, (unsigned long long)f.hash,
                (unsigned long long)s->hash);
        return err_fix(e, "put the old model back, or import the new one with tilescope import");
    }
    memcpy(data, f.tensor->f, sizeof *data * (size_t)f.tensor->elems);
    return true;
}

bool weights_tensor_data(const struct tensor *t, uint64_t seed, f32 *data, struct err *e)
{
    const struct tensor_source *s = t->source;
    if (!s) {
        reference_fill(t, seed, data);
        return true;
    }
    int64_t n = tensor_elems(t);
    for (int64_t i = 0; s->n > 0 && i < n; i++)
        data[i] = s->value[s->n == 1 ? 0 : i];
    if (s->n > 0)
        return true;
    pthread_mutex_lock(&lock);
    bool ok = from_file(t, data, e);
    pthread_mutex_unlock(&lock);
    return ok;
}
