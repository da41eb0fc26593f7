#include "app/ui/term.h"

#include <curses.h>
#include <langinfo.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <term.h>
#include <termios.h>
#include <unistd.h>
#include "app/ui/key.h"
#include "kernels/base/arena.h"
#include "kernels/base/subprocess.h"

/* Key codes that curses does not use: the marks around a paste, a mouse event, and two keys. */
#define KEY_PASTE_BEGIN 01777
#define KEY_PASTE_END 01776
#define KEY_MOUSE_SGR 01775              /* followed by "BUTTON;X;YM" */
#define KEY_WORD_LEFT 01774              /* C-Left or Alt-Left */
#define KEY_WORD_RIGHT 01773
#define COPY_MAX 74000                   /* most bytes of text in one OSC 52, before base64 */
#define DOUBLE_CLICK_S 0.35
#define ESC_DELAY_MS 10  /* Esc is the key itself if no further byte arrives within this time */

struct look { attr_t attr; short pair; };

struct terminal {
    SCREEN *screen;
    bool unicode, colours, mouse;
    /* whether it has 8 colours; then it is taken to understand private sequences (paste, mouse,
     * clipboard) */
    bool fancy;
    struct look look[STYLE_COUNT];
    bool no_color;                     /* no colours, whatever the theme says */
    double clicked_at;
    int clicked_x, clicked_y;
};

/* The data that restore the terminal: its old mode, and bytes to write. They are prepared early,
 * because a signal handler cannot ask curses for them. */
static struct {
    volatile sig_atomic_t armed;
    struct termios cooked;
    char bytes[512];
    size_t n;
} rescue;

/* Adds a capability to `rescue`, without its padding ("$<5>"). */
static void add_rescue(const char *s)
{
    while (s && s != (const char *)-1 && *s && rescue.n + 1 < sizeof rescue.bytes) {
        if (s[0] == '$' && s[1] == '<' && strchr(s, '>'))
            s = strchr(s, '>') + 1;
        else
            rescue.bytes[rescue.n++] = *s++;
    }
}

static const char *capability(const char *name)
{
    char copy[16];
    snprintf(copy, sizeof copy, "%s", name);
    const char *s = tigetstr(copy);
    return s && s != (const char *)-1 ? s : NULL;
}

static void prepare_rescue(const struct terminal *t)
{
    static const char *const last[] = {"sgr0", "rmkx", "cnorm", "rmcup"};
    rescue.armed = 0;
    rescue.n = 0;
    if (t->fancy)
        add_rescue("\033[?2004l");
    if (t->fancy && t->mouse)
        add_rescue("\033[?1006l\033[?1000l");
    if (!capability("rmcup") && capability("cup")) {
        add_rescue(tiparm(capability("cup"), LINES - 1, 0));
        add_rescue(capability("el"));
    }
    for (int i = 0; i < COUNT_OF(last); i++)
        add_rescue(capability(last[i]));
    rescue.armed = 1;
}

void term_rescue(void)
{
    if (!rescue.armed)
        return;
    rescue.armed = 0;
    for (size_t at = 0; at < rescue.n;) {
        ssize_t n = write(STDOUT_FILENO, rescue.bytes + at, rescue.n - at);
        if (n <= 0)
            break;
        at += (size_t)n;
    }
    tcsetattr(STDIN_FILENO, TCSANOW, &rescue.cooked);
}

/* --- Crashes ---------------------------------------------------------------------------------- */

