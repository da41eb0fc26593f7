/* What the files of sessions/ share. */
#ifndef TS_SESSIONS_SESSION_IMPL_H
#define TS_SESSIONS_SESSION_IMPL_H
#include "sessions/file/session.h"

#define SESSION_VERSION 1
/* Every step of the longest session may be measured, with everything that can be counted. */
#define SESSION_MAX_BYTES (16u << 20)

/* The text of a session file: paths of models in it are relative to its folder. */
bool session_parse_file(const char *path, const struct str *text, struct session **out,
                        struct err *e);

/* measured_key of the state behind step n of a path. */
void session_state_key(char out[20], const struct history *h, const int *path, int n);
/* Puts a session file on top of the recent ones; when that fails, nothing is lost but the
 * convenience. */
void session_recent_put(const char *path);
#endif
