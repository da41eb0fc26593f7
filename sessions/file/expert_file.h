/* Experts from their files. */
#ifndef TS_SESSIONS_EXPERT_FILE_H
#define TS_SESSIONS_EXPERT_FILE_H
#include "explorer/expert/expert.h"

/* One file; strict as sessions are.  ERR_... with file, line, column and a caret. */
bool expert_file_parse(struct arena *a, const char *name, const char *text, size_t n,
                       const struct expert **out, struct err *e);
/* All shipped ones, by file name, in arena a. */
bool expert_file_all(struct arena *a, struct experts *out, struct err *e);
#endif
