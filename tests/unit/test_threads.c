/* The threads that counters are opened for: all of this process, each once. */
#include <pthread.h>
#include <unistd.h>

#include "profile/counters/perfevent.h"

#undef fail
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

enum { THREADS = 20 };
static pthread_barrier_t begun, seen;
static int tids[THREADS];

static void *wait_there(void *at)
{
    *(int *)at = (int)gettid();
    pthread_barrier_wait(&begun);
    pthread_barrier_wait(&seen);
    return NULL;
}

static int times(const struct perf_threads *t, int tid)
{
    int n = 0;
    for (int i = 0; i < t->n; i++)
        n += t->tid[i] == tid;
    return n;
}

static void all_threads_are_found(void **state)
{
    struct perf_threads found;
    pthread_t thread[THREADS];
    (void)state;
    perf_threads_find(&found);
    assert_int_equal(found.n, 1);
    assert_int_equal(found.tid[0], getpid());
    perf_threads_free(&found);
    assert_null(found.tid);
    pthread_barrier_init(&begun, NULL, THREADS + 1);
    pthread_barrier_init(&seen, NULL, THREADS + 1);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&thread[i], NULL, wait_there, &tids[i]), 0);
    pthread_barrier_wait(&begun);
    perf_threads_find(&found);
    pthread_barrier_wait(&seen);
    for (int i = 0; i < THREADS; i++)
        pthread_join(thread[i], NULL);
    assert_int_equal(found.n, THREADS + 1);
    assert_int_equal(times(&found, getpid()), 1);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(times(&found, tids[i]), 1);
    perf_threads_free(&found);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(all_threads_are_found) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
