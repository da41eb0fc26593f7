/* A place in a session, as the command line writes it: FILE, FILE#BRANCH, FILE@STEP or
 * FILE#BRANCH@STEP. */
#ifndef TS_SESSIONS_SESSION_PLACE_H
#define TS_SESSIONS_SESSION_PLACE_H
#include "sessions/file/session.h"

/* name: an argument of session_open. branch "": the current branch; step -1: the current step. */
struct session_place { char *name, *branch; int step; };
/* Reads FILE#BRANCH@STEP.  If a file is called like the whole text ("a#b@1"), or no file is called
 * like the part before # or @ (as in an operator), the whole text is the name.  Free *out with
 * session_place_free, also after an error. */
bool session_place_read(const char *arg, struct session_place *out, struct err *e);
void session_place_free(struct session_place *p);
/* Makes the place's state the current one. */
bool session_place_go(struct history *h, const struct session_place *p, struct err *e);
/* Opens the session of a place (session_open) and makes the place's state the current one. */
bool session_place_open(const char *arg, const char *dims, struct session **out, struct err *e);
#endif