static const int crashes[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
static struct sigaction old_action[COUNT_OF(crashes)];

/* Restores the terminal, then lets the signal act as if it were not caught. */
static void on_crash(int sig)
{
    static const char text[] =
        "tilescope crashed.  Unsaved changes are offered at the next start.\n";
    bool first = rescue.armed;
    term_rescue();
    if (first && write(STDERR_FILENO, text, sizeof text - 1) < 0)
        first = false;
    for (int i = 0; i < COUNT_OF(crashes); i++)
        if (crashes[i] == sig)
            sigaction(sig, &old_action[i], NULL);
    raise(sig);
}

/* Installs on_crash. It has a stack of its own, because a stack overflow is a crash, too. */
static void catch_crashes(void)
{
    static char stack[64 * 1024];
    stack_t own = {.ss_sp = stack, .ss_size = sizeof stack};
    struct sigaction act = {.sa_handler = on_crash, .sa_flags = SA_ONSTACK};
    sigaltstack(&own, NULL);
    sigemptyset(&act.sa_mask);
    for (int i = 0; i < COUNT_OF(crashes); i++)
        sigaction(crashes[i], &act, &old_action[i]);
}

static void leave_crashes(void)
{
    for (int i = 0; i < COUNT_OF(crashes); i++)
        sigaction(crashes[i], &old_action[i], NULL);
}

/* The look of each style. many: its colours on a terminal with 256 colours, in the themes auto,
 * dark and light (middle, bright and dark tones). few, few_light: its colour on a terminal with
 * fewer colours; few_light in the theme light, where cyan and yellow are not legible, and few in
 * auto and dark. -1: the terminal's own colour. colour: its attributes if colours are used (on a
 * terminal with fewer than 256 colours, DIM and RULE get A_DIM instead); mono: its attributes
 * without colours. (ORDER STYLE) */
static const struct { short many[THEME_MONO], few, few_light; attr_t colour, mono; }
looks[STYLE_COUNT] = {
    [STYLE_PLAIN] = {{-1, -1, -1}, -1, -1, A_NORMAL, A_NORMAL},
    [STYLE_DIM] = {{244, 247, 241}, -1, -1, A_NORMAL, A_NORMAL},
    [STYLE_STRONG] = {{-1, -1, -1}, -1, -1, A_BOLD, A_BOLD},
    [STYLE_RULE] = {{244, 240, 248}, -1, -1, A_NORMAL, A_NORMAL},
    [STYLE_TITLE] = {{31, 80, 24}, COLOR_CYAN, COLOR_BLUE, A_BOLD, A_BOLD},
    [STYLE_TAB] = {{31, 80, 24}, COLOR_CYAN, COLOR_BLUE, A_BOLD | A_REVERSE, A_BOLD | A_REVERSE},
    [STYLE_KEY] = {{31, 80, 24}, COLOR_CYAN, COLOR_BLUE, A_BOLD, A_BOLD},
    [STYLE_GOOD] = {{28, 77, 22}, COLOR_GREEN, COLOR_GREEN, A_NORMAL, A_NORMAL},
    [STYLE_BAD] = {{160, 203, 124}, COLOR_RED, COLOR_RED, A_NORMAL, A_BOLD},
    [STYLE_WORD] = {{31, 80, 24}, COLOR_CYAN, COLOR_BLUE, A_NORMAL, A_NORMAL},
    [STYLE_NOTE] = {{133, 177, 90}, COLOR_MAGENTA, COLOR_MAGENTA, A_NORMAL, A_BOLD},
    [STYLE_MATCH] = {{136, 178, 94}, COLOR_YELLOW, COLOR_RED, A_REVERSE, A_UNDERLINE | A_BOLD},
    /* Close to the colours of Okabe and Ito (sessions/report/chart.h), for colour-blind readers. */
    [STYLE_SERIES] = {{32, 75, 25}, COLOR_BLUE, COLOR_BLUE, A_NORMAL, A_NORMAL},
    [STYLE_SERIES + 1] = {{172, 214, 130}, COLOR_YELLOW, -1, A_NORMAL, A_NORMAL},
    [STYLE_SERIES + 2] = {{36, 43, 29}, COLOR_GREEN, COLOR_GREEN, A_NORMAL, A_NORMAL},
    [STYLE_SERIES + 3] = {{175, 182, 132}, COLOR_MAGENTA, COLOR_MAGENTA, A_NORMAL, A_NORMAL},
    [STYLE_SERIES + 4] = {{166, 209, 124}, COLOR_RED, COLOR_RED, A_NORMAL, A_NORMAL},
};

short term_colour(enum style style, enum theme theme, int colours)
{
    if (colours >= 256)
        return looks[style].many[theme];
    return theme == THEME_LIGHT ? looks[style].few_light : looks[style].few;
}

const char *const theme_name[THEME_COUNT] = { "auto", "dark", "light", "mono" };

bool theme_find(const char *name, enum theme *out)
{
    for (int i = 0; i < THEME_COUNT; i++)
        if (streq(name, theme_name[i])) {
            *out = (enum theme)i;
            return true;
        }
    return false;
}

void term_theme(struct terminal *t, enum theme theme)
{
    const char *no_color = getenv("NO_COLOR");
    bool colour = !t->no_color && theme < THEME_MONO && has_colors()
               && !(no_color && no_color[0]);
    t->colours = colour;
    if (colour) {
        start_color();
        use_default_colors();
    }
    for (short s = 0; s < STYLE_COUNT; s++) {
        t->look[s] = (struct look){ .attr = colour ? looks[s].colour : looks[s].mono };
        short foreground = colour ? term_colour((enum style)s, theme, COLORS) : -1;
        if (foreground < 0)
            continue;
        init_pair((short)(s + 1), foreground, -1);
        t->look[s].pair = (short)(s + 1);
    }
    if (colour && COLORS < 256)
        t->look[STYLE_DIM].attr = t->look[STYLE_RULE].attr = A_DIM;
}

/* Writes an escape sequence to the terminal, without curses. The mouse is switched on in this way
 * for two reasons. curses goes on waiting in getch after a mouse event that its mousemask excludes;
 * and it supports SGR coordinates only for some values of $TERM. */
static void send(const char *s)
{
    fflush(stdout);
    for (size_t left = strlen(s); left > 0;) {
        ssize_t n = write(STDOUT_FILENO, s, left);
        if (n <= 0)
            return;
        s += n;
        left -= (size_t)n;
    }
}

static void private_modes(const struct terminal *t, bool on)
{
    if (t->fancy)
        send(on ? "\033[?2004h" : "\033[?2004l");
    if (t->fancy && t->mouse)
        send(on ? "\033[?1000h\033[?1006h" : "\033[?1006l\033[?1000l");
}

void term_interrupts(bool yes)
{
    struct termios t;
    if (tcgetattr(STDIN_FILENO, &t) != 0)
        return;
    t.c_lflag = yes ? t.c_lflag | ISIG : t.c_lflag & ~(tcflag_t)ISIG;
    t.c_cc[VINTR] = 'C' & 0x1f;
    t.c_cc[VQUIT] = t.c_cc[VSUSP] = _POSIX_VDISABLE;
    tcsetattr(STDIN_FILENO, TCSANOW, &t);
}

/* The sequences of keys on many terminals, because $TERM often names another terminal than the user
 * has: tmux, screen, xterm, rxvt and the Linux console differ in Home, End and the arrows. */
static const struct { const char *text; int key; } sequence[] = {
    {"\033[200~", KEY_PASTE_BEGIN}, {"\033[201~", KEY_PASTE_END}, {"\033[<", KEY_MOUSE_SGR},
    {"\033[1;5D", KEY_WORD_LEFT}, {"\033[1;3D", KEY_WORD_LEFT},
    {"\033[1;5C", KEY_WORD_RIGHT}, {"\033[1;3C", KEY_WORD_RIGHT},
    {"\033[A", KEY_UP}, {"\033[B", KEY_DOWN}, {"\033[C", KEY_RIGHT}, {"\033[D", KEY_LEFT},
    {"\033OA", KEY_UP}, {"\033OB", KEY_DOWN}, {"\033OC", KEY_RIGHT}, {"\033OD", KEY_LEFT},
    {"\033[1~", KEY_HOME}, {"\033[7~", KEY_HOME}, {"\033[H", KEY_HOME}, {"\033OH", KEY_HOME},
    {"\033[4~", KEY_END}, {"\033[8~", KEY_END}, {"\033[F", KEY_END}, {"\033OF", KEY_END},
    {"\033[2~", KEY_IC}, {"\033[3~", KEY_DC}, {"\033[5~", KEY_PPAGE}, {"\033[6~", KEY_NPAGE},
    {"\033[Z", KEY_BTAB}, {"\033[1;2A", KEY_SR}, {"\033[1;2B", KEY_SF},
};

static void set_modes(void)
{
    raw();
    noecho();
    nonl();
    keypad(stdscr, TRUE);
    nodelay(stdscr, TRUE);
    set_escdelay(ESC_DELAY_MS);
    for (int i = 0; i < COUNT_OF(sequence); i++)
        define_key(sequence[i].text, sequence[i].key);
}

/* Whether the terminal can move its cursor, which drawing needs. */
static bool can_address(void)
{
    return capability("cup") != NULL;
}

bool term_open(const struct term_opts *o, struct terminal **out, struct err *e)
{
    const char *name = getenv("TERM");
    if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO)) {
        err_set(e, ERR_ENV, "the screen needs a terminal on standard input and output");
        return err_fix(e, "without one, `tilescope run` and `tilescope show` do the same work");
    }
    struct terminal *t = xcalloc(1, sizeof *t);
    tcgetattr(STDIN_FILENO, &rescue.cooked);
    t->screen = newterm(NULL, stdout, stdin);
    if (!t->screen || !can_address()) {
        if (t->screen) {
            endwin();
            delscreen(t->screen);
        }
        free(t);
        err_set(e, ERR_ENV, "the terminal \"%.60s\" (from $TERM) cannot show a screen",
                name ? name : "");
        return err_fix(e, "TERM=xterm-256color is right for most terminals");
    }
    set_term(t->screen);
    t->unicode = !o->no_unicode && streq(nl_langinfo(CODESET), "UTF-8");
    t->mouse = !o->no_mouse;
    t->fancy = tigetnum("colors") >= 8;
    t->no_color = o->no_color;
    term_theme(t, o->theme);
    set_modes();
    private_modes(t, true);
    prepare_rescue(t);
    catch_crashes();
    fail_set_hook(term_rescue);
    *out = t;
    return true;
}

