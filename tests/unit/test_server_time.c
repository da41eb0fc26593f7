/* COMMAND_TIME in this process: what a renewal of the buffers that fails leads to. */
#include <string.h>
#include <sys/mman.h>

#include "profile/child/guarded_impl.h"
#include "profile/child/server_impl.h"

#undef fail
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

/* The memory file of a runner with one contender, whose only buffer it writes. */
static struct { struct shared sh; struct shared_buffer buffer; float copy[1000]; } file;
static struct guarded *guarded;
static bool breaks;                       /* whether the kernel unmaps the pages of its buffer */

static void kernel(void *const *buffers)
{
    struct guarded_buffer *b = &guarded->buffer[0];
    (void)buffers;
    if (breaks && b->data) {
        munmap(b->room, b->room_bytes);
        b->data = NULL;                   /* so that the guards around it are not read */
    }
}

static bool timed(struct server *r, struct err *e)
{
    const struct request q = { .contenders = 1, .min_runs = 5, .most_s = 10, .epochs = 5 };
    *r = (struct server){ .shared = &file.sh, .guarded = guarded, .entry = { kernel } };
    return server_time(r, &q, e);
}

/* Few samples are no success when the memory of the buffers is gone. */
static void a_failed_renewal_is_an_error(void **state)
{
    static struct server r;
    struct err e = {0};
    (void)state;
    file.sh.threads = 2;                  /* a single thread would be pinned */
    file.sh.n_buffers = file.sh.n_contenders = 1;
    file.sh.buffer_at = (char *)&file.buffer - (char *)&file.sh;
    file.sh.contender[0].n = 1;
    file.buffer = (struct shared_buffer){ (char *)file.copy - (char *)&file.sh, sizeof file.copy,
                                          1, 0 };
    assert_true(guarded_open(&file.sh, &guarded, &e));
    if (!timed(&r, &e))
        fail_msg("%s", e.text);
    assert_int_equal(file.sh.n_samples[0], 5);
    assert_int_equal(file.sh.n_epochs, 5);
    breaks = true;
    assert_false(timed(&r, &e));
    assert_int_equal(e.code, ERR_ENV);
    assert_non_null(strstr(e.text, "madvise: "));
    assert_true(file.sh.n_samples[0] < 5);
    guarded_close(guarded);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(a_failed_renewal_is_an_error) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
