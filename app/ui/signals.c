#include "app/ui/signals.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/time.h>
#include <unistd.h>

#include "kernels/base/arena.h"
#include "kernels/base/cleanup.h"

#define LIMIT_US 800000

static const int asking[] = {SIGINT, SIGTERM, SIGHUP};
static struct signals ours;
static atomic_int first;                 /* the first signal that asked to end, or 0 */

_Noreturn static void end_now(int status)
{
    if (ours.last)
        ours.last();
    cleanup_now();
    _exit(status);
}

static void on_limit(int sig)
{
    int asked = atomic_load(&first);
    end_now(ours.late ? ours.late : 128 + (asked ? asked : sig));
}

static void on_signal(int sig, siginfo_t *info, void *context)
{
    (void)context;
    if (ours.key && sig == SIGINT && info->si_code == SI_KERNEL) {
        if (!ours.key())
            end_now(128 + sig);
        return;
    }
    const struct itimerval limit = {.it_value = {.tv_usec = LIMIT_US}};
    int none = 0;
    if (atomic_compare_exchange_strong(&first, &none, sig)) {
        ours.caught(sig);
        setitimer(ITIMER_REAL, &limit, NULL);
    } else if (sig != SIGHUP) {
        end_now(128 + sig);
    }
}

void signals_catch(const struct signals *s)
{
    struct sigaction act = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO};
    struct sigaction limit = {.sa_handler = on_limit}, old;
    sigset_t alarms;
    ours = *s;
    sigemptyset(&act.sa_mask);
    sigemptyset(&limit.sa_mask);
    sigemptyset(&alarms);
    sigaddset(&alarms, SIGALRM);
    sigaction(SIGALRM, &limit, NULL);
    pthread_sigmask(SIG_UNBLOCK, &alarms, NULL);
    for (int i = 0; i < COUNT_OF(asking); i++)
        if (asking[i] != SIGHUP || !s->keep_hup || sigaction(SIGHUP, NULL, &old) != 0
            || old.sa_handler != SIG_IGN)
            sigaction(asking[i], &act, NULL);
}

void signals_block(bool yes)
{
    sigset_t set;
    sigemptyset(&set);
    for (int i = 0; i < COUNT_OF(asking); i++)
        sigaddset(&set, asking[i]);
    pthread_sigmask(yes ? SIG_BLOCK : SIG_UNBLOCK, &set, NULL);
}
