/* The text of tensor blocks: instructions of PTX, which need no header of the toolkit. In the host
 * twin, C functions take their place, in which the lanes of a warp exchange what they loaded. */
#include "kernels/gen/emit.h"

#include <string.h>

/* In the texts, @ is the element type and $ is the type of its sums. */
static const char rows_gpu[] =
    "/* Loads four 8 x 8 matrices: lane 8*r + i gives the address of row i of matrix r, and gets\n"
    " * in register r two elements of row lane / 4. */\n"
    "static inline void fragment_rows(unsigned *part, const @ *row)\n{\n"
    "    unsigned at = (unsigned)__cvta_generic_to_shared(row);\n"
    "    asm volatile(\"ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];\"\n"
    "                 : \"=r\"(part[0]), \"=r\"(part[1]), \"=r\"(part[2]), \"=r\"(part[3])\n"
    "                 : \"r\"(at) : \"memory\");\n}\n";
static const char columns_gpu[] =
    "/* The same of transposed matrices: a lane gets two elements of column lane / 4. */\n"
    "static inline void fragment_columns(unsigned *part, const @ *row)\n{\n"
    "    unsigned at = (unsigned)__cvta_generic_to_shared(row);\n"
    "    asm volatile(\"ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];\"\n"
    "                 : \"=r\"(part[0]), \"=r\"(part[1]), \"=r\"(part[2]), \"=r\"(part[3])\n"
    "                 : \"r\"(at) : \"memory\");\n}\n";
static const char pair_text[] =
    "static inline unsigned fragment_pair(const @ *two) { return *(const unsigned *)two; }\n";
static const char pair_twin[] =
    "static inline unsigned fragment_pair(const @ *two)\n{\n"
    "    return two[0] | (unsigned)two[1] << 16;\n}\n";
static const char both_text[] =
    "static inline unsigned fragment_both(@ low, @ high)\n{\n"
    "    return low | (unsigned)high << 16;\n}\n";

/* Parameter c<i>, 0 <= i < 8, is the result in row lane / 4 + 8*(i / 4) and column 2*(lane % 4) +
 * i % 2 + 8*(i / 2 % 2) of the block. */
static const char mma_head[] =
    "static inline void mma(const unsigned *a, const unsigned *b, $ *c0, $ *c1,\n"
    "                       $ *c2, $ *c3, $ *c4, $ *c5, $ *c6, $ *c7)\n"
    "{\n";
static const char mma_tf32_gpu[] =
    "    asm(\"mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, \"\n"
    "        \"{%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};\"\n"
    "        : \"+f\"(*c0), \"+f\"(*c1), \"+f\"(*c4), \"+f\"(*c5)\n"
    "        : \"r\"(a[0]), \"r\"(a[1]), \"r\"(a[2]), \"r\"(a[3]), \"r\"(b[0]), \"r\"(b[1]));\n"
    "    asm(\"mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, \"\n"
    "        \"{%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};\"\n"
    "        : \"+f\"(*c2), \"+f\"(*c3), \"+f\"(*c6), \"+f\"(*c7)\n"
    "        : \"r\"(a[0]), \"r\"(a[1]), \"r\"(a[2]), \"r\"(a[3]), \"r\"(b[2]), \"r\"(b[3]));\n}\n";
static const char mma_gpu[] =
    "    asm(\"mma.sync.aligned.m16n8k16.row.col.f32.@.@.f32 {%0, %1, %2, %3}, \"\n"
    "        \"{%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};\"\n"
    "        : \"+f\"(*c0), \"+f\"(*c1), \"+f\"(*c4), \"+f\"(*c5)\n"
    "        : \"r\"(a[0]), \"r\"(a[1]), \"r\"(a[2]), \"r\"(a[3]), \"r\"(b[0]), \"r\"(b[1]));\n"
    "    asm(\"mma.sync.aligned.m16n8k16.row.col.f32.@.@.f32 {%0, %1, %2, %3}, \"\n"
    "        \"{%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};\"\n"
    "        : \"+f\"(*c2), \"+f\"(*c3), \"+f\"(*c6), \"+f\"(*c7)\n"
    "        : \"r\"(a[0]), \"r\"(a[1]), \"r\"(a[2]), \"r\"(a[3]), \"r\"(b[2]), \"r\"(b[3]));\n}\n";

/* In the twin, a lane gives data to its warp, and waits until all lanes have given theirs. */
static const char give_twin[] =
    "struct ts_given { const void *row; unsigned a[4], b[4]; };\n"
    "/* Gives *mine to the warp.  Returns what its lanes gave, until the call after the next. */\n"
    "static const struct ts_given *ts_give(const struct ts_given *mine, int line)\n{\n"
    "    static struct ts_given all[2][1024];\n"
    "    struct ts_given *side = all[ts_fiber[ts_now].turn ^= 1];\n"
    "    int warp = ts_now / 32 * 32;\n"
    "    side[ts_now] = *mine;\n    ts_meet_warp(line);\n    return side + warp;\n}\n";
