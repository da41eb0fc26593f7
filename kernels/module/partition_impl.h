/* Shared by the files of the partition: partition_group.c makes the groups, and partition.c writes
 * their texts. */
#ifndef TS_MODULE_PARTITION_IMPL_H
#define TS_MODULE_PARTITION_IMPL_H
#include "kernels/base/vec.h"
#include "kernels/module/partition.h"

/* Statements that become one kernel. A group that was joined to another group is empty. */
struct cut_group {
    int n; const int *member;             /* statements, in order */
    int last;                             /* the last statement */
    int out;                              /* the tensor of its result */
    bool constant;                        /* whether it depends on constants only */
};

/* The demand of the steps for a tensor. CUT_HERE: the kernel that computes the tensor ends there.
 * CUT_NOT_HERE: this kernel also contains the statements that read the tensor. */
enum cut_mark { CUT_BY_RULE, CUT_HERE, CUT_NOT_HERE };

struct cutter {
    struct arena *a;
    const struct graph *g;
    int *maker;                           /* per tensor: the statement that computes it, or -1 */
    int *readers;                         /* per tensor: how many statements read it */
    enum cut_mark *mark;                  /* per tensor: what the steps demand */
    int *group_of;                        /* per statement: its group */
    VEC(struct cut_group) groups;
};

/* Makes the groups of g by the rule and these steps (partition.h).  The caller must free c->groups,
 * also after a failure. */
bool cutter_make(struct cutter *c, struct arena *a, const struct graph *g, int n_steps,
                 const char *const *step, struct err *e);
/* Whether the group is a view (net_part.view). */
bool cutter_is_view(const struct cutter *c, const struct cut_group *group);
#endif