/* Leaves the screen.  On a terminal without an alternate screen, clears the last line for the
 * shell. */
static void leave_screen(struct terminal *t)
{
    private_modes(t, false);
    if (!capability("rmcup")) {
        move(LINES - 1, 0);
        clrtoeol();
        refresh();
    }
    endwin();
    rescue.armed = 0;
}

void term_close(struct terminal *t)
{
    if (!t)
        return;
    leave_screen(t);
    delscreen(t->screen);
    leave_crashes();
    fail_set_hook(NULL);
    free(t);
}

bool term_unicode(const struct terminal *t)
{
    return t->unicode;
}

bool term_colours(const struct terminal *t)
{
    return t->colours;
}

void term_size(const struct terminal *t, int *w, int *h)
{
    getmaxyx(stdscr, *h, *w);
    prepare_rescue(t);
}

static void draw_cell(const struct terminal *t, int x, int y, const struct grid_cell *c)
{
    wchar_t text[2] = {(wchar_t)c->ch, 0};
    cchar_t cc;
    const struct look *l = &t->look[c->style & ~STYLE_REVERSE];
    attr_t attr = c->style & STYLE_REVERSE ? l->attr ^ A_REVERSE : l->attr;
    setcchar(&cc, text, attr, l->pair, NULL);
    mvadd_wch(y, x, &cc);
}