static const char rows_twin[] =
    "static void fragment_rows(unsigned *part, const @ *row)\n{\n"
    "    const struct ts_given *lane = ts_give(&(struct ts_given){ .row = row }, __LINE__);\n"
    "    for (int r = 0; r < 4; r++) {\n"
    "        const @ *from = lane[8 * r + ts_now % 32 / 4].row;\n"
    "        part[r] = from[ts_now % 4 * 2] | (unsigned)from[ts_now % 4 * 2 + 1] << 16;\n"
    "    }\n}\n";
static const char columns_twin[] =
    "static void fragment_columns(unsigned *part, const @ *row)\n{\n"
    "    const struct ts_given *lane = ts_give(&(struct ts_given){ .row = row }, __LINE__);\n"
    "    for (int r = 0; r < 4; r++) {\n"
    "        const @ *low = lane[8 * r + ts_now % 4 * 2].row;\n"
    "        const @ *high = lane[8 * r + ts_now % 4 * 2 + 1].row;\n"
    "        part[r] = low[ts_now % 32 / 4] | (unsigned)high[ts_now % 32 / 4] << 16;\n    }\n}\n";
static const char mma_twin[] =
    "    struct ts_given mine = { 0, { a[0], a[1], a[2], a[3] }, { b[0], b[1], b[2], b[3] } };\n"
    "    const struct ts_given *lane = ts_give(&mine, __LINE__);\n"
    "    $ *c[8] = { c0, c1, c2, c3, c4, c5, c6, c7 };\n"
    "    for (int i = 0; i < 8; i++)\n        for (int k = 0; k < 16; k++) {\n"
    "            int column = ts_now % 4 * 2 + i % 2, of = k % 8 / 2, high = k % 2 * 16;\n"
    "            unsigned x = lane[ts_now % 32 / 4 * 4 + of].a[i / 4 + k / 8 * 2] >> high;\n"
    "            unsigned y = lane[column * 4 + of].b[i / 2 % 2 * 2 + k / 8] >> high;\n"
    "            *c[i] += from_@((@)(x & 0xffff)) * from_@((@)(y & 0xffff));\n        }\n}\n";

static const char mma_tf32_twin[] =
    "    struct ts_given mine = { 0, { a[0], a[1], a[2], a[3] }, { b[0], b[1], b[2], b[3] } };\n"
    "    const struct ts_given *lane = ts_give(&mine, __LINE__);\n"
    "    $ *c[8] = { c0, c1, c2, c3, c4, c5, c6, c7 };\n"
    "    for (int i = 0; i < 8; i++)\n        for (int k = 0; k < 8; k++) {\n"
    "            int column = ts_now % 4 * 2 + i % 2;\n            float x, y;\n"
    "            __builtin_memcpy(&x, &lane[ts_now % 32 / 4 * 4 + k % 4].a[i / 4 + k / 4 * 2],"
    " 4);\n"
    "            __builtin_memcpy(&y, &lane[column * 4 + k % 4].b[i / 2 % 2 * 2 + k / 4], 4);\n"
    "            *c[i] += x * y;\n        }\n}\n";
static const char rows_tf32_twin[] =
    "static void fragment_rows(unsigned *part, const $ *row)\n{\n"
    "    const struct ts_given *lane = ts_give(&(struct ts_given){ .row = row }, __LINE__);\n"
    "    for (int r = 0; r < 4; r++) {\n"
    "        const $ *from = lane[8 * r + ts_now % 32 / 4].row;\n"
    "        part[r] = tf32(from[ts_now % 4]);\n    }\n}\n";
/* ldmatrix for f32: the hardware moves an element of 32 bits as if it were two elements of 16. */
static const char rows_tf32_gpu[] =
    "/* Loads four matrices of 8 x 4: lane 8*r + i gives the address of row i of matrix r, and"
    " gets\n * in register r element lane % 4 of row lane / 4. */\n"
    "static inline void fragment_rows(unsigned *part, const $ *row)\n{\n"
    "    unsigned at = (unsigned)__cvta_generic_to_shared(row);\n"
    "    asm volatile(\"ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];\"\n"
    "                 : \"=r\"(part[0]), \"=r\"(part[1]), \"=r\"(part[2]), \"=r\"(part[3])\n"
    "                 : \"r\"(at) : \"memory\");\n"
    "    for (int r = 0; r < 4; r++)\n        part[r] = tf32(__uint_as_float(part[r]));\n}\n";
/* Rounds to a mantissa of 10 bits, ties away from zero. */
static const char tf32_gpu[] =
    "static inline unsigned tf32(float x)\n{\n    unsigned r;\n"
    "    asm(\"cvt.rna.tf32.f32 %0, %1;\" : \"=r\"(r) : \"f\"(x));\n    return r;\n}\n";
