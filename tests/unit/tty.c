#include "tests/unit/tty.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <errno.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>
#include <vterm.h>
#include "app/ui/key.h"
#include "app/ui/text.h"
#include "kernels/base/arena.h"
#include "kernels/base/subprocess.h"
#include "tests/unit/fork_child.h"
#include "tests/unit/golden.h"
#undef fail                               /* ours; cmocka has its own */
#include <cmocka.h>

#define IDLE_LIMIT_S 10

static void to_program(const char *s, size_t n, void *ctx)
{
    const struct tty *t = ctx;
    while (n > 0) {
        ssize_t done = write(t->master, s, n);
        if (done <= 0)
            return;
        s += done;
        n -= (size_t)done;
    }
}

/* The program under test: ../tilescope, seen from this binary. */
static void program_path(char *out, size_t size)
{
    char self[400] = "";
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    char *slash = n > 0 ? strrchr(self, '/') : NULL;
    if (!slash)
        fail_msg("where is this test?");
    *slash = 0;
    snprintf(out, size, "%s/../tilescope", self);
}

static _Noreturn void run_program(const struct tty_opts *o, int idle)
{
    char path[512], fd[16];
    const char *argv[20] = {"tilescope"}, *const shell[] = {"bash", "-c", o->script, path};
    int n = o->script ? COUNT_OF(shell) : 1;
    program_path(path, sizeof path);
    if (o->script)
        memcpy(argv, shell, sizeof shell);
    for (int i = 0; i < 14 && o->argv && o->argv[i]; i++)
        argv[n + i] = o->argv[i];
    snprintf(fd, sizeof fd, "%d", idle);
    setenv("TILESCOPE_IDLE_FD", fd, 1);
    setenv("TERM", o->term ? o->term : "xterm-256color", 1);
    setenv("LC_ALL", o->locale ? o->locale : "C.UTF-8", 1);
    setenv("ASAN_OPTIONS", "exitcode=99:detect_leaks=0", 1);
    unsetenv("NO_COLOR");
    execvp(o->script ? "bash" : path, (char *const *)argv);
    _exit(127);
}

struct tty *tty_start(const struct tty_opts *o)
{
    struct tty *t = xcalloc(1, sizeof *t);
    struct winsize ws = {.ws_row = (unsigned short)o->h, .ws_col = (unsigned short)o->w};
    int idle[2];
    if (pipe(idle) != 0)
        fail_msg("no pipe");
    t->w = o->w;
    t->h = o->h;
    pid_t parent = getpid();
    t->pid = forkpty(&t->master, NULL, NULL, &ws);
    if (t->pid == 0) {
        end_with_parent(parent);
        close(idle[0]);
        run_program(o, idle[1]);
    }
    close(idle[1]);
    t->idle_fd = idle[0];
    t->vt = vterm_new(t->h, t->w);
    vterm_set_utf8(t->vt, !o->locale || strstr(o->locale, "UTF-8") != NULL);
    t->screen = vterm_obtain_screen(t->vt);
    vterm_screen_enable_altscreen(t->screen, 1);
    vterm_screen_reset(t->screen, 1);
    vterm_output_set_callback(t->vt, to_program, t);
    tty_wait_idle(t, o->limit_s > 0 ? o->limit_s : IDLE_LIMIT_S);
    return t;
}

/* Takes what the program has written; false at its end. */
static bool take_output(struct tty *t, int timeout_ms)
{
    struct pollfd p = {.fd = t->master, .events = POLLIN};
    char buf[4096];
    while (poll(&p, 1, timeout_ms) > 0) {
        ssize_t n = read(t->master, buf, sizeof buf);
        if (n <= 0)
            return false;
        vterm_input_write(t->vt, buf, (size_t)n);
        str_add_n(&t->bytes, buf, (size_t)n);
        timeout_ms = 0;
    }
    return true;
}

void tty_wait_idle(struct tty *t, int limit_s)
{
    double end = clock_s() + limit_s;
    for (;;) {
        struct pollfd p[2] = {
            {.fd = t->master, .events = POLLIN}, {.fd = t->idle_fd, .events = POLLIN},
        };
        char dot;
        int left_ms = (int)((end - clock_s()) * 1000);
        if (left_ms <= 0 || poll(p, 2, left_ms) <= 0)
            fail_msg("not idle after %d s:\n%s", limit_s, tty_screen(t));
        if (p[1].revents & POLLIN && read(t->idle_fd, &dot, 1) == 1)
            break;
        if (!take_output(t, 0) || p[1].revents & POLLHUP)
            return;                      /* the program has ended */
    }
    take_output(t, 0);
}