void term_draw(struct terminal *t, const struct grid *g)
{
    erase();
    for (int y = 0; y < g->h; y++)
        for (int x = 0; x < g->w; x++) {
            const struct grid_cell *c = grid_at(g, x, y);
            if (c->width > 0 && (c->ch != ' ' || c->style != STYLE_PLAIN))
                draw_cell(t, x, y, c);
        }
    curs_set(g->cursor_x >= 0);
    if (g->cursor_x >= 0)
        move(g->cursor_y, g->cursor_x);
    refresh();
}

void term_repaint(struct terminal *t)
{
    (void)t;
    clearok(curscr, TRUE);
}

/* --- Input ------------------------------------------------------------------------------------ */

static const struct { int curses, key; } special[] = {
    {KEY_UP, K_UP}, {KEY_DOWN, K_DOWN}, {KEY_LEFT, K_LEFT}, {KEY_RIGHT, K_RIGHT},
    {KEY_PPAGE, K_PGUP}, {KEY_NPAGE, K_PGDN}, {KEY_HOME, K_HOME}, {KEY_END, K_END},
    {KEY_IC, K_INS}, {KEY_DC, K_DEL},
    {KEY_BTAB, K_BACKTAB}, {KEY_SR, K_SHIFT_UP}, {KEY_SF, K_SHIFT_DOWN}, {KEY_ENTER, K_ENTER},
    {KEY_BACKSPACE, K_BACKSPACE}, {KEY_A1, K_HOME}, {KEY_A3, K_PGUP}, {KEY_C1, K_END},
    {KEY_C3, K_PGDN}, {KEY_WORD_LEFT, K_WORD_LEFT}, {KEY_WORD_RIGHT, K_WORD_RIGHT},
};

