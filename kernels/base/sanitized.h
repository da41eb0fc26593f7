/* SANITIZED: 1 when this is built with AddressSanitizer, which maps terabytes and which valgrind
 * cannot run; else 0.  gcc defines a macro then, clang has a feature. */
#ifndef TS_BASE_SANITIZED_H
#define TS_BASE_SANITIZED_H

#if defined __SANITIZE_ADDRESS__
#define SANITIZED 1
#elif defined __has_feature
#if __has_feature(address_sanitizer)
#define SANITIZED 1
#endif
#endif
#ifndef SANITIZED
#define SANITIZED 0
#endif
#endif
