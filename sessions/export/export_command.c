#include "sessions/export/export_command.h"

#include <elf.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include "kernels/base/file.h"
#include "profile/build/build.h"

void export_put_word(struct str *out, const char *text)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "_-+=./";
    str_add(out, text[0] == '-' ? "./" : "");
    if (!text[strspn(text, plain)]) {
        str_add(out, text);
        return;
    }
    str_add_char(out, '\'');
    for (const char *c = text; *c; c++)
        str_printf(out, *c == '\'' ? "'\\''" : "%c", *c);
    str_add_char(out, '\'');
}

/* Whether writing a program to this path would destroy something: the path exists, and is no ELF
 * file. Permissions do not show what is a program: on some file systems, every file has the
 * permission to be executed. */
static bool is_taken(const char *path)
{
    char start[SELFMAG] = {0};
    struct stat st;
    if (stat(path, &st) != 0)
        return false;
    FILE *f = S_ISREG(st.st_mode) ? fopen(path, "rb") : NULL;
    bool program = f && fread(start, 1, sizeof start, f) == sizeof start
                && memcmp(start, ELFMAG, SELFMAG) == 0;
    if (f)
        fclose(f);
    return !program;
}

/* Appends the name of the program that is made from a C file: the file's name without .c, or, if it
 * has no .c, with .out added.  Adds .out again while a file with this name exists that is no
 * program. */
static void add_binary(struct str *out, const char *file)
{
    str_printf(out, "%s%s", strchr(file, '/') ? "" : "./", file);
    if (str_ends(file, ".c"))
        out->data[out->len -= 2] = '\0';
    else
        str_add(out, ".out");
    while (is_taken(str_text(out)))
        str_add(out, ".out");
}

/* Replaces a path by `prefix` and the last part of the path. */
static void put_base_name(struct str *path, const char *prefix)
{
    struct str name = {0};
    str_printf(&name, "%s%s", prefix, strrchr(str_text(path), '/') + 1);
    str_free(path);
    *path = name;
}

bool export_put_command(struct str *out, const struct export_command *how, struct err *e)
{
    struct compiler cc = { .path = "gcc" };
    struct err ignored;
    bool named = how->file && !streq(how->file, "-");
    struct str file = {0}, binary = {0};
    if (!compiler_find(how->compiler, &cc, how->compiler ? e : &ignored) && how->compiler)
        return false;
    str_add(&file, named ? how->file : "kernel.c");
    add_binary(&binary, str_text(&file));
    if (how->beside && strchr(str_text(&file), '/')) {
        put_base_name(&file, "");
        put_base_name(&binary, "./");
    }
    if (file_exists(cc.path))             /* else it may be several words: "ccache gcc" */
        export_put_word(out, cc.path);
    else
        str_add(out, cc.path);
    for (const char *const *f = target_flags(how->target, cc.is_clang); *f; f++)
        if (!how->autovectorize || !target_binds(*f))
            str_printf(out, " %s", *f);
    str_add(out, how->threads > 0 ? " -fopenmp " : " ");
    bool known = str_ends(str_text(&file), ".c");        /* else compilers expect an object file */
    str_add(out, known ? "" : "-x c ");
    export_put_word(out, str_text(&file));
    str_add(out, known ? " -o " : " -x none -o ");
    export_put_word(out, str_text(&binary));
    str_add(out, " -lm && ");
    if (how->threads > 0)
        str_printf(out, "OMP_NUM_THREADS=%d ", how->threads);
    export_put_word(out, str_text(&binary));
    str_free(&file);
    str_free(&binary);
    return true;
}
