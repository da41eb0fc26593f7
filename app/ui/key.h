/* Keys: one integer per key, their names, and the table of bindings (keys.def); and the mouse. */
#ifndef TS_APP_KEY_H
#define TS_APP_KEY_H
#include <stdbool.h>
#include "kernels/base/str.h"

/* A key is a Unicode code point, a control character (1..31), or one of these.  K_ALT is added to a
 * key that was typed with Alt; terminals send such a key as Esc followed by the key. */
enum key_code {
    K_NONE = 0, K_TAB = 9, K_ENTER = 13, K_ESC = 27, K_BACKSPACE = 127,
    K_UP = 0x110000, K_DOWN, K_LEFT, K_RIGHT, K_PGUP, K_PGDN, K_HOME, K_END, K_INS, K_DEL,
    K_BACKTAB, K_SHIFT_UP, K_SHIFT_DOWN,
    K_WORD_LEFT, K_WORD_RIGHT,           /* Left and Right with Ctrl or Alt, for the prompt */
    K_F1, K_F12 = K_F1 + 11,
    K_ALT = 0x200000
};
#define K_CTRL(letter) ((letter) & 31)

/* Parses "S", "C-r", "PgDn", "S-Up", "F1" or "Enter"; K_NONE for other names. */
int key_parse(const char *name);
void key_text(struct str *out, int key);

struct mouse_event { int x, y; bool press, double_click; int wheel; };    /* wheel: -1 up, 1 down */

/* The parts of the screen to which keys belong: X(id, name in settings, title in help, way). way:
 * how a user gets to this part in a session; "": no key is needed; NULL: no key leads there. */
#define KEY_CONTEXTS(X) \
    X(NEST, "nest", "On a loop", "1 shows the nest: move to a line that begins with `for`") \
    X(ACCESS, "access", "On an access to memory", "1 shows the nest: Right goes to an access") \
    X(LAYOUT, "layout", "On a tensor's layout", "3 shows the layouts") \
    X(CODE, "code", "On a line of C or assembly", "4 shows the C, 5 the assembly") \
    X(PROFILE, "profile", "On a row of misses", "6 shows the profile") \
    X(GRAPH, "graph", "On a tensor of the graph", "7 shows the graph") \
    X(TUNE, "tune", "On a trial of the tuner", "9 shows the tuner") \
    X(COMPARE, "compare", "In the comparison", "= shows the comparison with a marked state") \
    X(LENS, "lens", "In the cache lens", "L shows the cache lens") \
    X(HELD, "held", "On a step that no longer applies", NULL) \
    X(LEDGER, "steps", "On a step", "Tab goes to the steps") \
    X(NETWORK, "network", "On a kernel of a network", NULL) \
    X(VIEW, "view", "In a view", "") \
    X(BRANCH, "branches", "In the list of branches", "B lists the branches") \
    X(START, "start", "On the start screen", NULL) \
    X(MOVE, "moving", "Moving", "") \
    X(WORK, "session", "In a session", "") \
    X(ANY, "everywhere", "Everywhere", "")
enum key_context {
#define CONTEXT(id, name, title, way) KEYS_##id,
    KEY_CONTEXTS(CONTEXT)
#undef CONTEXT
    KEYS_COUNT
};
extern const char *const key_context_title[KEYS_COUNT], *const key_context_name[KEYS_COUNT],
                  *const key_context_way[KEYS_COUNT];
int key_context_find(const char *name);  /* by its name in settings; -1: no such context */

enum key_action {
    ACTION_RUN, ACTION_ASK, ACTION_TOGGLE, ACTION_MOVE_OUT, ACTION_MOVE_IN, ACTION_MENU,
    ACTION_SEARCH, ACTION_FIND_NEXT, ACTION_FIND_PREV,
    ACTION_UP, ACTION_DOWN, ACTION_LEFT, ACTION_RIGHT, ACTION_PAGE_UP, ACTION_PAGE_DOWN,
    ACTION_HALF_UP, ACTION_HALF_DOWN, ACTION_TOP, ACTION_BOTTOM, ACTION_ITEM_PREV, ACTION_ITEM_NEXT,
    ACTION_OPEN, ACTION_SAVE_AS, ACTION_DISCARD, ACTION_BACK, ACTION_CANCEL, ACTION_QUIT
};

/* Returns by how many lines an action moves the cursor in a pane of `rows` rows; negative: upwards;
 * 0: the action does not move by lines. */
int key_action_lines(enum key_action action, int rows);

struct key_binding {
    enum key_context context;
    const char *keys;                 /* names of keys, separated by blanks */
    enum key_action action;
    const char *line, *label, *help;
};
/* Puts the n bindings of the user before the bindings of keys.def, so that they are found first.
 * The caller owns `own`, which must stay valid until the next call. */
void key_bindings_add(const struct key_binding *own, int n);
int key_binding_count(void);
const struct key_binding *key_binding_get(int i);
bool key_binding_has(const struct key_binding *b, int key);
/* Returns the first binding of key in the n contexts of `chain`, in their order; NULL: there is
 * none. Searches the bindings of the user in all n contexts first, then those of keys.def. */
const struct key_binding *key_binding_find(const enum key_context *chain, int n, int key);
/* Whether the context of b is in the chain, but all keys of b have other bindings there. */
bool key_binding_shadowed(const enum key_context *chain, int n, const struct key_binding *b);
/* Appends the name of the first key of a binding. */
void key_binding_key(struct str *out, const struct key_binding *b);
/* Returns what ends the label and the help of a key, as in a menu: "…" if the key only begins a
 * step or command, else "". */
const char *key_binding_ellipsis(const struct key_binding *b);
#endif
