/* Reads ONNX files into plain, checked structures.  The rest of the program does not use the
 * protobuf code that is generated from the ONNX format. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kernels/base/file.h"
#include <onnx.pb-c.h>
#include "kernels/onnx/onnx.h"
#include "kernels/onnx/onnx_external.h"
#include "kernels/onnx/onnx_wire.h"

enum {
    MAX_NODES = 4000,
    MAX_LIST = 1 << 20  /* most numbers of an attribute, and inputs or outputs of a node */
};
#define MAX_ELEMS ((int64_t)1 << 31)

/* m: NULL for a single tensor. what: the data's name in errors. folder: the folder of the model's
 * file, ending in /; NULL for a model in memory and for a single tensor. owned: whether the bytes
 * of the file live as long as the arena, so that tensors may point into them. */
struct onnx_reader {
    struct arena *a;
    struct onnx_model *m;
    const char *what, *folder;
    struct err *e;
    struct wire_memory wire;
    bool owned;
};

static const char *const type_names[] = {
    "undefined", "float", "uint8", "int8", "uint16", "int16", "int32", "int64", "string", "bool",
    "float16", "double", "uint32", "uint64", "complex64", "complex128", "bfloat16",
};

const char *onnx_type_name(int type)
{
    return type >= 0 && type < COUNT_OF(type_names) ? type_names[type] : "unknown";
}

static const char *text_of(struct onnx_reader *r, const char *s)
{
    return s ? wire_text(r->a, s, strlen(s)) : "";
}

/* Returns the name of a domain: "" for the default one, which is also called "ai.onnx". */
static const char *domain_of(struct onnx_reader *r, const char *s)
{
    return s && streq(s, "ai.onnx") ? "" : text_of(r, s);
}

static const char *const *names_of(struct onnx_reader *r, char *const *from, size_t n)
{
    const char **name = ARENA_ARRAY(r->a, const char *, n + 1);
    for (size_t i = 0; i < n; i++)
        name[i] = text_of(r, from[i]);
    return name;
}

/* --- Tensors ---------------------------------------------------------------------------------- */

static size_t bytes_per(int type)
{
    switch (type) {
    case ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT: case ONNX__TENSOR_PROTO__DATA_TYPE__INT32:
    case ONNX__TENSOR_PROTO__DATA_TYPE__UINT32: return 4;
    case ONNX__TENSOR_PROTO__DATA_TYPE__INT64: case ONNX__TENSOR_PROTO__DATA_TYPE__UINT64:
    case ONNX__TENSOR_PROTO__DATA_TYPE__DOUBLE: return 8;
    case ONNX__TENSOR_PROTO__DATA_TYPE__BOOL: case ONNX__TENSOR_PROTO__DATA_TYPE__INT8:
    case ONNX__TENSOR_PROTO__DATA_TYPE__UINT8: return 1;
    case ONNX__TENSOR_PROTO__DATA_TYPE__INT16: case ONNX__TENSOR_PROTO__DATA_TYPE__UINT16:
    case ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT16: case ONNX__TENSOR_PROTO__DATA_TYPE__BFLOAT16:
        return 2;
    default: return 0;
    }
}

static bool wrong_tensor(struct onnx_reader *r, const struct onnx_tensor *t, const char *why)
{
    return err_set(r->e, ERR_SYNTAX, "%s: tensor %.80s: %s", r->what, t->name[0] ? t->name : "?",
                   why);
}

static bool read_dims(struct onnx_reader *r, const Onnx__TensorProto *p, struct onnx_tensor *t)
{
    if (p->n_dims > ONNX_MAX_RANK)
        return wrong_tensor(r, t, "dims: too many");
    t->elems = 1;
    for (size_t d = 0; d < p->n_dims; d++) {
        if (p->dims[d] < 0)
            return wrong_tensor(r, t, "dims: a negative one");
        if (p->dims[d] > 0 && t->elems > MAX_ELEMS / p->dims[d])
            return wrong_tensor(r, t, "dims: more than 2^31 elements");
        t->dims[d] = p->dims[d];
        t->elems *= p->dims[d];
    }
    t->rank = (int)p->n_dims;
    return true;
}

