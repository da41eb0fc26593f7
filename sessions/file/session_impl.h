/* Declarations that only the files of sessions/file/ share. */
#ifndef TS_SESSIONS_SESSION_IMPL_H
#define TS_SESSIONS_SESSION_IMPL_H
#include "sessions/file/session.h"

#define SESSION_VERSION 1
/* enough for the longest session with all steps measured by all meters */
#define SESSION_MAX_BYTES (16u << 20)

/* Parses the text of a session file; paths of models in it are relative to its folder. */
bool session_parse_file(const char *path, const struct str *text, struct session **out,
                        struct err *e);

/* Sets `out` to measured_key of the state after step n of a path (history_path). */
void session_state_key(char out[20], const struct history *h, const int *path, int n);
#endif
