#include "app/model/appcmd.h"

#include <stdio.h>
#include <string.h>
#include "kernels/base/vec.h"

static const struct appcmd_info infos[] = {
#define APP_COMMAND(id, name, syntax, session, help) {name, syntax, session, help},
#include "app/model/appcmd.def"
#undef APP_COMMAND
};

const struct appcmd_info *appcmd_info(enum app_command id)
{
    return &infos[id];
}

/* Names that steps and commands have in other programs. */
static const struct { const char *name, *words; } synonyms[] = {
    { "e", "open load read" }, { "w", "save write" }, { "q", "quit exit close" },
    { "measure", "run time bench" }, { "drop", "remove" },
    { "source", "macro macros record recording" }, { "loop split", "tile strip_mine" },
    { "loop reorder", "interchange permute" }, { "loop parallel", "parallelize" },
};

const char *appcmd_synonyms(const char *name)
{
    for (int i = 0; i < COUNT_OF(synonyms); i++)
        if (streq(synonyms[i].name, name))
            return synonyms[i].words;
    return "";
}

int appcmd_by_synonym(const char *line)
{
    for (int i = 0; i < appcmd_rows(); i++) {
        const char *p = appcmd_synonyms(appcmd_row(i).name);
        for (; *p; p += strcspn(p, " "), p += strspn(p, " ")) {
            size_t n = strcspn(p, " ");
            if (strcspn(line, " ") == n && strncmp(p, line, n) == 0)
                return i;
        }
    }
    return -1;
}

int appcmd_find(const char *name, size_t n)
{
    for (int i = 0; i < APP_COUNT; i++)
        if (strlen(infos[i].name) == n && strncmp(infos[i].name, name, n) == 0)
            return i;
    /* only the synonyms of e, w and q are accepted, because users type these */
    int row = appcmd_by_synonym(name);
    bool word = row >= 0 && strcspn(name, " ") == n;
    int id = row - command_rows();
    return word && (id == APP_OPEN || id == APP_WRITE || id == APP_QUIT) ? id : -1;
}

int appcmd_rows(void)
{
    return command_rows() + APP_COUNT;
}

struct command_row appcmd_row(int i)
{
    const struct appcmd_info *a = &infos[i < command_rows() ? 0 : i - command_rows()];
    struct command_row row = { .syntax = a->syntax, .help = a->help };
    if (i < command_rows())
        return command_row(i);
    snprintf(row.name, sizeof row.name, "%s", a->name);
    return row;
}

void appcmd_nearest(const char *line, struct str *out)
{
    VEC(const char *) names = {0};
    struct arena *a = arena_new();
    line += strspn(line, " ");
    const char *word = arena_strndup(a, line, strcspn(line, " "));
    for (int i = 0; i < appcmd_rows(); i++) {
        struct command_row row = appcmd_row(i);
        vec_push(&names, arena_strndup(a, row.name, strcspn(row.name, " ")));
    }
    const char *near = str_nearest(word, names.data, names.len);
    int same = appcmd_by_synonym(word);
    if (same >= 0) {
        struct command_row row = appcmd_row(same);
        str_add(out, "did you mean ");
        command_row_print(out, &row);
        str_printf(out, "? (%s)", row.help);
    } else if (near)
        str_printf(out, "did you mean %s?", near);
    else
        str_add(out, "? lists them all, Tab completes");
    vec_free(&names);
    arena_free(a);
}

bool appcmd_known(const char *line)
{
    size_t n = strcspn(line, " ");
    bool known = false;
    for (int i = 0; i < appcmd_rows() && n > 0; i++) {
        struct command_row row = appcmd_row(i);
        known = known || (strcspn(row.name, " ") == n && strncmp(row.name, line, n) == 0);
    }
    return known;
}

void appcmd_hint(const char *line, struct str *out)
{
    line += strspn(line, " ");
    for (int i = 0; i < appcmd_rows(); i++) {
        struct command_row row = appcmd_row(i);
        if (str_begins(line, row.name)) {
            command_row_print(out, &row);
            str_printf(out, ": %s", row.help);
            return;
        }
    }
}
