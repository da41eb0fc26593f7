/* A place in a session, as the command line writes it: FILE, FILE#BRANCH, FILE@STEP or
 * FILE#BRANCH@STEP. */
#ifndef TS_SESSIONS_SESSION_PLACE_H
#define TS_SESSIONS_SESSION_PLACE_H
#include "sessions/file/session.h"

/* name: what session_open takes.  branch "": the current one; step -1: the current one. */
struct session_place { char *name, *branch; int step; };
/* Reads a place.  An existing file named "a#b@1" is meant as it is; so is a text before whose # or
 * @ no file has its name, such as an operator.  Free *out with session_place_free, also after an
 * error. */
bool session_place_read(const char *arg, struct session_place *out, struct err *e);
void session_place_free(struct session_place *p);
/* Goes there.  Errors list the branches, or the steps, that there are. */
bool session_place_go(struct history *h, const struct session_place *p, struct err *e);
/* Opens the session of a place (session_open) and goes there. */
bool session_place_open(const char *arg, const char *dims, struct session **out, struct err *e);
#endif
