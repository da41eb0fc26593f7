/* What the files that read studies share. */
#ifndef TS_SESSIONS_STUDY_LOADER_H
#define TS_SESSIONS_STUDY_LOADER_H
#include "kernels/base/vec.h"
#include "sessions/study/study_impl.h"
#include "sessions/file/yaml_fields.h"

struct study_loader {
    struct arena *a;
    struct ydoc doc;
    struct study *s;
    VEC(struct study_case) cases;
    VEC(struct study_variant) variant;
    VEC(const struct ynode *) case_at, variant_at;       /* where each came from */
    struct err *e;
};

/* Each returns false with *l->e at the place. */
bool study_at(struct study_loader *l, const struct ynode *node);
bool study_need_list(struct study_loader *l, const struct ynode *map, const char *key,
                     const struct ynode **out);
/* Optional: *out stays as it is. */
bool study_get_text(struct study_loader *l, const struct ynode *map, const char *key, size_t max,
                    bool lines, const char **out);
/* A name that expressions can say. */
bool study_check_id(struct study_loader *l, const char *id, const struct ynode *node);

/* `for`, `search`, `choose`: a mapping of names to values; none: an empty grid. */
bool study_read_grid(struct study_loader *l, const struct ynode *map, const char *key,
                     struct study_grid *out);

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
