#include "sessions/file/arrays.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <zip.h>

#include "kernels/base/file.h"
#include "kernels/base/vec.h"
#include "kernels/onnx/onnx.h"

#define MOST_BYTES ((uint64_t)1 << 30)
typedef VEC(struct named_array) array_list;

/* --- npy: a magic text, the length of the header, a Python dictionary, data ------------------ */

/* Returns the text after 'key': in the header, or NULL when the key is missing. */
static const char *header_value(const char *header, const char *key)
{
    char quoted[32];
    snprintf(quoted, sizeof quoted, "'%s'", key);
    const char *s = strstr(header, quoted);
    s = s ? strchr(s + strlen(quoted), ':') : NULL;
    return s ? s + 1 + strspn(s + 1, " ") : NULL;
}

/* Returns element i of an array of numpy's type `descr` ("<f4"). */
static f32 element(const char *descr, const char *data, int64_t i)
{
    union { float f4; double f8; int32_t i4; int64_t i8; } v;
    int size = descr[2] - '0';
    if (size == 1)
        return descr[1] == 'i' ? (f32)((const signed char *)data)[i]
                               : (f32)((const unsigned char *)data)[i];
    memcpy(&v, data + i * size, (size_t)size);
    return descr[1] == 'f' ? (size == 4 ? v.f4 : (f32)v.f8) : size == 4 ? (f32)v.i4 : (f32)v.i8;
}

static bool read_shape(const char *s, struct named_array *out)
{
    out->elems = 1;
    if (!s || *s++ != '(')
        return false;
    while (*s && *s != ')') {
        char *end;
        long long v = strtoll(s, &end, 10);
        if (end == s || v < 0 || out->rank == COUNT_OF(out->shape)
            || (v > 0 && out->elems > (int64_t)(MOST_BYTES / 4) / v))
            return false;
        out->shape[out->rank++] = v;
        out->elems *= v;
        s = end + strspn(end, ", ");
    }
    return *s == ')';
}

static bool read_npy(struct arena *a, const char *what, const char *data, size_t n,
                     array_list *list, struct err *e)
{
    static const char *const known[] = { "<f4", "<f8", "<i4", "<i8", "|b1", "|i1", "|u1" };
    struct named_array x = { .name = "" };
    size_t head = n > 10 ? (unsigned char)data[8] + 256u * (unsigned char)data[9] : 0;
    size_t at = 10;
    if (n > 12 && data[6] > 1) {
        head += (size_t)(unsigned char)data[10] << 16;
        at = 12;
    }
    if (n < 12 || memcmp(data, "\x93NUMPY", 6) != 0 || at + head > n)
        return err_set(e, ERR_SYNTAX, "%.200s is not an array of numpy", what);
    const char *header = arena_strndup(a, data + at, head);
    const char *descr = header_value(header, "descr");
    const char *order = header_value(header, "fortran_order");
    if (!descr || !order || !read_shape(header_value(header, "shape"), &x))
        return err_set(e, ERR_SYNTAX, "%.200s: the header is not one of numpy: %.100s", what,
                       header);
    if (str_starts(order, "True") && x.rank > 1)
        return err_set(e, ERR_TYPE, "%.200s is stored by columns: save numpy.ascontiguousarray of "
                       "it", what);
    const char *type = NULL;
    for (int i = 0; i < COUNT_OF(known); i++)
        if (*descr && strncmp(descr + 1, known[i], 3) == 0)
            type = known[i];
    if (!type)
        return err_set(e, ERR_TYPE, "%.200s has the type %.10s; float32, float64, int32, int64, "
                       "int8, uint8 and bool can be read", what, descr);
    int64_t size = type[2] - '0';
    if ((int64_t)(n - at - head) < x.elems * size)
        return err_set(e, ERR_SYNTAX, "%.200s ends after %zu of %lld bytes of data", what,
                       n - at - head, (long long)(x.elems * size));
    f32 *to = ARENA_ARRAY(a, f32, x.elems + 1);
    for (int64_t i = 0; i < x.elems; i++)
        to[i] = element(type, data + at + head, i);
    x.data = to;
    vec_push(list, x);
    return true;
}

/* --- npz: a zip file of npy files ------------------------------------------------------------- */

