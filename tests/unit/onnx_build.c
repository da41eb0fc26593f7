#include "tests/unit/onnx_build.h"

#include <ctype.h>
#include <onnx.pb-c.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/base/file.h"

struct builder { struct arena *a; Onnx__GraphProto g; };

#define PUSH(b, list, n, type, value) \
    do { \
        type *more_ = ARENA_ARRAY((b)->a, type, (n) + 1); \
        for (size_t i_ = 0; i_ < (n); i_++) \
            more_[i_] = (list)[i_]; \
        more_[(n)++] = (value); \
        (list) = more_; \
    } while (0)

static size_t numbers(struct arena *a, const char *text, int64_t **out)
{
    size_t n = 0;
    *out = ARENA_ARRAY(a, int64_t, strlen(text) + 1);
    while (*text) {
        char *end;
        (*out)[n++] = strtoll(text, &end, 10);
        text = *end ? end + 1 : end;
    }
    return n;
}

static Onnx__ValueInfoProto *port(struct builder *b, char *spec, int type_number)
{
    char *dims = strchr(spec, ':');
    Onnx__ValueInfoProto *v = ARENA_NEW(b->a, Onnx__ValueInfoProto);
    onnx__value_info_proto__init(v);
    v->name = spec;
    if (!dims)
        return v;
    *dims++ = '\0';
    Onnx__TypeProto *type = v->type = ARENA_NEW(b->a, Onnx__TypeProto);
    onnx__type_proto__init(type);
    type->value_case = ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE;
    type->tensor_type = ARENA_NEW(b->a, Onnx__TypeProto__Tensor);
    onnx__type_proto__tensor__init(type->tensor_type);
    type->tensor_type->has_elem_type = true;
    type->tensor_type->elem_type = type_number;
    Onnx__TensorShapeProto *shape = type->tensor_type->shape =
        ARENA_NEW(b->a, Onnx__TensorShapeProto);
    onnx__tensor_shape_proto__init(shape);
    char *rest;
    for (char *dim = strtok_r(dims, ",", &rest); dim; dim = strtok_r(NULL, ",", &rest)) {
        Onnx__TensorShapeProto__Dimension *x = ARENA_NEW(b->a, Onnx__TensorShapeProto__Dimension);
        onnx__tensor_shape_proto__dimension__init(x);
        bool open = streq(dim, "0") || isalpha((unsigned char)*dim);
        x->value_case = open ? ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_PARAM
                             : ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE;
        if (open)
            x->dim_param = streq(dim, "0") ? arena_strdup(b->a, "N") : dim;
        else
            x->dim_value = strtoll(dim, NULL, 10);
        PUSH(b, shape->dim, shape->n_dim, Onnx__TensorShapeProto__Dimension *, x);
    }
    return v;
}

/* Leaves the data of a tensor to a file beside the model. */
static void put_away(struct builder *b, Onnx__TensorProto *t, char *file)
{
    Onnx__StringStringEntryProto *at = ARENA_NEW(b->a, Onnx__StringStringEntryProto);
    onnx__string_string_entry_proto__init(at);
    at->key = arena_strdup(b->a, "location");
    at->value = file;
    PUSH(b, t->external_data, t->n_external_data, Onnx__StringStringEntryProto *, at);
    t->has_data_location = true;
    t->data_location = ONNX__TENSOR_PROTO__DATA_LOCATION__EXTERNAL;
    t->n_float_data = 0;
}

/* floats: dims; integers: the values of a vector */
static Onnx__TensorProto *tensor(struct builder *b, char *spec, bool ints)
{
    char *list = strchr(spec, ':'), *file = strchr(spec, '@');
    *list++ = '\0';
    if (file)
        *file++ = '\0';
    Onnx__TensorProto *t = ARENA_NEW(b->a, Onnx__TensorProto);
    onnx__tensor_proto__init(t);
    t->name = spec;
    t->has_data_type = true;
    t->data_type = ints ? 7 : 1;
    int64_t *v, elems = 1;
    size_t n = numbers(b->a, list, &v);
    if (ints) {
        t->int64_data = v;
        t->n_int64_data = n;
        PUSH(b, t->dims, t->n_dims, int64_t, (int64_t)n);
        return t;
    }
    t->dims = v;
    t->n_dims = n;
    for (size_t d = 0; d < n; d++)
        elems *= v[d];
    t->n_float_data = (size_t)elems;
    t->float_data = ARENA_ARRAY(b->a, float, elems);
    for (int64_t i = 0; i < elems; i++)
        t->float_data[i] = (float)i / 4;
    if (file)
        put_away(b, t, file);
    return t;
}