static bool is_external(const Onnx__TensorProto *p)
{
    return p->data_location == ONNX__TENSOR_PROTO__DATA_LOCATION__EXTERNAL;
}

static int64_t raw_int(int type, const uint8_t *at)
{
    int64_t v = 0;
    memcpy(&v, at, bytes_per(type));
    switch (type) {
    case ONNX__TENSOR_PROTO__DATA_TYPE__INT32: return (int32_t)(uint32_t)v;
    case ONNX__TENSOR_PROTO__DATA_TYPE__INT16: return (int16_t)(uint16_t)v;
    case ONNX__TENSOR_PROTO__DATA_TYPE__INT8: return (int8_t)(uint8_t)v;
    default: return v;
    }
}

/* Returns the value of an entry of external_data; NULL when there is none. */
static const char *entry(const Onnx__TensorProto *p, const char *key)
{
    for (size_t i = 0; i < p->n_external_data; i++)
        if (p->external_data[i]->key && streq(p->external_data[i]->key, key))
            return p->external_data[i]->value;
    return NULL;
}

/* Sets *raw to the data of a tensor whose data are in another file. */
static bool read_external(struct onnx_reader *r, const Onnx__TensorProto *p,
                          const struct onnx_tensor *t, struct wire_span *raw)
{
    const char *place = entry(p, "location"), *at = entry(p, "offset"), *n = entry(p, "length");
    size_t want = (size_t)t->elems * bytes_per(t->type);
    long long offset = 0, length = (long long)want;
    struct err why;
    if (!r->folder)
        return wrong_tensor(r, t, "data_location: external data need the file of the model");
    if (!place || (at && !str_to_int64(at, 0, INT64_MAX, &offset)) ||
        (n && !str_to_int64(n, 0, INT64_MAX, &length)))
        return wrong_tensor(r, t, "external_data: no location, or offset or length is no number");
    if ((size_t)length != want)
        return wrong_tensor(r, t, "external_data: length is not what dims say");
    struct onnx_external from = { r->folder, place, offset, want, -1, r->a, &r->m->external };
    if (!onnx_external_open(&from, &why))
        return wrong_tensor(r, t, why.text);
    *raw = (struct wire_span){ arena_alloc(r->a, want + 1), want };
    return onnx_external_read(&from, raw->data, &why) || wrong_tensor(r, t, why.text);
}

/* Sets *raw to the bytes of the tensor.  raw->data is NULL if raw_data is absent or empty: the data
 * may be in other fields, such as float_data. */
static bool read_raw(struct onnx_reader *r, const Onnx__TensorProto *p,
                     const struct onnx_tensor *t, struct wire_span *raw)
{
    *raw = (struct wire_span){ NULL, 0 };
    if (is_external(p))
        return read_external(r, p, t, raw);
    if (p->has_raw_data)
        *raw = wire_raw(&r->wire, &p->raw_data);
    if (raw->len == 0)
        raw->data = NULL;
    return !raw->data || raw->len == (size_t)t->elems * bytes_per(t->type) ||
           wrong_tensor(r, t, "raw_data: not as long as dims say");
}

