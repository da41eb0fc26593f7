/* Finds parameters of a family by name, and brings them to canonical form. */
#include "kernels/ops/params.h"

#include <ctype.h>

int param_row(const struct op_family *f, const char *name)
{
    for (int i = 0; i < f->n_params; i++)
        if (streq(f->params[i].name, name))
            return i;
    return -1;
}

int64_t param_value(const struct op_family *f, const int64_t *v, const char *name,
                    int64_t otherwise)
{
    int row = param_row(f, name);
    return row >= 0 && param_is_set(v[row]) ? v[row] : otherwise;
}

/* Appends the names of the parts: "kh= and kw=". */
static void list_parts(struct str *out, const struct op_family *f, const struct param_group *group)
{
    for (int i = 0; i < group->n; i++)
        str_printf(out, "%s%s=", i ? " and " : "", f->params[group->part[i]].name);
}

bool param_clash(const struct op_family *f, const int64_t *v, int part, int all, struct err *e)
{
    return err_set(e, ERR_SYNTAX, "%s= sets what %s=%lld already sets", f->params[part].name,
                   f->params[all].name, (long long)v[all]);
}

static int first_part(const struct param_group *group, const int64_t *v, bool set)
{
    for (int i = 0; i < group->n; i++)
        if (param_is_set(v[group->part[i]]) == set)
            return group->part[i];
    return -1;
}

static bool check_parts(const struct op_family *f, const int64_t *v,
                        const struct param_group *group, struct err *e)
{
    int have = first_part(group, v, true), lack = first_part(group, v, false);
    if (have >= 0 && v[group->all] != f->params[group->all].def) {
        struct str parts = {0};
        list_parts(&parts, f, group);
        param_clash(f, v, have, group->all, e);
        err_fix(e, "give either %s= or %s", f->params[group->all].name, str_text(&parts));
        str_free(&parts);
        return false;
    }
    if (have >= 0 && lack >= 0 && f->params[group->all].def == OP_REQUIRED) {
        err_set(e, ERR_SYNTAX, "%s= needs %s= too", f->params[have].name, f->params[lack].name);
        return err_fix(e, "give %s, or %s= for equal ones", group->n > 2 ? "all of them" : "both",
                       f->params[group->all].name);
    }
    return true;
}

bool param_collapse(const struct op_family *f, int64_t *v, const struct param_group *group,
                    struct err *e)
{
    int64_t def = f->params[group->all].def, base = def == OP_UNSET ? 0 : def;
    bool equal = !group->apart;
    if (first_part(group, v, true) < 0)
        return true;
    if (!check_parts(f, v, group, e))
        return false;
    int64_t first = param_is_set(v[group->part[0]]) ? v[group->part[0]] : base;
    for (int i = 1; i < group->n; i++)
        equal = equal && (param_is_set(v[group->part[i]]) ? v[group->part[i]] : base) == first;
    v[group->all] = equal ? first : def == OP_REQUIRED ? OP_UNSET : def;
    for (int i = 0; i < group->n; i++)
        if (equal || v[group->part[i]] == base)
            v[group->part[i]] = OP_UNSET;
    return true;
}

bool params_without_gaps(const struct op_family *f, const int64_t *v, struct err *e)
{
    const char *const *names = f->data_params;
    for (int i = 2; names[i]; i++) {
        int before = param_row(f, names[i - 1]), row = param_row(f, names[i]);
        if (!param_is_set(v[row]) || v[before] != OP_UNSET)
            continue;
        err_set(e, ERR_SYNTAX, "%s= needs %s= too", names[i], names[i - 1]);
        return err_fix(e, "give %s=, or leave out %s=", names[i - 1], names[i]);
    }
    return true;
}

int family_input(struct graph *g, const struct op_family *f, const int64_t *v)
{
    const char *dims[MAX_RANK];
    char upper[MAX_RANK][2] = { "" };
    int64_t shape[MAX_RANK];
    int rank = 0;
    for (; f->data_params[rank]; rank++) {
        shape[rank] = param_value(f, v, f->data_params[rank], rank < 2);
        if (shape[rank] == 0)
            break;
        upper[rank][0] = (char)toupper((unsigned char)f->data_params[rank][0]);
        dims[rank] = upper[rank];
    }
    return graph_add_tensor(g, &(struct tensor_def){ "Inp", rank, dims, shape, TENSOR_INPUT });
}

bool finish_canonical(const struct op_family *f, int64_t *v, struct err *e)
{
    int relu = param_row(f, "relu"), act = param_row(f, "act");
    if (act < 0)
        return true;
    if (v[relu] && v[act] != ACT_NONE && v[act] != ACT_RELU) {
        param_clash(f, v, act, relu, e);
        return err_fix(e, "leave out relu=1, or act=%s", act_words[v[act]]);
    }
    v[relu] = v[relu] || v[act] == ACT_RELU;
    v[act] = v[act] == ACT_RELU ? ACT_NONE : v[act];
    return true;
}

void finish_with(struct graph *g, int x, int channel_dim, const struct op_family *f,
                 const int64_t *v)
{
    int64_t act = param_value(f, v, "act", ACT_NONE);
    if (param_value(f, v, "bias", 0))
        x = bias_node(g, x, channel_dim);
    if (param_value(f, v, "relu", 0))
        act = ACT_RELU;
    if (act != ACT_NONE)
        x = act_node(g, x, (enum act)act, 0, 0);
    graph_set_output(g, x);
}