static int special_key(int code)
{
    for (int i = 0; i < COUNT_OF(special); i++)
        if (special[i].curses == code)
            return special[i].key;
    return code >= KEY_F(1) && code <= KEY_F(12) ? K_F1 + code - KEY_F(1) : K_NONE;
}

/* Reads a mouse event, "0;16;6M": button, column, row, and M for a press or m for a release.
 * Returns false if the program has no use for the event. */
static bool read_mouse(struct terminal *t, struct term_event *ev)
{
    char text[24] = "";
    int button = -1, x = 0, y = 0;
    char end = 0;
    wint_t ch;
    timeout(50);
    for (size_t n = 0; n + 1 < sizeof text && get_wch(&ch) == OK; n++) {
        text[n] = (char)ch;
        if (ch == 'M' || ch == 'm')
            break;
    }
    nodelay(stdscr, TRUE);
    if (sscanf(text, "%d;%d;%d%c", &button, &x, &y, &end) != 4 || end != 'M')
        return false;
    ev->kind = TERM_MOUSE;
    ev->mouse = (struct mouse_event){.x = x - 1, .y = y - 1, .press = button == 0};
    ev->mouse.wheel = button == 64 ? -1 : button == 65 ? 1 : 0;
    if (ev->mouse.press) {
        double now = clock_s();
        bool here = ev->mouse.x == t->clicked_x && ev->mouse.y == t->clicked_y;
        ev->mouse.double_click = here && now - t->clicked_at < DOUBLE_CLICK_S;
        t->clicked_at = ev->mouse.double_click ? 0 : now;
        t->clicked_x = ev->mouse.x;
        t->clicked_y = ev->mouse.y;
    }
    return ev->mouse.press || ev->mouse.wheel;
}

/* Reads the pasted text up to the closing mark, or until no input arrives for 200 ms. */
static void read_paste(struct term_event *ev)
{
    wint_t ch;
    ev->kind = TERM_PASTE;
    str_clear(&ev->text);
    timeout(200);
    int rc;
    while ((rc = get_wch(&ch)) != ERR && !(rc == KEY_CODE_YES && ch == KEY_PASTE_END)) {
        char utf8[8];
        mbstate_t state = {0};
        size_t n = rc == OK ? wcrtomb(utf8, (wchar_t)ch, &state) : 0;
        if (n > 0 && n < sizeof utf8)
            str_add_n(&ev->text, utf8, n);
    }
    nodelay(stdscr, TRUE);
}