/* Sets t->i from *raw, int64_data, uint64_data (for uint32, too) or int32_data. */
static bool read_ints(struct onnx_reader *r, const Onnx__TensorProto *p,
                      const struct wire_span *raw, struct onnx_tensor *t)
{
    size_t n = (size_t)t->elems, each = bytes_per(t->type);
    int64_t *out;
    if (raw->data) {
        out = ARENA_ARRAY(r->a, int64_t, n);
        for (size_t k = 0; k < n; k++)
            out[k] = raw_int(t->type, raw->data + k * each);
    } else if (p->n_int64_data == n) {
        out = ARENA_ARRAY(r->a, int64_t, n);
        for (size_t k = 0; k < n; k++)
            out[k] = p->int64_data[k];
    } else if (p->n_uint64_data == n) {
        out = ARENA_ARRAY(r->a, int64_t, n);
        for (size_t k = 0; k < n; k++)
            out[k] = (int64_t)p->uint64_data[k];
    } else if (p->n_int32_data == n) {
        out = ARENA_ARRAY(r->a, int64_t, n);
        for (size_t k = 0; k < n; k++)
            out[k] = p->int32_data[k];
    } else {
        return wrong_tensor(r, t, "data: not as many elements as dims say");
    }
    for (size_t k = 0; k < n && t->type == ONNX__TENSOR_PROTO__DATA_TYPE__UINT64; k++)
        if (out[k] < 0)
            return wrong_tensor(r, t, "data: a uint64 of 2^63 or more is not supported");
    t->i = out;
    return true;
}

/* Reads float16, bfloat16 and float64 as float32. */
static bool read_other_floats(struct onnx_reader *r, const Onnx__TensorProto *p,
                              const struct wire_span *raw, struct onnx_tensor *t)
{
    size_t n = (size_t)t->elems, each = bytes_per(t->type);
    bool half = t->type == ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT16;
    const struct elem_type *narrow = half ? &type_f16 : &type_bf16;
    if (!raw->data && n != (each == 8 ? p->n_double_data : p->n_int32_data))
        return wrong_tensor(r, t, "data: not as many elements as dims say");
    f32 *out = ARENA_ARRAY(r->a, f32, n + 1);
    for (size_t k = 0; k < n; k++) {
        double d = !raw->data && each == 8 ? p->double_data[k] : 0;
        uint16_t h = !raw->data && each == 2 ? (uint16_t)p->int32_data[k] : 0;
        if (raw->data)
            memcpy(each == 8 ? (void *)&d : (void *)&h, raw->data + k * each, each);
        if (each == 2)
            narrow->read(&h, 1, &d);
        out[k] = (f32)d;
    }
    t->f = out;
    return true;
}

/* Reads float32.  Large raw data that live as long as the tensor are not copied.  In the model's
 * file they may be unaligned: they then move down by up to 3 bytes, over the key and the length of
 * their protobuf field, which together have at least 3 bytes. */
static bool read_floats(struct onnx_reader *r, const Onnx__TensorProto *p,
                        const struct wire_span *raw, struct onnx_tensor *t)
{
    size_t n = (size_t)t->elems, bytes = n * sizeof *t->f;
    if (raw->data && bytes > 127 && (r->owned || is_external(p))) {
        uint8_t *to = raw->data - (uintptr_t)raw->data % sizeof *t->f;
        t->f = (const f32 *)(void *)memmove(to, raw->data, bytes);
    } else if (raw->data) {
        t->f = arena_copy(r->a, raw->data, bytes);
    } else if (p->n_float_data == n) {
        t->f = n ? arena_copy(r->a, p->float_data, bytes) : arena_alloc(r->a, sizeof *t->f);
    } else {
        return wrong_tensor(r, t, "float_data: not as many elements as dims say");
    }
    return true;
}

static bool read_tensor(struct onnx_reader *r, const Onnx__TensorProto *p, struct onnx_tensor *t)
{
    *t = (struct onnx_tensor){ .name = text_of(r, p->name), .type = p->data_type };
    if (!p->has_data_type || p->data_type <= 0 || p->data_type >= COUNT_OF(type_names))
        return wrong_tensor(r, t, "data_type: missing or unknown");
    struct wire_span raw;
    if (p->segment)
        return wrong_tensor(r, t, "segment: tensors in parts are not read");
    if (!read_dims(r, p, t))
        return false;
    if (bytes_per(t->type) == 0)
        return true;                      /* the data of other types (strings) are not read */
    if (!read_raw(r, p, t, &raw))
        return false;
    if (t->type == ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT)
        return read_floats(r, p, &raw, t);
    if (t->type == ONNX__TENSOR_PROTO__DATA_TYPE__DOUBLE ||
        t->type == ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT16 ||
        t->type == ONNX__TENSOR_PROTO__DATA_TYPE__BFLOAT16)
        return read_other_floats(r, p, &raw, t);
    return read_ints(r, p, &raw, t);
}

