/* What the files that read studies share. */
#ifndef TS_SESSIONS_STUDY_LOADER_H
#define TS_SESSIONS_STUDY_LOADER_H
#include "kernels/base/vec.h"
#include "sessions/study/study_impl.h"
#include "sessions/file/yaml_load.h"

struct study_loader {
    struct yaml_load y;
    struct study *s;
    VEC(struct study_case) cases;
    VEC(struct study_variant) variant;
    VEC(const struct ynode *) case_at, variant_at;       /* where each came from */
};

/* `tune:` of the study, of a variant; of a case. */
bool study_read_tune(struct study_loader *l, const struct ynode *map, struct study_tune *out);
bool study_read_case_tune(struct study_loader *l, const struct ynode *map, struct study_tune *out);

/* Metrics, findings, how to measure, what --scale leaves: after cases and variants. */
bool study_read_numbers(struct study_loader *l, const struct ynode *root);
/* Every cell has an operator: what reads numbers relies on it. */
bool study_check_operators(struct study_loader *l);
/* Every cell is filled in, built and stepped through. */
bool study_check_cells(struct study_loader *l);
#endif