static Onnx__AttributeProto *attribute(struct builder *b, char *word)
{
    Onnx__AttributeProto *x = ARENA_NEW(b->a, Onnx__AttributeProto);
    onnx__attribute_proto__init(x);
    char *value = strpbrk(word, "=~");
    bool text = *value == '~';
    *value++ = '\0';
    x->name = word;
    x->has_type = true;
    if (text) {
        x->type = ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__STRING;
        x->has_s = true;
        x->s = (ProtobufCBinaryData){ strlen(value), (uint8_t *)value };
    } else if (strchr(value, '.') && strchr(value, ',')) {
        x->type = ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__FLOATS;
        for (char *p = value; *p; p += *p == ',') {
            float f = strtof(p, &p);
            PUSH(b, x->floats, x->n_floats, float, f);
        }
    } else if (strchr(value, '.')) {
        x->type = ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__FLOAT;
        x->has_f = true;
        x->f = strtof(value, NULL);
    } else if (strchr(value, ',')) {
        x->type = ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INTS;
        x->n_ints = numbers(b->a, value, &x->ints);
    } else {
        x->type = ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INT;
        x->has_i = true;
        x->i = strtoll(value, NULL, 10);
    }
    return x;
}

static void add_node(struct builder *b, char *rest)
{
    Onnx__NodeProto *n = ARENA_NEW(b->a, Onnx__NodeProto);
    onnx__node_proto__init(n);
    char *save, *word = strtok_r(rest, " ", &save);
    bool out = false;
    n->op_type = word;
    while ((word = strtok_r(NULL, " ", &save)))
        if (streq(word, ">"))
            out = true;
        else if (strpbrk(word, "=~"))
            PUSH(b, n->attribute, n->n_attribute, Onnx__AttributeProto *, attribute(b, word));
        else if (out)
            PUSH(b, n->output, n->n_output, char *, word);
        else
            PUSH(b, n->input, n->n_input, char *, streq(word, "_") ? word + 1 : word);
    PUSH(b, b->g.node, b->g.n_node, Onnx__NodeProto *, n);
}

static void add_statement(struct builder *b, char *s)
{
    s += strspn(s, " ");
    char *rest = s + strcspn(s, " ");
    if (!*s)
        return;
    *rest++ = '\0';
    if (streq(s, "in") || (str_starts(s, "in") && isdigit((unsigned char)s[2])))
        PUSH(b, b->g.input, b->g.n_input, Onnx__ValueInfoProto *,
             port(b, rest, s[2] ? atoi(s + 2) : 1));
    else if (streq(s, "out"))
        PUSH(b, b->g.output, b->g.n_output, Onnx__ValueInfoProto *, port(b, rest, 1));
    else if (streq(s, "info"))
        PUSH(b, b->g.value_info, b->g.n_value_info, Onnx__ValueInfoProto *, port(b, rest, 1));
    else if (streq(s, "node"))
        add_node(b, rest);
    else
        PUSH(b, b->g.initializer, b->g.n_initializer, Onnx__TensorProto *,
             tensor(b, rest, streq(s, "ints")));
}

size_t onnx_build(struct arena *a, int opset, const char *text, uint8_t **out)
{
    struct builder b = { .a = a };
    onnx__graph_proto__init(&b.g);
    b.g.name = arena_strdup(a, "small");
    char *copy = arena_strdup(a, text), *save;
    for (char *s = strtok_r(copy, ";", &save); s; s = strtok_r(NULL, ";", &save))
        add_statement(&b, s);
    Onnx__OperatorSetIdProto set, *sets[] = { &set };
    Onnx__ModelProto m;
    onnx__operator_set_id_proto__init(&set);
    onnx__model_proto__init(&m);
    set.has_version = true;
    set.version = opset;
    m.has_ir_version = true;
    m.ir_version = 7;
    m.n_opset_import = opset > 0;
    m.opset_import = sets;
    m.producer_name = arena_strdup(a, "test");
    m.graph = &b.g;
    size_t n = onnx__model_proto__get_packed_size(&m);
    *out = arena_alloc(a, n);
    return onnx__model_proto__pack(&m, *out);
}

bool onnx_build_file(const char *path, int opset, const char *text)
{
    struct arena *a = arena_new();
    uint8_t *data;
    struct err e;
    size_t n = onnx_build(a, opset, text, &data);
    bool ok = file_write_atomic(path, (const char *)data, n, &e);
    arena_free(a);
    return ok;
}