/* --- Attributes and nodes --------------------------------------------------------------------- */

static bool wrong_attr(struct onnx_reader *r, const struct onnx_node *n, const char *attr,
                       const char *why)
{
    return err_set(r->e, ERR_SYNTAX, "%s: node %.80s (%.40s): attribute %.40s: %s", r->what,
                   n->name, n->op, attr, why);
}

static enum onnx_attr_kind kind_of(const Onnx__AttributeProto *p)
{
    switch (p->has_type ? (int)p->type : 0) {
    case ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__FLOAT: return ATTR_FLOAT;
    case ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INT: return ATTR_INT;
    case ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__STRING: return ATTR_TEXT;
    case ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__TENSOR: return ATTR_TENSOR;
    case ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INTS: return ATTR_INTS;
    case ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__FLOATS: return ATTR_FLOATS;
    case ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__UNDEFINED: break;
    default: return ATTR_OTHER;
    }
    return p->has_i ? ATTR_INT : p->has_f ? ATTR_FLOAT : p->n_ints ? ATTR_INTS
           : p->has_s ? ATTR_TEXT : p->t ? ATTR_TENSOR : ATTR_OTHER;
}

static bool read_attr(struct onnx_reader *r, const struct onnx_node *n,
                      const Onnx__AttributeProto *p, struct onnx_attr *a)
{
    *a = (struct onnx_attr){ .name = text_of(r, p->name), .text = "", .kind = kind_of(p) };
    a->i = p->has_i ? p->i : 0;
    a->f = p->has_f ? (double)p->f : 0;
    if (!a->name[0])
        return wrong_attr(r, n, "?", "has no name");
    if (p->has_s && a->kind == ATTR_TEXT)
        a->text = wire_text(r->a, (const char *)p->s.data, p->s.len);
    if (a->kind == ATTR_FLOAT && !isfinite(a->f))
        return wrong_attr(r, n, a->name, "not a finite number");
    if (a->kind == ATTR_INTS) {
        if (p->n_ints > MAX_LIST)
            return wrong_attr(r, n, a->name, "too many numbers");
        a->n = (int)p->n_ints;
        a->ints = p->n_ints ? ARENA_DUP(r->a, p->ints, p->n_ints) : NULL;
    }
    if (a->kind == ATTR_FLOATS) {
        if (p->n_floats > MAX_LIST)
            return wrong_attr(r, n, a->name, "too many numbers");
        a->n = (int)p->n_floats;
        a->floats = p->n_floats ? ARENA_DUP(r->a, p->floats, p->n_floats) : NULL;
    }
    if (a->kind != ATTR_TENSOR)
        return true;
    if (!p->t)
        return wrong_attr(r, n, a->name, "has no tensor");
    struct onnx_tensor *t = ARENA_NEW(r->a, struct onnx_tensor);
    a->tensor = t;
    return read_tensor(r, p->t, t);
}

