#include "profile/build/cubin.h"

#include <stdio.h>

#include "kernels/base/file.h"
#include "profile/build/nvrtc.h"
#include "profile/build/objcache.h"

/* Compiles the source and writes the object to temp_so of the slot. */
static bool compile(const struct objcache_slot *slot, const char *source,
                    const struct gen_launches *launches, const char *arch, struct err *e)
{
    struct arena *a = arena_new();
    struct gpu_build b;
    struct str object = {0};
    bool ok = nvrtc_build(a, source, arch, &b, e);
    if (ok) {
        cuda_object_write(&object, &(struct cuda_object){ .launches = *launches,
                                                          .cubin = b.cubin, .bytes = b.bytes });
        ok = file_write_quick(slot->temp_so, str_text(&object), object.len, e);
    }
    str_free(&object);
    arena_free(a);
    return ok;
}

static bool make(struct objcache_slot *slot, const struct str *text, const char *source,
                 const struct gen_launches *launches, const char *arch, const struct cancel *c,
                 bool *hit, struct err *e)
{
    if (!objcache_slot(text, slot, e))
        return false;
    *hit = objcache_hit(slot, text);
    if (*hit)
        return true;
    if (!objcache_lock(slot, c, e))
        return false;
    *hit = objcache_hit(slot, text);
    return *hit || (objcache_write(slot, text, e) && compile(slot, source, launches, arch, e)
                    && objcache_store(slot, e));
}

bool cubin_build(const char *source, const struct gen_launches *launches, const char *arch,
                 const struct cancel *c, struct build *out, char version[32], struct err *e)
{
    double start = clock_s();
    struct objcache_slot slot = { .lock = OBJCACHE_NO_LOCK };
    struct str text = {0};
    *out = (struct build){ .cached = false };
    if (!nvrtc_version(version, e))
        return false;
    str_printf(&text, "%s\n/* NVRTC %s, %s, file 2 */\n", source, version, arch);
    bool ok = make(&slot, &text, source, launches, arch, c, &out->cached, e);
    if (ok) {
        snprintf(out->so_path, sizeof out->so_path, "%s", slot.so_path);
        snprintf(out->c_path, sizeof out->c_path, "%s", slot.c_path);
    }
    objcache_drop(&slot);
    str_free(&text);
    out->seconds = clock_s() - start;
    return ok;
}
