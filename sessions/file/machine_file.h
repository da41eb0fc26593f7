/* The machine model on disk, dir_cache()/machine.json, so that each machine is measured only once.
 * A file with another machine's fingerprint, or with an error in it, is treated as missing. */
#ifndef TS_SESSIONS_MACHINE_FILE_H
#define TS_SESSIONS_MACHINE_FILE_H
#include <jansson.h>
#include "profile/machine/machine_model.h"

/* Returns false when no usable model of this machine is stored; *why then says "no machine model: "
 * with the reason, and the fix. */
bool machine_file_load(const struct machine *m, struct machine_model *out, struct err *why);

/* Measures the model once. */
typedef bool machine_measure_fn(void *ctx, struct machine_model *out, struct err *e);
/* The result of machine_file_measure.
 *
 * A new model is merged with the stored model of the same machine.  A roof is the best of many
 * samples, and other work only slows samples down.  So the higher of two roofs is nearer to the
 * truth, whichever of the two models is doubtful.  A virtual machine that moved to another CPU has
 * another fingerprint, so its new model is not merged with the old one.  If the same CPU is slower
 * than before (its clock was limited), some roofs stay too high; `less` names these roofs, so that
 * the user can delete the file. */
struct machine_fresh {
    struct machine_model model;           /* the best rates of all tries and of `before` */
    int tries;  /* number of measurements; 0 if one of them failed, or none was made */
    char doubts[512];                     /* why `model` is doubtful; "": no doubt */
    char less[256];  /* rates of `before` that were kept though all tries were far lower, or "" */
    struct machine_model before;          /* the model stored before, if any */
};
#define MACHINE_TRIES 3
/* Measures the model and saves it.  Measures again while machine_model_doubts finds a reason to
 * doubt the result, but at most `tries` times in all.  When it returns false with out->tries > 0,
 * the measurements succeeded, and saving failed. */
bool machine_file_measure(const struct machine *m, machine_measure_fn *measure, void *ctx,
                          int tries, struct machine_fresh *out, struct err *e);
/* Appends the path of the file. */
bool machine_file_path(struct str *path, struct err *e);
/* Saves m.  Fails with ERR_CHANGED when the file has changed since it was in state `seen`
 * (file_seen). */
bool machine_file_save(const struct machine_model *m, uint64_t seen, struct err *e);
/* machine_file_print appends the text of the file, machine_file_parse reads it.  An ERR_SYNTAX
 * names the line of the error, an ERR_TYPE the key. */
void machine_file_print(struct str *out, const struct machine_model *m);
bool machine_file_parse(const char *text, struct machine_model *out, struct err *e);
/* Returns m as JSON, a new reference, for the file and for `machine --json`. */
json_t *machine_file_json(const struct machine_model *m);
#endif