static bool read_node(struct onnx_reader *r, const Onnx__NodeProto *p, int index,
                      struct onnx_node *n)
{
    *n = (struct onnx_node){ .name = text_of(r, p->name), .op = text_of(r, p->op_type),
                             .domain = domain_of(r, p->domain) };
    if (!n->name[0])
        n->name = p->n_output && p->output[0][0] ? text_of(r, p->output[0])
                                                 : arena_printf(r->a, "#%d", index);
    if (!n->op[0])
        return err_set(r->e, ERR_SYNTAX, "%s: node %.80s: op_type is missing", r->what, n->name);
    if (p->n_input > MAX_LIST || p->n_output > MAX_LIST || p->n_attribute > 1000)
        return err_set(r->e, ERR_RANGE, "%s: node %.80s (%.40s): too many inputs, outputs or "
                       "attributes", r->what, n->name, n->op);
    n->in = names_of(r, p->input, p->n_input);
    n->out = names_of(r, p->output, p->n_output);
    struct onnx_attr *attr = ARENA_ARRAY(r->a, struct onnx_attr, p->n_attribute + 1);
    for (size_t k = 0; k < p->n_attribute; k++)
        if (!read_attr(r, n, p->attribute[k], &attr[k]))
            return false;
    n->attr = attr;
    n->n_in = (int)p->n_input;
    n->n_out = (int)p->n_output;
    n->n_attr = (int)p->n_attribute;
    return true;
}

/* --- Inputs and outputs of the graph ---------------------------------------------------------- */

static bool read_port(struct onnx_reader *r, const Onnx__ValueInfoProto *p, struct onnx_port *port)
{
    *port = (struct onnx_port){ .name = text_of(r, p->name), .rank = -1 };
    if (!port->name[0])
        return err_set(r->e, ERR_SYNTAX, "%s: an input or output of the graph has no name",
                       r->what);
    if (!p->type || p->type->value_case != ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE ||
        !p->type->tensor_type)
        return true;                      /* not a tensor, or no type: only the name is read */
    const Onnx__TypeProto__Tensor *t = p->type->tensor_type;
    port->type = t->has_elem_type ? t->elem_type : 0;
    if (!t->shape)
        return true;
    if (t->shape->n_dim > ONNX_MAX_RANK)
        return err_set(r->e, ERR_RANK, "%s: the shape of %.80s has more than %d dimensions",
                       r->what, port->name, ONNX_MAX_RANK);
    for (size_t d = 0; d < t->shape->n_dim; d++) {
        const Onnx__TensorShapeProto__Dimension *dim = t->shape->dim[d];
        bool fixed = dim->value_case == ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE;
        if (fixed && (dim->dim_value < 0 || dim->dim_value > MAX_ELEMS))
            return err_set(r->e, ERR_RANGE, "%s: the shape of %.80s has a dimension of %lld",
                           r->what, port->name, (long long)dim->dim_value);
        port->dims[d] = fixed ? dim->dim_value : -1;
        bool named = dim->value_case == ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_PARAM &&
                     dim->dim_param && dim->dim_param[0];
        port->dim_name[d] = fixed   ? NULL
                            : named ? text_of(r, dim->dim_param)
                                    : arena_printf(r->a, "%s.%zu", port->name, d);
    }
    port->rank = (int)t->shape->n_dim;
    return true;
}

static bool is_initializer(const struct onnx_model *m, const char *name)
{
    for (int i = 0; i < m->n_init; i++)
        if (streq(m->init[i].name, name))
            return true;
    return false;
}

static bool read_ports(struct onnx_reader *r, const struct onnx_model *m,
                       Onnx__ValueInfoProto *const *from, size_t n, bool inputs,
                       struct onnx_port **out, int *n_out)
{
    struct onnx_port *port = ARENA_ARRAY(r->a, struct onnx_port, n + 1);
    int count = 0;
    for (size_t i = 0; i < n; i++) {
        if (!read_port(r, from[i], &port[count]))
            return false;
        count += !inputs || !is_initializer(m, port[count].name);
    }
    *out = port;
    *n_out = count;
    return true;
}

static int by_name(const void *p, const void *q)
{
    return strcmp(((const struct onnx_declared *)p)->name,
                  ((const struct onnx_declared *)q)->name);
}

