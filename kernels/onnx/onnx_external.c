#include "kernels/onnx/onnx_external.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "kernels/base/str.h"

/* Adds the file to *x->files, unless it is in this list. */
static void note_file(struct onnx_external *x, const char *path, const struct stat *st)
{
    for (const struct onnx_file *f = *x->files; f; f = f->next)
        if (streq(f->path, path))
            return;
    struct onnx_file *f = ARENA_NEW(x->a, struct onnx_file);
    *f = (struct onnx_file){ *x->files, arena_strdup(x->a, path), *st };
    *x->files = f;
}

/* Whether the real path of the file lies below the real path of the folder. */
static bool is_inside(const char *folder, const char *path)
{
    char *home = realpath(folder, NULL), *real = realpath(path, NULL);
    size_t n = home ? strlen(home) : 0;
    bool inside = home && real && strncmp(home, real, n) == 0 &&
                  (real[n] == '/' || (n > 0 && home[n - 1] == '/'));
    free(home);
    free(real);
    return inside;
}

bool onnx_external_open(struct onnx_external *x, struct err *e)
{
    struct str path = { 0 };
    struct stat st;
    bool ok = false;
    str_printf(&path, "%s%s", x->folder, x->location);
    x->fd = open(str_text(&path), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (x->location[0] == '/' || (x->fd >= 0 && !is_inside(x->folder, str_text(&path))))
        err_set(e, ERR_IO, "external_data: %.200s lies outside of the model's folder", x->location);
    else if (x->fd < 0)
        err_set(e, ERR_IO, "external_data: cannot open %.200s: %s", x->location, strerror(errno));
    else if (fstat(x->fd, &st) != 0 || !S_ISREG(st.st_mode))
        err_set(e, ERR_IO, "external_data: %.200s is no regular file", x->location);
    else if (x->offset > st.st_size || x->n > (size_t)(st.st_size - x->offset))
        err_set(e, ERR_IO, "external_data: %.200s ends before offset %lld + %zu bytes", x->location,
                (long long)x->offset, x->n);
    else
        ok = true;
    if (ok)
        note_file(x, str_text(&path), &st);
    else if (x->fd >= 0)
        close(x->fd);
    str_free(&path);
    return ok;
}

bool onnx_external_read(struct onnx_external *x, void *out, struct err *e)
{
    size_t done = 0;
    while (done < x->n) {
        off_t at = (off_t)(x->offset + (int64_t)done);
        ssize_t n = pread(x->fd, (char *)out + done, x->n - done, at);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            break;
        done += (size_t)n;
    }
    close(x->fd);
    return done == x->n || err_set(e, ERR_IO, "external_data: cannot read %.200s", x->location);
}
