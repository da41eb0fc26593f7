/* Declarations that the files that read studies share. */
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
    /* the YAML nodes from which the cases and the variants came */
    VEC(const struct ynode *) case_at, variant_at;
};

/* study_read_tune reads `tune:` of the study or of a variant, study_read_case_tune `tune:` of a
 * case. */
bool study_read_tune(struct study_loader *l, const struct ynode *map, struct study_tune *out);
bool study_read_case_tune(struct study_loader *l, const struct ynode *map, struct study_tune *out);

/* Reads metrics, findings, `measure` and `scale`.  Call it after reading cases and variants. */
bool study_read_numbers(struct study_loader *l, const struct ynode *root);
/* Checks that every cell has an operator or a model.  Call it before study_read_numbers, which uses
 * the operators. */
bool study_check_operators(struct study_loader *l);
/* Checks every cell that is no network: substitutes its parameters, builds its operator and applies
 * its steps.  Of a variant with a search, checks only case 0. */
bool study_check_cells(struct study_loader *l);
#endif