/* Reads the shapes that are declared for values inside the graph. */
static void read_declared(struct onnx_reader *r, const Onnx__GraphProto *g, struct onnx_model *m)
{
    struct onnx_declared *list = ARENA_ARRAY(r->a, struct onnx_declared, g->n_value_info);
    for (size_t i = 0; i < g->n_value_info; i++) {
        const Onnx__TypeProto *type = g->value_info[i]->type;
        bool tensor = type && type->value_case == ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE
                   && type->tensor_type && type->tensor_type->shape;
        const Onnx__TensorShapeProto *shape = tensor ? type->tensor_type->shape : NULL;
        if (!shape || shape->n_dim > ONNX_MAX_RANK)
            continue;
        int64_t *dims = ARENA_ARRAY(r->a, int64_t, shape->n_dim);
        for (size_t d = 0; d < shape->n_dim; d++) {
            const Onnx__TensorShapeProto__Dimension *dim = shape->dim[d];
            bool fixed = dim->value_case == ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE;
            dims[d] = fixed && dim->dim_value > 0 ? dim->dim_value : -1;
        }
        list[m->n_declared++] = (struct onnx_declared){ text_of(r, g->value_info[i]->name),
                                                        (int)shape->n_dim, dims };
    }
    qsort(list, (size_t)m->n_declared, sizeof *list, by_name);
    m->declared = list;
}

/* Checks that the external data of all initializers fit into memory, before any are read. */
static bool external_fits(struct onnx_reader *r, const Onnx__GraphProto *g)
{
    double have = (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE), need = 0;
    for (size_t i = 0; i < g->n_initializer; i++) {
        const Onnx__TensorProto *p = g->initializer[i];
        double bytes = (double)bytes_per(p->data_type);
        for (size_t d = 0; d < p->n_dims; d++)
            bytes *= (double)p->dims[d];
        need += is_external(p) ? bytes : 0;
    }
    return need <= have || err_set(r->e, ERR_RANGE, "%s: its tensors need %.1f GiB of memory, but "
                                   "this machine has %.1f GiB", r->what, need / 0x1p30,
                                   have / 0x1p30);
}

static bool read_initializers(struct onnx_reader *r, const Onnx__GraphProto *g,
                              struct onnx_model *m)
{
    struct onnx_tensor *t = ARENA_ARRAY(r->a, struct onnx_tensor, g->n_initializer + 1);
    if (g->n_sparse_initializer)
        return err_set(r->e, ERR_TYPE, "%s: sparse tensors (sparse_initializer) are not supported",
                       r->what);
    if (!external_fits(r, g))
        return false;
    for (size_t i = 0; i < g->n_initializer; i++) {
        if (!read_tensor(r, g->initializer[i], &t[i]))
            return false;
        if (!t[i].name[0])
            return err_set(r->e, ERR_SYNTAX, "%s: initializer %zu has no name", r->what, i);
    }
    m->init = t;
    m->n_init = (int)g->n_initializer;
    return true;
}

static bool read_opset(struct onnx_reader *r, const Onnx__ModelProto *p, struct onnx_model *m)
{
    m->ir = p->has_ir_version ? p->ir_version : 0;
    m->opset = 1;
    for (size_t i = 0; i < p->n_opset_import; i++) {
        if (domain_of(r, p->opset_import[i]->domain)[0])
            continue;
        m->opset = p->opset_import[i]->has_version ? p->opset_import[i]->version : 0;
    }
    if (m->opset >= 1 && m->opset <= 100)
        return true;
    return err_set(r->e, ERR_RANGE, "%s: opset_import has version %lld, which is not supported",
                   r->what, (long long)m->opset);
}

