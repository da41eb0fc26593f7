#include "profile/cuda/library.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Opens the file of a library. RTLD_NODELETE: NVIDIA's libraries leak memory each time that they
 * are unloaded. */
static void *open_file(const struct cuda_library *l, struct err *e)
{
    const char *own = getenv(l->variable);
    char why[300] = "";
    for (int i = 0; own ? i < 1 : l->names[i] != NULL; i++) {
        void *h = dlopen(own ? own : l->names[i], RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
        if (h)
            return h;
        const char *said = dlerror();       /* read at once, because a later dlopen clears it */
        if (i == 0)
            snprintf(why, sizeof why, "%s", said ? said : "dlopen gives no reason");
    }
    err_set(e, ERR_ENV, "%s cannot be loaded: %s", l->what, why);
    err_fix(e, "%s, or name the library in %s", l->fix, l->variable);
    return NULL;
}

bool cuda_library_open(const struct cuda_library *l, const struct cuda_symbol *symbol, int n,
                       struct err *e)
{
    void *h = open_file(l, e);
    if (!h)
        return false;
    for (int i = 0; i < n; i++) {
        void *found = dlsym(h, symbol[i].name);
        if (!found) {
            dlclose(h);
            return err_set(e, ERR_ENV, "%s has no function %s", l->what, symbol[i].name);
        }
        memcpy(symbol[i].to, &found, sizeof found);      /* C has no cast from data to functions */
    }
    dlclose(h);
    return true;
}

void cuda_library_file(const void *function, char *path, size_t n)
{
    Dl_info where;
    bool known = dladdr(function, &where) && where.dli_fname;
    snprintf(path, n, "%s", known ? where.dli_fname : "");
}
