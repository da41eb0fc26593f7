/* Shared by the files that read studies. */
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
    /* per case, variant: the YAML node that it came from */
    VEC(const struct ynode *) case_at, variant_at;
};

/* Read `tune:`: of the study or a variant, and of a case. */
bool study_read_tune(struct study_loader *l, const struct ynode *map, struct study_tune *out);
bool study_read_case_tune(struct study_loader *l, const struct ynode *map, struct study_tune *out);

/* Reads metrics, findings, `measure` and `scale`; call it after cases and variants were read. */
bool study_read_numbers(struct study_loader *l, const struct ynode *root);
/* Checks that every cell has an operator, which study_read_numbers relies on. */
bool study_check_operators(struct study_loader *l);
/* Substitutes the parameters of every cell, builds its operator and applies its steps. */
bool study_check_cells(struct study_loader *l);
#endif