static bool read_member(struct arena *a, const char *path, zip_t *z, zip_int64_t i,
                        array_list *list, struct err *e)
{
    struct zip_stat st;
    char what[600];
    if (zip_stat_index(z, (zip_uint64_t)i, 0, &st) != 0 || !(st.valid & ZIP_STAT_SIZE)
        || st.size > MOST_BYTES)
        return err_set(e, ERR_RANGE, "%.200s: member %lld has no size, or more than 1 GiB", path,
                       (long long)i);
    snprintf(what, sizeof what, "%.300s: %.200s", path, st.name);
    char *data = xmalloc((size_t)st.size + 1);
    zip_file_t *f = zip_fopen_index(z, (zip_uint64_t)i, 0);
    bool ok = (f && zip_fread(f, data, st.size) == (zip_int64_t)st.size)
           || err_set(e, ERR_IO, "%.300s cannot be read: %s", what, zip_strerror(z));
    ok = ok && read_npy(a, what, data, (size_t)st.size, list, e);
    if (ok) {
        size_t len = strlen(st.name) - (str_ends(st.name, ".npy") ? 4 : 0);
        list->data[list->len - 1].name = arena_strndup(a, st.name, len);
    }
    if (f)
        zip_fclose(f);
    free(data);
    return ok;
}

static bool read_npz(struct arena *a, const char *path, array_list *list, struct err *e)
{
    int code;
    zip_t *z = zip_open(path, ZIP_RDONLY, &code);
    if (!z) {
        zip_error_t why;
        zip_error_init_with_code(&why, code);
        err_set(e, ERR_IO, "%.300s: %.100s", path, zip_error_strerror(&why));
        zip_error_fini(&why);
        return false;
    }
    bool ok = true;
    for (zip_int64_t i = 0; ok && i < zip_get_num_entries(z, 0); i++)
        ok = read_member(a, path, z, i, list, e);
    zip_close(z);
    return ok;
}

/* --- pb --------------------------------------------------------------------------------------- */

static bool read_pb(struct arena *a, const char *path, array_list *list, struct err *e)
{
    const struct onnx_tensor *t;
    struct named_array x = { 0 };
    if (!onnx_tensor_load(a, path, &t, e))
        return false;
    if (!t->f && !t->i)
        return err_set(e, ERR_TYPE, "%.200s has the type %s, which cannot be read", path,
                       onnx_type_name(t->type));
    x.name = t->name;
    x.rank = t->rank;
    memcpy(x.shape, t->dims, sizeof x.shape);
    x.elems = t->elems;
    f32 *data = ARENA_ARRAY(a, f32, t->elems + 1);
    for (int64_t i = 0; i < t->elems; i++)
        data[i] = t->f ? t->f[i] : (f32)t->i[i];
    x.data = data;
    vec_push(list, x);
    return true;
}

static bool read_folder(struct arena *a, const char *path, const char *stem, array_list *list,
                        struct err *e)
{
    for (int i = 0;; i++) {
        const char *file = arena_printf(a, "%s/%s_%d.pb", path, stem, i);
        if (!file_exists(file))
            return i > 0 || err_set(e, ERR_IO, "there is no %.300s", file);
        if (!read_pb(a, file, list, e))
            return false;
    }
}

bool arrays_read(struct arena *a, const char *path, const char *stem, struct arrays *out,
                 struct err *e)
{
    array_list list = {0};
    struct stat st;
    struct str text = {0};
    bool ok;
    if (stat(path, &st) == 0 && S_ISDIR(st.st_mode))
        ok = read_folder(a, path, stem, &list, e);
    else if (str_ends(path, ".npz"))
        ok = read_npz(a, path, &list, e);
    else if (str_ends(path, ".npy"))
        ok = file_read(path, MOST_BYTES, &text, e)
          && read_npy(a, path, str_text(&text), text.len, &list, e);
    else if (str_ends(path, ".pb"))
        ok = read_pb(a, path, &list, e);
    else
        ok = err_set(e, ERR_SYNTAX, "%.200s: expected FILE.npz, FILE.npy, FILE.pb, or a folder "
                     "with %s_0.pb", path, stem);
    *out = (struct arrays){ list.len, ARENA_DUP(a, list.data, list.len) };
    str_free(&text);
    vec_free(&list);
    return ok;
}

const struct named_array *arrays_find(const struct arrays *all, const char *name)
{
    for (int k = 0; k < all->n; k++)
        if (streq(all->array[k].name, name))
            return &all->array[k];
    return NULL;
}