static bool read_model(struct onnx_reader *r, const Onnx__ModelProto *p, struct onnx_model *m)
{
    const Onnx__GraphProto *g = p->graph;
    if (!g)
        return err_set(r->e, ERR_SYNTAX, "%s: the model has no graph", r->what);
    if (g->n_node == 0 || g->n_node > MAX_NODES || g->n_initializer > MAX_NODES ||
        g->n_input > MAX_NODES || g->n_output > MAX_NODES)
        return err_set(r->e, ERR_RANGE,
                       "%s: the graph has %zu nodes, %zu initializers and %zu inputs; 1 to %d "
                       "nodes are possible", r->what, g->n_node, g->n_initializer, g->n_input,
                       MAX_NODES);
    const char *by = text_of(r, p->producer_name), *version = text_of(r, p->producer_version);
    m->name = text_of(r, g->name);
    m->producer = version[0] ? arena_printf(r->a, "%s %s", by, version) : by;
    if (!read_opset(r, p, m) || !read_initializers(r, g, m) ||
        !read_ports(r, m, g->input, g->n_input, true, &m->in, &m->n_in) ||
        !read_ports(r, m, g->output, g->n_output, false, &m->out, &m->n_out))
        return false;
    read_declared(r, g, m);
    struct onnx_node *node = ARENA_ARRAY(r->a, struct onnx_node, g->n_node);
    for (size_t i = 0; i < g->n_node; i++)
        if (!read_node(r, g->node[i], (int)i, &node[i]))
            return false;
    m->node = node;
    m->n_nodes = (int)g->n_node;
    return true;
}

/* Reads a model from `data`, which must be allocated with malloc, and takes ownership of it. */
static bool read_owned(const char *what, const char *folder, void *data, size_t n,
                       struct onnx_model **out, struct err *e)
{
    struct arena *a = arena_new();
    struct onnx_model *m = ARENA_NEW(a, struct onnx_model);
    struct onnx_reader r = { a, m, .what = what, .folder = folder, .e = e, .owned = true };
    Onnx__ModelProto *proto =
        wire_unpack(&onnx__model_proto__descriptor, what, data, n, &r.wire, e);
    m->arena = a;
    m->data = data;
    bool ok = proto && read_model(&r, proto, m);
    if (proto)
        wire_free(proto, &r.wire);
    if (ok)
        *out = m;
    else
        onnx_free(m);
    return ok;
}

bool onnx_read(const char *what, const void *data, size_t n, struct onnx_model **out,
               struct err *e)
{
    void *copy = xmalloc(n + 1);
    if (n)
        memcpy(copy, data, n);
    return read_owned(what, NULL, copy, n, out, e);
}

bool onnx_load(const char *path, struct onnx_model **out, struct err *e)
{
    struct str data = { 0 }, folder = { 0 };
    file_add_folder(&folder, path);
    bool ok = file_read(path, ONNX_MAX_BYTES, &data, e) &&
              read_owned(path, folder.len ? str_text(&folder) : "./", data.data, data.len, out, e);
    if (ok)
        (*out)->file = arena_strdup((*out)->arena, path);
    str_free(&folder);
    return ok;
}

void onnx_free(struct onnx_model *m)
{
    if (!m)
        return;
    free(m->data);
    arena_free(m->arena);
}

static bool tensor_from(struct onnx_reader *r, const struct str *data,
                        const struct onnx_tensor **out)
{
    Onnx__TensorProto *proto = wire_unpack(&onnx__tensor_proto__descriptor, r->what, data->data,
                                           data->len, &r->wire, r->e);
    if (!proto)
        return false;
    struct onnx_tensor *t = ARENA_NEW(r->a, struct onnx_tensor);
    bool ok = read_tensor(r, proto, t);
    wire_free(proto, &r->wire);
    if (ok)
        *out = t;
    return ok;
}

bool onnx_tensor_load(struct arena *a, const char *path, const struct onnx_tensor **out,
                      struct err *e)
{
    struct str data = { 0 };
    struct onnx_reader r = { .a = a, .what = path, .e = e };
    bool ok = file_read(path, ONNX_MAX_BYTES, &data, e) && tensor_from(&r, &data, out);
    str_free(&data);
    return ok;
}
