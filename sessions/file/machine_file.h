/* The machine model on disk: dir_cache()/machine.json, so that it is measured once.  It belongs to
 * one machine: a file with another fingerprint, or one that cannot be read as a whole, is as good
 * as none. */
#ifndef TS_SESSIONS_MACHINE_FILE_H
#define TS_SESSIONS_MACHINE_FILE_H
#include <jansson.h>
#include "profile/machine/machine_model.h"

/* False when there is none for this machine; *why says it in a clause ("nobody has measured ..."),
 * with what helps. */
bool machine_file_load(const struct machine *m, struct machine_model *out, struct err *why);

/* A measurement of this machine, made again when something disturbed it (machine_model_doubts), and
 * stored: but one that is still doubtful never replaces a better one. */
typedef bool machine_measure_fn(void *ctx, struct machine_model *out, struct err *e);
struct machine_fresh {
    struct machine_model model;           /* the best of all tries */
    int tries;                            /* 0: it could not be measured */
    char doubts[512];                     /* "": none */
    bool kept;                            /* what was stored before was better and stays: */
    struct machine_model before;
};
#define MACHINE_TRIES 3
/* At most so many tries.  False with *e when it cannot be measured (out->tries is 0) or stored. */
bool machine_file_measure(const struct machine *m, machine_measure_fn *measure, void *ctx,
                          int tries, struct machine_fresh *out, struct err *e);
/* Where it is stored. */
bool machine_file_path(struct str *path, struct err *e);
/* Over what was seen there (file_seen). */
bool machine_file_save(const struct machine_model *m, uint64_t seen, struct err *e);
/* The text of the file; and back: ERR_SYNTAX or ERR_TYPE names the key. */
void machine_file_print(struct str *out, const struct machine_model *m);
bool machine_file_parse(const char *text, struct machine_model *out, struct err *e);
/* As JSON, for the file and for `machine --json`: a new reference. */
json_t *machine_file_json(const struct machine_model *m);
#endif