/* Skips the rest of an unknown sequence "Esc [ ...", which would otherwise be read as letters.
 * Returns false if nothing follows the bracket: then the user typed Alt and the bracket. */
static bool skip_sequence(void)
{
    wint_t ch;
    int n = 0;
    while (get_wch(&ch) == OK) {
        n++;
        if (ch >= '@' && ch <= '~')
            break;
    }
    return n > 0;
}

/* Returns the key for a character that get_wch has read. If a printable character or Backspace
 * arrives together with Esc, the two are that key with Alt. K_NONE: an unknown sequence was
 * skipped. */
static int plain_key(wint_t ch)
{
    wint_t next;
    if (ch != K_ESC)
        return ch == 8 ? K_BACKSPACE : (int)ch;
    int rc = get_wch(&next);
    if ((rc == OK && next == 8) || (rc == KEY_CODE_YES && next == KEY_BACKSPACE))
        return K_ALT | K_BACKSPACE;
    if (rc == OK && next == '[' && skip_sequence())
        return K_NONE;
    if (rc == OK && next >= ' ')
        return K_ALT | (int)next;
    if (rc == OK)
        unget_wch((wchar_t)next);
    else if (rc == KEY_CODE_YES)
        ungetch((int)next);
    return K_ESC;
}

bool term_read(struct terminal *t, struct term_event *ev)
{
    wint_t ch;
    int rc;
    while ((rc = get_wch(&ch)) != ERR) {
        ev->kind = TERM_KEY;
        if (rc == KEY_CODE_YES && ch == KEY_RESIZE)
            ev->kind = TERM_RESIZE;
        else if (rc == KEY_CODE_YES && ch == KEY_PASTE_BEGIN)
            read_paste(ev);
        else if (rc == KEY_CODE_YES && ch == KEY_MOUSE_SGR && !read_mouse(t, ev))
            continue;
        else if (rc == KEY_CODE_YES)
            ev->key = special_key((int)ch);
        else
            ev->key = plain_key(ch);
        if (ev->kind != TERM_KEY || ev->key != K_NONE)
            return true;
    }
    return false;
}

/* Tells curses the size of the terminal if it has changed during a suspension. The terminal sends
 * SIGWINCH only to the processes in the foreground. */
static void catch_up_with_size(const struct winsize *before)
{
    struct winsize now;
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &now) == 0 && now.ws_row > 0 && now.ws_col > 0
        && (now.ws_row != before->ws_row || now.ws_col != before->ws_col))
        resizeterm(now.ws_row, now.ws_col);
}

void term_suspend(struct terminal *t)
{
    struct winsize before = {0};
    ioctl(STDOUT_FILENO, TIOCGWINSZ, &before);
    leave_screen(t);
    kill(0, SIGTSTP);
    catch_up_with_size(&before);
    clearok(curscr, TRUE);
    refresh();
    private_modes(t, true);
    prepare_rescue(t);
}

static void base64(struct str *out, const unsigned char *p, size_t n)
{
    static const char digit[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (size_t i = 0; i < n; i += 3) {
        unsigned v = (unsigned)p[i] << 16;
        v |= i + 1 < n ? (unsigned)p[i + 1] << 8 : 0;
        v |= i + 2 < n ? p[i + 2] : 0;
        str_add_char(out, digit[v >> 18]);
        str_add_char(out, digit[v >> 12 & 63]);
        str_add_char(out, i + 1 < n ? digit[v >> 6 & 63] : '=');
        str_add_char(out, i + 2 < n ? digit[v & 63] : '=');
    }
}

bool term_copy(struct terminal *t, const char *text, size_t n)
{
    struct str s = {0};
    if (!t->fancy || n > COPY_MAX)
        return false;
    str_add(&s, "\033]52;c;");
    base64(&s, (const unsigned char *)text, n);
    str_add(&s, "\a");
    send(str_text(&s));
    str_free(&s);
    return true;
}
