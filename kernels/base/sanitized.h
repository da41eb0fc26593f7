/* SANITIZED is 1 in a build with AddressSanitizer, otherwise 0.  Such a build maps terabytes of
 * addresses, and valgrind cannot run it.  gcc announces it by a macro, clang by a feature. */
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
