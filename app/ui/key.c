#include "app/ui/key.h"

#include <string.h>
#include "app/ui/text.h"
#include "kernels/base/arena.h"

static const struct { int code; const char *name; } names[] = {
    {K_TAB, "Tab"}, {K_ENTER, "Enter"}, {K_ESC, "Esc"}, {K_BACKSPACE, "Backspace"}, {' ', "Space"},
    {K_UP, "Up"}, {K_DOWN, "Down"}, {K_LEFT, "Left"}, {K_RIGHT, "Right"}, {K_PGUP, "PgUp"},
    {K_PGDN, "PgDn"}, {K_HOME, "Home"}, {K_END, "End"}, {K_INS, "Ins"}, {K_DEL, "Del"},
    {K_BACKTAB, "S-Tab"}, {K_SHIFT_UP, "S-Up"}, {K_SHIFT_DOWN, "S-Down"},
};

#define TITLE(id, name, title, way) title,
const char *const key_context_title[KEYS_COUNT] = { KEY_CONTEXTS(TITLE) };
#undef TITLE
#define NAME(id, name, title, way) name,
const char *const key_context_name[KEYS_COUNT] = { KEY_CONTEXTS(NAME) };
#undef NAME
#define WAY(id, name, title, way) way,
const char *const key_context_way[KEYS_COUNT] = { KEY_CONTEXTS(WAY) };
#undef WAY

int key_context_find(const char *name)
{
    for (int i = 0; i < KEYS_COUNT; i++)
        if (streq(key_context_name[i], name))
            return i;
    return -1;
}

int key_parse(const char *name)
{
    for (int i = 0; i < COUNT_OF(names); i++)
        if (streq(names[i].name, name))
            return names[i].code;
    long long f;
    if (name[0] == 'F' && str_to_int64(name + 1, 1, 12, &f))
        return K_F1 + (int)f - 1;
    if (name[0] == 'C' && name[1] == '-' && name[2] >= 'a' && name[2] <= 'z' && name[3] == 0)
        return K_CTRL(name[2]);
    const char *rest = name;
    uint32_t cp = utf8_next(&rest);
    return cp > ' ' && *rest == 0 ? (int)cp : K_NONE;
}

void key_text(struct str *out, int key)
{
    for (int i = 0; i < COUNT_OF(names); i++)
        if (names[i].code == key) {
            str_add(out, names[i].name);
            return;
        }
    if (key >= K_F1 && key <= K_F12) {
        str_printf(out, "F%d", key - K_F1 + 1);
    } else if (key > 0 && key < 27) {
        str_printf(out, "C-%c", key - 1 + 'a');
    } else if (key > ' ' && key < K_UP) {
        char utf8[5];
        text_utf8_put(utf8, (uint32_t)key);
        str_add(out, utf8);
    } else {
        str_add(out, "an unknown key");
    }
}

int key_action_lines(enum key_action action, int rows)
{
    int page = rows > 2 ? rows - 1 : 1;
    int half = page > 1 ? page / 2 : 1;
    switch ((int)action) {
    case ACTION_UP: return -1;
    case ACTION_DOWN: return 1;
    case ACTION_PAGE_UP: return -page;
    case ACTION_PAGE_DOWN: return page;
    case ACTION_HALF_UP: return -half;
    case ACTION_HALF_DOWN: return half;
    default: return 0;
    }
}

static const struct key_binding bindings[] = {
#define BIND(context, keys, action, line, label, help) \
    {KEYS_##context, keys, ACTION_##action, line, label, help},
#include "app/ui/keys.def"
#undef BIND
};

static struct { const struct key_binding *at; int n; } added;      /* the user's bindings */

void key_bindings_add(const struct key_binding *own, int n)
{
    added.at = own;
    added.n = n;
}

int key_binding_count(void)
{
    return added.n + COUNT_OF(bindings);
}

const struct key_binding *key_binding_get(int i)
{
    return i < added.n ? &added.at[i] : &bindings[i - added.n];
}

/* Copies the next word of *s, up to a blank, into word, and moves *s behind it. Returns false at
 * the end. */
static bool next_word(const char **s, char *word, size_t size)
{
    while (**s == ' ')
        *s += 1;
    size_t n = 0;
    for (; **s && **s != ' '; *s += 1)
        if (n + 1 < size)
            word[n++] = **s;
    word[n] = 0;
    return n > 0;
}

bool key_binding_has(const struct key_binding *b, int key)
{
    char word[16];
    for (const char *s = b->keys; next_word(&s, word, sizeof word);)
        if (key_parse(word) == key)
            return true;
    return false;
}

static const struct key_binding *find(const struct key_binding *of, int n_of,
                                      const enum key_context *chain, int n, int key)
{
    for (int c = 0; c < n; c++)
        for (int i = 0; i < n_of; i++)
            if (of[i].context == chain[c] && key_binding_has(&of[i], key))
                return &of[i];
    return NULL;
}

const struct key_binding *key_binding_find(const enum key_context *chain, int n, int key)
{
    const struct key_binding *own = find(added.at, added.n, chain, n, key);
    return own ? own : find(bindings, COUNT_OF(bindings), chain, n, key);
}

bool key_binding_shadowed(const enum key_context *chain, int n, const struct key_binding *b)
{
    char word[16];
    bool here = false;
    for (int i = 0; i < n; i++)
        here = here || chain[i] == b->context;
    for (const char *s = b->keys; here && next_word(&s, word, sizeof word);) {
        const struct key_binding *first = key_binding_find(chain, n, key_parse(word));
        here = first && first != b;
    }
    return here;
}

void key_binding_key(struct str *out, const struct key_binding *b)
{
    char word[16];
    const char *s = b->keys;
    if (next_word(&s, word, sizeof word))
        str_add(out, word);
}

const char *key_binding_ellipsis(const struct key_binding *b)
{
    return b->action == ACTION_ASK && b->line[0] ? "…" : "";
}
