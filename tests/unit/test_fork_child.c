/* What tests start ends with them, also when they are killed: nothing is left that takes a core
 * from the next suite. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/unit/fork_child.h"
#include "tests/unit/tty.h"
#undef fail                               /* ours; cmocka has its own */
#include <cmocka.h>

/* The pid of something that does not end by itself, and does not listen. */
typedef pid_t start_fn(void);

static pid_t start_fork(void)
{
    pid_t child = fork_child();
    while (child == 0)
        pause();
    return child;
}

static pid_t start_tty(void)
{
    struct tty_opts o = { .w = 20, .h = 5, .script = "trap '' HUP TERM INT; "
                          "echo >&\"$TILESCOPE_IDLE_FD\"; while :; do sleep 0.05; done" };
    return tty_start(&o)->pid;
}

/* A test that starts it is killed; what it had started becomes our child, and must be dead. */
static void dies_with_its_test(start_fn *start)
{
    int pipes[2], status = 0;
    pid_t started = 0;
    assert_int_equal(pipe(pipes), 0);
    assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
    pid_t test = fork_child();
    if (test == 0) {
        started = start();
        if (write(pipes[1], &started, sizeof started) != sizeof started)
            _exit(1);
        for (;;)
            pause();
    }
    close(pipes[1]);
    assert_int_equal(read(pipes[0], &started, sizeof started), sizeof started);
    close(pipes[0]);
    assert_true(started > 1);
    kill(test, SIGKILL);
    assert_int_equal(waitpid(test, NULL, 0), test);
    pid_t ended = 0;
    for (int i = 0; i < 500 && ended == 0; i++) {
        usleep(10000);
        ended = waitpid(started, &status, WNOHANG);
    }
    if (ended == 0)
        kill(started, SIGKILL);
    assert_int_equal(ended, started);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

static void forked_children(void **state)
{
    (void)state;
    dies_with_its_test(start_fork);
}

static void programs_on_a_terminal(void **state)
{
    (void)state;
    dies_with_its_test(start_tty);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(forked_children),
        cmocka_unit_test(programs_on_a_terminal),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