static const char tf32_twin[] =
    "/* Rounds to 10 bits behind the point, ties away from zero. */\n"
    "static inline unsigned tf32(float x)\n{\n    unsigned r;\n    __builtin_memcpy(&r, &x, 4);\n"
    "    return (r & 0x7f800000) == 0x7f800000 ? r : (r + 0x1000) & 0xffffe000;\n}\n";

static void put(struct str *out, const char *text, const struct elem_type *type)
{
    for (; *text; text++)
        if (*text == '@')
            str_add(out, type->name);
        else if (*text == '$')
            str_add(out, type->sum->c);
        else
            str_add_char(out, *text);
}

/* Appends the helpers of f32, which the tensor cores multiply as tf32. */
static void tf32_helpers(const struct emit *m, struct str *out)
{
    const struct tensor_needs *n = &m->needs.tensor;
    const struct elem_type *type = m->u->type;
    put(out, m->twin ? tf32_twin : tf32_gpu, type);
    if (m->twin)
        put(out, give_twin, type);
    if (n->rows)
        put(out, m->twin ? rows_tf32_twin : rows_tf32_gpu, type);
    put(out, mma_head, type);
    put(out, m->twin ? mma_tf32_twin : mma_tf32_gpu, type);
}

void tensor_helpers(const struct emit *m, struct str *out)
{
    const struct tensor_needs *n = &m->needs.tensor;
    const struct elem_type *type = m->u->narrow;
    if (!type) {
        if (n->mma)
            tf32_helpers(m, out);
        return;
    }
    if (m->twin && (n->rows || n->columns || n->mma))
        put(out, give_twin, type);
    if (n->rows)
        put(out, m->twin ? rows_twin : rows_gpu, type);
    if (n->columns)
        put(out, m->twin ? columns_twin : columns_gpu, type);
    if (n->pair)
        put(out, m->twin ? pair_twin : pair_text, type);
    if (n->both)
        put(out, both_text, type);
    if (n->mma) {
        put(out, mma_head, type);
        put(out, m->twin ? mma_twin : mma_gpu, type);
    }
}

/* Prints "unsigned a0[4];" and a call that fills it, or "unsigned a0[4] = { ... };". */
void code_print_fragment(struct emit *m, const struct code *c)
{
    struct unit *u = m->u;
    struct fragment *f = &u->fragments.data[c->fragment[0]];
    struct tensor_needs *n = &m->needs.tensor;
    bool matrices = f->way == FRAGMENT_ROWS || f->way == FRAGMENT_COLUMNS;
    struct str text = { 0 }, *out = m->out;
    m->out = &text;
    for (int i = 0; i < f->n; i++) {
        const struct place *at = &c->value->part[i]->at;
        if (f->way == FRAGMENT_WORDS) {
            str_add(&text, i ? ", tf32(" : "tf32(");
            emit_place(m, at, false);
            str_add_char(&text, ')');
        } else if (matrices || f->way == FRAGMENT_PAIRS) {
            str_add(&text, matrices ? "" : i ? ", fragment_pair(" : "fragment_pair(");
            emit_address(m, at, false);
            str_add(&text, matrices ? "" : ")");
        } else {
            str_add(&text, i % 2 ? ", " : i ? ", fragment_both(" : "fragment_both(");
            emit_place(m, at, false);
            str_add(&text, i % 2 ? ")" : "");
        }
    }
    m->out = out;
    f->name = names_claim_numbered(m->names, code_stem(u, u->func->buffer[f->buffer].name));
    n->rows |= f->way == FRAGMENT_ROWS;
    n->columns |= f->way == FRAGMENT_COLUMNS;
    n->pair |= f->way == FRAGMENT_PAIRS;
    n->both |= f->way == FRAGMENT_ELEMENTS;
    if (matrices) {
        emit_line(m, "unsigned %s[4];", f->name);
        emit_line(m, "fragment_%s(%s, %s);", f->way == FRAGMENT_ROWS ? "rows" : "columns", f->name,
                  str_text(&text));
    } else {
        emit_line(m, "unsigned %s[4] = { %s };", f->name, str_text(&text));
    }
    str_free(&text);
}

void code_print_tensor(struct emit *m, const struct code *c)
{
    m->needs.tensor.mma = true;
    m->needs.narrow.get |= m->twin && m->u->narrow;
    emit_indent(m);
    str_printf(m->out, "mma(%s, %s", m->u->fragments.data[c->fragment[0]].name,
               m->u->fragments.data[c->fragment[1]].name);
    for (int i = 0; i < TENSOR_RESULTS; i++) {
        str_add(m->out, ", &");
        emit_value(m, c->value->part[i], 1);
    }
    str_add(m->out, ");\n");
}
