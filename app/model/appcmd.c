#include "app/model/appcmd.h"

#include <stdio.h>
#include <string.h>
#include "explorer/history/command.h"
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

int appcmd_find(const char *name, size_t n)
{
    for (int i = 0; i < APP_COUNT; i++)
        if (strlen(infos[i].name) == n && strncmp(infos[i].name, name, n) == 0)
            return i;
    return -1;
}

/* Does a word end right before text[n]? */
static bool ends_word(const char *text, size_t n)
{
    return text[n - 1] != ' ' && (text[n] == ' ' || text[n] == 0);
}

bool appcmd_row_next(const char **text, struct appcmd_row *row)
{
    const char *p = *text, *end = p + strcspn(p, "\n"), *gap = strstr(p, "  ");
    if (*p == 0)
        return false;
    if (!gap || gap > end)
        gap = end;
    const char *help = gap + strspn(gap, " ");
    snprintf(row->left, sizeof row->left, "%.*s", (int)(gap - p), p);
    snprintf(row->help, sizeof row->help, "%.*s", help < end ? (int)(end - help) : 0, help);
    size_t n = strspn(row->left, "abcdefghijklmnopqrstuvwxyz_ ");
    while (n > 0 && !ends_word(row->left, n))
        n--;
    snprintf(row->name, sizeof row->name, "%.*s", (int)n, row->left);
    *text = end + (*end == '\n');
    return true;
}

void appcmd_nearest(const char *line, struct str *out)
{
    VEC(const char *) names = {0};
    struct arena *a = arena_new();
    struct str text = {0};
    struct appcmd_row row;
    line += strspn(line, " ");
    const char *word = arena_strndup(a, line, strcspn(line, " "));
    command_help(&text);
    for (const char *p = str_text(&text); appcmd_row_next(&p, &row);)
        vec_push(&names, arena_strndup(a, row.name, strcspn(row.name, " ")));
    for (int i = 0; i < APP_COUNT; i++)
        vec_push(&names, infos[i].name);
    const char *near = str_nearest(word, names.data, names.len);
    if (near)
        str_printf(out, "did you mean %s?", near);
    else
        str_add(out, "? lists them all, Tab completes");
    vec_free(&names);
    str_free(&text);
    arena_free(a);
}

/* Does line start with these words, as words? */
static bool begins(const char *line, const char *words)
{
    size_t n = strlen(words);
    return n > 0 && strncmp(line, words, n) == 0 && (line[n] == ' ' || line[n] == 0);
}

void appcmd_hint(const char *line, struct str *out)
{
    struct str text = {0};
    struct appcmd_row row;
    line += strspn(line, " ");
    command_help(&text);
    for (const char *p = str_text(&text); appcmd_row_next(&p, &row);)
        if (begins(line, row.name)) {
            str_printf(out, "%s: %s", row.left, row.help);
            break;
        }
    str_free(&text);
    int id = out->len == 0 ? appcmd_find(line, strcspn(line, " ")) : -1;
    if (id >= 0) {
        const struct appcmd_info *i = &infos[id];
        str_printf(out, "%s%s%s: %s", i->name, i->syntax[0] ? " " : "", i->syntax, i->help);
    }
}