static bool special(struct tty *t, int key)
{
    static const struct { int key; VTermKey vt; VTermModifier mod; } table[] = {
        {K_UP, VTERM_KEY_UP, 0}, {K_DOWN, VTERM_KEY_DOWN, 0}, {K_LEFT, VTERM_KEY_LEFT, 0},
        {K_RIGHT, VTERM_KEY_RIGHT, 0}, {K_PGUP, VTERM_KEY_PAGEUP, 0},
        {K_PGDN, VTERM_KEY_PAGEDOWN, 0}, {K_HOME, VTERM_KEY_HOME, 0}, {K_END, VTERM_KEY_END, 0},
        {K_DEL, VTERM_KEY_DEL, 0}, {K_ENTER, VTERM_KEY_ENTER, 0}, {K_TAB, VTERM_KEY_TAB, 0},
        {K_BACKTAB, VTERM_KEY_TAB, VTERM_MOD_SHIFT}, {K_ESC, VTERM_KEY_ESCAPE, 0},
        {K_BACKSPACE, VTERM_KEY_BACKSPACE, 0}, {K_SHIFT_UP, VTERM_KEY_UP, VTERM_MOD_SHIFT},
        {K_SHIFT_DOWN, VTERM_KEY_DOWN, VTERM_MOD_SHIFT}, {K_F1, VTERM_KEY_FUNCTION(1), 0},
    };
    for (int i = 0; i < COUNT_OF(table); i++)
        if (table[i].key == key) {
            vterm_keyboard_key(t->vt, table[i].vt, table[i].mod);
            return true;
        }
    return false;
}

static void send_key(struct tty *t, int key)
{
    char byte = (char)key;
    if (special(t, key))
        return;
    if (key < ' ')
        to_program(&byte, 1, t);
    else
        vterm_keyboard_unichar(t->vt, (uint32_t)key, 0);
}

static void press_all(struct tty *t, const char *keys, bool wait_for_last)
{
    char copy[512], *rest = copy;
    snprintf(copy, sizeof copy, "%s", keys);
    for (char *word = strsep(&rest, " "); word; word = strsep(&rest, " ")) {
        int key = key_parse(word);
        const char *c = word;
        do {
            send_key(t, key != K_NONE ? key : (int)utf8_next(&c));
            bool last = !rest && (key != K_NONE || *c == 0);
            if (!last || wait_for_last)
                tty_wait_idle(t, IDLE_LIMIT_S);
        } while (key == K_NONE && *c);
    }
}

void tty_press(struct tty *t, const char *keys)
{
    press_all(t, keys, true);
}

void tty_send(struct tty *t, const char *keys)
{
    press_all(t, keys, false);
}

void tty_bytes(struct tty *t, const char *bytes)
{
    to_program(bytes, strlen(bytes), t);
    tty_wait_idle(t, IDLE_LIMIT_S);
}

void tty_set_size(struct tty *t, int w, int h)
{
    struct winsize ws = {.ws_row = (unsigned short)h, .ws_col = (unsigned short)w};
    t->w = w;
    t->h = h;
    vterm_set_size(t->vt, h, w);
    ioctl(t->master, TIOCSWINSZ, &ws);
}

void tty_resize(struct tty *t, int w, int h)
{
    tty_set_size(t, w, h);
    tty_wait_idle(t, IDLE_LIMIT_S);
}

const char *tty_screen(struct tty *t)
{
    str_clear(&t->text);
    for (int y = 0; y < t->h; y++) {
        struct str row = {0};
        for (int x = 0; x < t->w; x++) {
            VTermScreenCell cell;
            char utf8[5];
            vterm_screen_get_cell(t->screen, (VTermPos){y, x}, &cell);
            if (cell.chars[0] == (uint32_t)-1)
                continue;
            text_utf8_put(utf8, cell.chars[0] ? cell.chars[0] : ' ');
            str_add(&row, utf8);
        }
        while (row.len > 0 && row.data[row.len - 1] == ' ')
            row.data[--row.len] = 0;
        str_printf(&t->text, "%s\n", str_text(&row));
        str_free(&row);
    }
    return str_text(&t->text);
}

void tty_assert_shows(struct tty *t, const char *text)
{
    if (!strstr(tty_screen(t), text))
        fail_msg("\"%s\" is not on the screen:\n%s", text, tty_screen(t));
}

void tty_wait_shows(struct tty *t, const char *text, int limit_s)
{
    double end = clock_s() + limit_s;
    while (!strstr(tty_screen(t), text))
        if (clock_s() > end || !take_output(t, 20))
            fail_msg("\"%s\" does not come:\n%s", text, tty_screen(t));
}

void tty_golden(struct tty *t, const char *name)
{
    char path[256];
    snprintf(path, sizeof path, "tests/golden/screen/%s.txt", name);
    golden_check(path, tty_screen(t));
}

int tty_wait_end(struct tty *t)
{
    int status = 0;
    double limit = clock_s() + IDLE_LIMIT_S;
    while (waitpid(t->pid, &status, WNOHANG) == 0) {
        if (clock_s() > limit) {
            kill(t->pid, SIGKILL);
            fail_msg("the program does not end:\n%s", tty_screen(t));
        }
        take_output(t, 20);
    }
    take_output(t, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

void tty_free(struct tty *t)
{
    close(t->master);
    close(t->idle_fd);
    vterm_free(t->vt);
    str_free(&t->text);
    str_free(&t->bytes);
    free(t);
}

int tty_end(struct tty *t)
{
    int status = tty_wait_end(t);
    tty_free(t);
    return status < 0 ? -1 : status;
}

bool tty_is_cooked(const struct tty *t)
{
    struct termios now;
    return tcgetattr(t->master, &now) == 0 && (now.c_lflag & (ICANON | ECHO)) == (ICANON | ECHO);
}

void tty_kill(struct tty *t, int sig)
{
    str_clear(&t->bytes);
    kill(t->pid, sig);
}
