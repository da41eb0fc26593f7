/* Memory by lifetime.  An arena is named after its lifetime (session, pass, frame).  It is freed
 * or reset as a whole; nothing in it is freed one by one. */
#ifndef TS_BASE_ARENA_H
#define TS_BASE_ARENA_H
#include <stddef.h>
#include <stdarg.h>

struct arena;

struct arena *arena_new(void);
void arena_free(struct arena *a);                    /* a may be NULL */
void arena_reset(struct arena *a);  /* frees all blocks except the first, which is reused */
size_t arena_used_bytes(const struct arena *a);

/* Returns zeroed memory, aligned to 16 bytes. Never NULL: without memory it calls fail(). */
void *arena_alloc(struct arena *a, size_t size_bytes);
void *arena_copy(struct arena *a, const void *from, size_t size_bytes);
char *arena_strdup(struct arena *a, const char *s);
char *arena_strndup(struct arena *a, const char *s, size_t n);    /* stops at a NUL */
/* copies n bytes, NULs included, and appends a NUL */
char *arena_bytes(struct arena *a, const char *data, size_t n);
char *arena_printf(struct arena *a, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
char *arena_vprintf(struct arena *a, const char *fmt, va_list ap)
    __attribute__((format(printf, 2, 0)));

#define ARENA_NEW(a, type) ((type *)arena_alloc((a), sizeof(type)))
#define ARENA_ARRAY(a, type, n) ((type *)arena_alloc((a), sizeof(type) * (size_t)(n)))
#define ARENA_DUP(a, from, n) arena_copy((a), (from), sizeof *(from) * (size_t)(n))

/* The malloc family, for data that is in no arena.  They call fail() if memory is exhausted. */
void *xmalloc(size_t size_bytes);
void *xcalloc(size_t n, size_t size_bytes);
void *xrealloc(void *p, size_t size_bytes);
/* xmalloc for the elements of a tensor.  Asks for huge pages for a large array, because page faults
 * of small pages would take longer than filling the array. */
void *xmalloc_elems(size_t n, size_t size_bytes);
char *xstrdup(const char *s);
/* Between memory_keep and memory_give_back, the process keeps freed arrays and reuses them.  This
 * saves time: the system clears each new page, which takes as long as the arithmetic on it.  Pairs
 * of these calls must not be nested. */
void memory_keep(void);
void memory_give_back(void);

/* fail() ends the program because memory is exhausted or an invariant is broken.  It runs the hook
 * (the screen's hook restores the terminal), prints the message to stderr and aborts.  Nothing else
 * below app/ ends tilescope (the runner is another program). */
void fail_set_hook(void (*hook)(void));
_Noreturn void fail_at(const char *file, int line, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
#define fail(...) fail_at(__FILE__, __LINE__, __VA_ARGS__)
#define UNREACHABLE() fail_at(__FILE__, __LINE__, "unreachable")
#define COUNT_OF(array) ((int)(sizeof(array) / sizeof((array)[0])))
#endif
