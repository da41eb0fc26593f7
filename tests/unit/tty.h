/* Driving the real program on a pseudo-terminal, with a terminal emulator (libvterm) on the other
 * side.
 *
 * Nothing sleeps: the program says on a pipe (TILESCOPE_IDLE_FD) when it has handled its input,
 * drawn the screen and finished its background work. */
#ifndef TS_TEST_TTY_H
#define TS_TEST_TTY_H
#include <stdbool.h>
#include <sys/types.h>
#include "kernels/base/str.h"

struct VTerm;
struct VTermScreen;
struct tty {
    int master, idle_fd, w, h;
    pid_t pid;
    struct VTerm *vt;
    struct VTermScreen *screen;
    struct str text;                     /* of the screen, for tty_screen */
    struct str bytes;                    /* what the program wrote since tty_kill */
};

struct tty_opts {
    int w, h;
    const char *term, *locale;           /* NULL = xterm-256color, C.UTF-8 */
    const char *const *argv;             /* behind the program's name; NULL-terminated */
    int limit_s;                         /* for getting idle at the start; 0 = 10 */
    const char *script;                  /* of bash: runs the program as "$0" "$@"; NULL = none */
};

/* Starts ../tilescope, seen from this test binary, and waits until it is idle.  tty_end frees
 * it. */
struct tty *tty_start(const struct tty_opts *o);
/* Blank-separated key names, other words letter by letter; waits for idle behind each. */
void tty_press(struct tty *t, const char *keys);
/* The same without waiting behind the last key: for keys that end the program or start long
 * work. */
void tty_send(struct tty *t, const char *keys);
void tty_bytes(struct tty *t, const char *bytes);
void tty_wait_idle(struct tty *t, int limit_s);
/* For what is shown while something runs. */
void tty_wait_shows(struct tty *t, const char *text, int limit_s);
void tty_resize(struct tty *t, int w, int h);
void tty_set_size(struct tty *t, int w, int h);          /* without waiting */
/* The screen, trailing blanks removed; valid until the next call. */
const char *tty_screen(struct tty *t);
void tty_assert_shows(struct tty *t, const char *text);
void tty_golden(struct tty *t, const char *name);        /* tests/golden/screen/NAME.txt */
/* Waits for the end of the program and returns its exit status, -1 when a signal ended it. */
int tty_end(struct tty *t);
/* The same in two parts: -SIG when a signal ended it. */
int tty_wait_end(struct tty *t);
void tty_free(struct tty *t);
bool tty_is_cooked(const struct tty *t);             /* echoes, and takes whole lines */
void tty_kill(struct tty *t, int sig);
#endif
