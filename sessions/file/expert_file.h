/* Reading expert schedules from their files. */
#ifndef TS_SESSIONS_EXPERT_FILE_H
#define TS_SESSIONS_EXPERT_FILE_H
#include "explorer/expert/expert.h"

/* Parses one file, as strictly as a session. */
bool expert_file_parse(struct arena *a, const char *name, const char *text, size_t n,
                       const struct expert **out, struct err *e);
/* Loads all shipped experts into arena a, sorted by file name. */
bool expert_file_all(struct arena *a, struct experts *out, struct err *e);
#endif
