/* The machine model on disk: dir_cache()/machine.json, so that it is measured once.  It belongs to
 * one machine: a file with another fingerprint, or one that cannot be read as a whole, is as good
 * as none. */
#ifndef TS_SESSIONS_MACHINE_FILE_H
#define TS_SESSIONS_MACHINE_FILE_H
#include "profile/machine_model.h"

/* False when there is none for this machine; *why says it in a clause ("nobody has measured ..."),
 * with what helps. */
bool machine_file_load(const struct machine *m, struct machine_model *out, struct err *why);
bool machine_file_save(const struct machine_model *m, struct err *e);
/* The text of the file; and back: ERR_SYNTAX or ERR_TYPE names the key. */
void machine_file_print(struct str *out, const struct machine_model *m);
bool machine_file_parse(const char *text, struct machine_model *out, struct err *e);
#endif
