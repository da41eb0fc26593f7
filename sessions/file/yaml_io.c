/* Reading and writing YAML with libyaml.
 *
 * Reading uses the event API, because the document API builds cycles from aliases and needs
 * quadratic time for deep nesting.  Each START event is checked against the depth limit before its
 * content is read. */
#include "sessions/file/yaml_io.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>
#include "kernels/base/vec.h"

#define DEPTH_MAX 16

/* --- Lines and columns ------------------------------------------------------------------------ */

/* Returns the length of the line break at s (CR LF, CR, LF, NEL, LS, PS, as in libyaml), or 0. */
static size_t break_len(const char *s, const char *end)
{
    size_t left = (size_t)(end - s);
    if (left >= 2 && s[0] == '\r' && s[1] == '\n')
        return 2;
    if (left >= 1 && (s[0] == '\r' || s[0] == '\n'))
        return 1;
    if (left >= 2 && memcmp(s, "\xc2\x85", 2) == 0)
        return 2;
    if (left >= 3 && (memcmp(s, "\xe2\x80\xa8", 3) == 0 || memcmp(s, "\xe2\x80\xa9", 3) == 0))
        return 3;
    return 0;
}

/* Returns the byte offset of a line and column; both count from 0, columns in characters. */
static size_t offset_of(const struct ydoc *d, int line, int column)
{
    const char *s = d->text, *end = d->text + d->n;
    while (line > 0 && s < end) {
        size_t n = break_len(s, end);
        line -= n > 0;
        s += n ? n : 1;
    }
    while (column > 0 && s < end && !break_len(s, end)) {
        s++;
        while (s < end && ((unsigned char)*s & 0xc0) == 0x80)
            s++;
        column--;
    }
    return (size_t)(s - d->text);
}

/* Adds the place of a byte offset to *e: the line and the column in bytes, both from 1, and the
 * text of the line. len: how many bytes the carets mark.  Returns false. */
static bool at_offset(const struct ydoc *d, size_t offset, size_t len, struct err *e)
{
    size_t start = 0;
    int line = 1;
    if (offset > d->n)
        offset = d->n;
    for (size_t i = 0; i < offset; i++)
        if (d->text[i] == '\n') {
            line++;
            start = i + 1;
        }
    size_t size = 0;
    while (start + size < d->n && d->text[start + size] != '\n' && d->text[start + size] != '\0')
        size++;
    char *source = xmalloc(size + 1);
    memcpy(source, d->text + start, size);
    source[size] = '\0';
    err_where(e, d->name, line, (int)(offset - start) + 1, source);
    free(source);
    e->at.len = (int)len;
    return false;
}

bool yaml_at(const struct ydoc *d, const struct ynode *node, struct err *e)
{
    size_t from = offset_of(d, node->line, node->column);
    size_t to = offset_of(d, node->end_line, node->end_column);
    bool mark_all = node->kind == YNODE_SCALAR && node->line == node->end_line;
    return at_offset(d, from, mark_all && to > from ? to - from : 1, e);
}

bool yaml_refuse(const struct ydoc *d, const struct ynode *node, struct err *e, enum err_code code,
                 const char *fmt, ...)
{
    char text[sizeof e->text];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    err_set(e, code, "%s", text);
    return yaml_at(d, node, e);
}

bool yaml_at_text(const struct ydoc *d, const struct ynode *scalar, struct err *e)
{
    int col = e->at.col, len = e->at.len;
    size_t from = offset_of(d, scalar->line, scalar->column) + (scalar->plain ? 0 : 1);
    size_t size = strlen(scalar->text);
    bool verbatim = from + size <= d->n && memcmp(d->text + from, scalar->text, size) == 0;
    if (col < 1 || !verbatim || (size_t)col > size + 1)
        return yaml_at(d, scalar, e);
    return at_offset(d, from + (size_t)col - 1, (size_t)(len > 1 ? len : 1), e);
}

/* --- Reading ---------------------------------------------------------------------------------- */

/* A sequence or mapping whose END event has not come yet. */
struct open_node { struct ynode *node; VEC(const struct ynode *) items; };

struct yaml_reader {
    struct arena *a;
    struct ydoc *doc;
    yaml_parser_t parser;
    struct open_node open[DEPTH_MAX];
    int depth;
    int n_nodes;
    const struct ynode *root;
    bool ended;                           /* the first document has ended */
    struct err *e;
};

static size_t mark_offset(const struct yaml_reader *r, yaml_mark_t m)
{
    return offset_of(r->doc, (int)m.line, (int)m.column);
}

static bool refuse(struct yaml_reader *r, yaml_mark_t at, const char *what, const char *fix)
{
    err_set(r->e, ERR_SYNTAX, "%s", what);
    err_fix(r->e, "%s", fix);
    return at_offset(r->doc, mark_offset(r, at), 1, r->e);
}

static bool only_blanks_after(const struct ydoc *d, size_t offset)
{
    return offset >= d->n || strspn(d->text + offset, " \t\r\n") + offset >= d->n;
}

/* Turns libyaml's error into *r->e.  libyaml reports two places: where it stopped, and where the
 * unfinished construct begins.  When it stopped at the end of the file, only the latter helps. */
static bool libyaml_error(struct yaml_reader *r)
{
    const yaml_parser_t *p = &r->parser;
    if (p->error == YAML_MEMORY_ERROR)
        fail("out of memory in libyaml");
    if (p->error == YAML_READER_ERROR) {
        err_set(r->e, ERR_SYNTAX, "%s (0x%02x)", p->problem, (unsigned)p->problem_value);
        return at_offset(r->doc, p->problem_offset, 1, r->e);
    }
    size_t stopped = mark_offset(r, p->problem_mark), within = mark_offset(r, p->context_mark);
    bool at_end = p->context && only_blanks_after(r->doc, stopped);
    struct str text = {0};
    str_printf(&text, "%s", p->problem ? p->problem : "malformed YAML");
    if (p->context)
        str_printf(&text, " %s", p->context);
    if (at_end)
        str_add(&text, ", up to the end of the file");
    else if (p->context && p->context_mark.line != p->problem_mark.line)
        str_printf(&text, " that starts at line %d, column %d", (int)p->context_mark.line + 1,
                   (int)p->context_mark.column + 1);
    err_set(r->e, ERR_SYNTAX, "%s", str_text(&text));
    str_free(&text);
    if (!at_end && stopped < r->doc->n && r->doc->text[stopped] == '\t')
        err_fix(r->e, "indent with blanks, not with tabs");
    else if (p->problem && str_starts(p->problem, "mapping values are not allowed"))
        err_fix(r->e, "quote a text that contains \": \"");
    else if (p->problem && str_starts(p->problem, "did not find expected key"))
        err_fix(r->e, "indent this line like the other keys of the block");
    return at_offset(r->doc, at_end ? within : stopped, 1, r->e);
}

static bool is_key_place(const struct yaml_reader *r)
{
    const struct open_node *top = r->depth ? &r->open[r->depth - 1] : NULL;
    return top && top->node->kind == YNODE_MAP && top->items.len % 2 == 0;
}

static void attach(struct yaml_reader *r, const struct ynode *node)
{
    if (r->depth > 0)
        vec_push(&r->open[r->depth - 1].items, node);
    else
        r->root = node;
}

static struct ynode *new_node(struct yaml_reader *r, const yaml_event_t *ev, enum ynode_kind kind)
{
    struct ynode *node = ARENA_NEW(r->a, struct ynode);
    *node = (struct ynode){
        .kind = kind,
        .line = (int)ev->start_mark.line, .column = (int)ev->start_mark.column,
        .end_line = (int)ev->end_mark.line, .end_column = (int)ev->end_mark.column,
    };
    return node;
}

static bool read_scalar(struct yaml_reader *r, const yaml_event_t *ev)
{
    const char *text = (const char *)ev->data.scalar.value;
    if (memchr(text, '\0', ev->data.scalar.length))
        return refuse(r, ev->start_mark, "a text contains a NUL character", "");
    struct ynode *node = new_node(r, ev, YNODE_SCALAR);
    node->text = arena_strdup(r->a, text);
    node->plain = ev->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
    attach(r, node);
    return true;
}

static bool read_start(struct yaml_reader *r, const yaml_event_t *ev, enum ynode_kind kind)
{
    if (r->depth == DEPTH_MAX)
        return refuse(r, ev->start_mark, "nested deeper than 16 levels", "");
    if (is_key_place(r))
        return refuse(r, ev->start_mark, "a key must be a single word", "");
    struct open_node *top = &r->open[r->depth++];
    top->node = new_node(r, ev, kind);
    vec_clear(&top->items);
    return true;
}

static bool read_end(struct yaml_reader *r, const yaml_event_t *ev)
{
    struct open_node *top = &r->open[--r->depth];
    struct ynode *node = top->node;
    node->n = node->kind == YNODE_MAP ? top->items.len / 2 : top->items.len;
    node->end_line = (int)ev->end_mark.line;
    node->end_column = (int)ev->end_mark.column;
    if (top->items.len > 0)
        node->item = ARENA_DUP(r->a, top->items.data, top->items.len);
    attach(r, node);
    return true;
}

/* Refuses anchors and tags, which no file of tilescope needs, and a file with too many values. */
static bool check_plain_data(struct yaml_reader *r, const yaml_event_t *ev)
{
    const yaml_char_t *anchor = NULL, *tag = NULL;
    if (ev->type == YAML_SCALAR_EVENT) {
        anchor = ev->data.scalar.anchor;
        tag = ev->data.scalar.tag;
    } else if (ev->type == YAML_SEQUENCE_START_EVENT) {
        anchor = ev->data.sequence_start.anchor;
        tag = ev->data.sequence_start.tag;
    } else if (ev->type == YAML_MAPPING_START_EVENT) {
        anchor = ev->data.mapping_start.anchor;
        tag = ev->data.mapping_start.tag;
    }
    if (anchor)
        return refuse(r, ev->start_mark, "anchors (&) are not allowed here",
                      "quote the text if the & belongs to it");
    if (tag)
        return refuse(r, ev->start_mark, "tags (!) are not allowed here",
                      "quote the text if the ! belongs to it");
    if (r->n_nodes++ < YAML_NODES_MAX)
        return true;
    char many[64];
    snprintf(many, sizeof many, "more than %d values in one file", YAML_NODES_MAX);
    return refuse(r, ev->start_mark, many, "");
}

static bool read_event(struct yaml_reader *r, const yaml_event_t *ev)
{
    switch (ev->type) {
    case YAML_ALIAS_EVENT:
        return refuse(r, ev->start_mark, "aliases (*) are not allowed here",
                      "quote the text if the * belongs to it");
    case YAML_SCALAR_EVENT:
        return check_plain_data(r, ev) && read_scalar(r, ev);
    case YAML_SEQUENCE_START_EVENT:
        return check_plain_data(r, ev) && read_start(r, ev, YNODE_SEQ);
    case YAML_MAPPING_START_EVENT:
        return check_plain_data(r, ev) && read_start(r, ev, YNODE_MAP);
    case YAML_SEQUENCE_END_EVENT:
    case YAML_MAPPING_END_EVENT:
        return read_end(r, ev);
    case YAML_DOCUMENT_START_EVENT:
        if (r->ended)
            return refuse(r, ev->start_mark, "the file contains a second document",
                          "one session, one file");
        return true;
    case YAML_DOCUMENT_END_EVENT:
        r->ended = true;
        return true;
    case YAML_NO_EVENT:
    case YAML_STREAM_START_EVENT:
    case YAML_STREAM_END_EVENT:
        return true;
    }
    return true;
}

static bool read_events(struct yaml_reader *r)
{
    for (bool more = true; more;) {
        yaml_event_t ev;
        if (!yaml_parser_parse(&r->parser, &ev))
            return libyaml_error(r);
        more = ev.type != YAML_STREAM_END_EVENT;
        bool ok = read_event(r, &ev);
        yaml_event_delete(&ev);
        if (!ok)
            return false;
    }
    return true;
}

bool yaml_read(struct arena *a, const char *name, const char *text, size_t n, struct ydoc *out,
               struct err *e)
{
    if (n >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0) {
        text += 3;
        n -= 3;
    }
    struct ydoc doc = { .name = name, .text = text, .n = n };
    size_t bad;
    if (!utf8_valid(text, n, &bad)) {
        err_set(e, ERR_SYNTAX, "not UTF-8 text (byte 0x%02x)", (unsigned char)text[bad]);
        return at_offset(&doc, bad, 1, e);
    }
    struct yaml_reader r = { .a = a, .doc = &doc, .e = e };
    if (!yaml_parser_initialize(&r.parser))
        fail("out of memory in libyaml");
    yaml_parser_set_encoding(&r.parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&r.parser, (const unsigned char *)text, n);
    bool ok = read_events(&r);
    yaml_parser_delete(&r.parser);
    for (int i = 0; i < DEPTH_MAX; i++)
        vec_free(&r.open[i].items);
    doc.root = r.root;
    if (ok)
        *out = doc;
    return ok;
}

/* --- Writing ---------------------------------------------------------------------------------- */

struct ywriter { yaml_emitter_t emitter; struct str *out; };

static int append(void *ctx, unsigned char *data, size_t n)
{
    str_add_n(ctx, (const char *)data, n);
    return 1;
}

/* Writes ev and frees it.  Texts are well-formed by now, so only a lack of memory makes it fail. */
static void emit(struct ywriter *w, yaml_event_t *ev, int made)
{
    if (!made || !yaml_emitter_emit(&w->emitter, ev))
        fail("libyaml cannot emit: %s", w->emitter.problem ? w->emitter.problem : "out of memory");
}

struct ywriter *yaml_open(struct str *out)
{
    struct ywriter *w = xcalloc(1, sizeof *w);
    yaml_event_t ev;
    w->out = out;
    if (!yaml_emitter_initialize(&w->emitter))
        fail("out of memory in libyaml");
    yaml_emitter_set_output(&w->emitter, append, out);
    yaml_emitter_set_unicode(&w->emitter, 1);
    yaml_emitter_set_width(&w->emitter, -1);
    emit(w, &ev, yaml_stream_start_event_initialize(&ev, YAML_UTF8_ENCODING));
    emit(w, &ev, yaml_document_start_event_initialize(&ev, NULL, NULL, NULL, 1));
    return w;
}

void yaml_close(struct ywriter *w)
{
    yaml_event_t ev;
    emit(w, &ev, yaml_document_end_event_initialize(&ev, 1));
    emit(w, &ev, yaml_stream_end_event_initialize(&ev));
    yaml_emitter_delete(&w->emitter);
    free(w);
}

void yaml_put_map(struct ywriter *w, bool flow)
{
    yaml_event_t ev;
    yaml_mapping_style_t style = flow ? YAML_FLOW_MAPPING_STYLE : YAML_BLOCK_MAPPING_STYLE;
    emit(w, &ev, yaml_mapping_start_event_initialize(&ev, NULL, NULL, 1, style));
}

void yaml_put_map_end(struct ywriter *w)
{
    yaml_event_t ev;
    emit(w, &ev, yaml_mapping_end_event_initialize(&ev));
}

void yaml_put_seq(struct ywriter *w, bool flow)
{
    yaml_event_t ev;
    yaml_sequence_style_t style = flow ? YAML_FLOW_SEQUENCE_STYLE : YAML_BLOCK_SEQUENCE_STYLE;
    emit(w, &ev, yaml_sequence_start_event_initialize(&ev, NULL, NULL, 1, style));
}

void yaml_put_seq_end(struct ywriter *w)
{
    yaml_event_t ev;
    emit(w, &ev, yaml_sequence_end_event_initialize(&ev));
}

static void write_scalar(struct ywriter *w, const char *text, yaml_scalar_style_t style)
{
    yaml_event_t ev;
    int made = yaml_scalar_event_initialize(&ev, NULL, NULL, (const yaml_char_t *)text,
                                            (int)strlen(text), 1, 1, style);
    emit(w, &ev, made);
}

/* Whether a YAML reader could take an unquoted text for null, a boolean, a number or a date. */
static bool looks_typed(const char *text)
{
    static const char *const words[] = { "", "~", "null", "true", "false", "yes", "no", "on", "off",
                                         "y", "n" };
    for (int i = 0; i < COUNT_OF(words); i++)
        if (strcaseeq(text, words[i]))
            return true;
    return strchr("0123456789+-.", text[0]) != NULL;
}

/* Whether text has U+0085, U+2028 or U+2029.  These are line breaks in YAML; only a text in "" can
 * escape them. */
static bool has_other_break(const char *text)
{
    return strstr(text, "\xc2\x85") || strstr(text, "\xe2\x80\xa8") || strstr(text, "\xe2\x80\xa9");
}

void yaml_put_text(struct ywriter *w, const char *text)
{
    struct str clean = {0};
    str_add_n(&clean, text, strlen(text));
    for (size_t from = 0, bad; !utf8_valid(clean.data + from, clean.len - from, &bad); from += bad)
        clean.data[from + bad] = '?';
    for (size_t i = 0; i < clean.len; i++)
        if (iscntrl((unsigned char)clean.data[i]) && clean.data[i] != '\n' && clean.data[i] != '\t')
            clean.data[i] = '?';
    yaml_scalar_style_t style = looks_typed(text) || has_other_break(str_text(&clean))
                              ? YAML_DOUBLE_QUOTED_SCALAR_STYLE
                              : strchr(text, '\n') ? YAML_LITERAL_SCALAR_STYLE
                              : YAML_PLAIN_SCALAR_STYLE;
    write_scalar(w, str_text(&clean), style);
    str_free(&clean);
}

void yaml_put_int(struct ywriter *w, int64_t v)
{
    char text[32];
    snprintf(text, sizeof text, "%lld", (long long)v);
    write_scalar(w, text, YAML_PLAIN_SCALAR_STYLE);
}

void yaml_put_uint(struct ywriter *w, uint64_t v)
{
    char text[32];
    snprintf(text, sizeof text, "%llu", (unsigned long long)v);
    write_scalar(w, text, YAML_PLAIN_SCALAR_STYLE);
}

void yaml_put_double(struct ywriter *w, double v)
{
    char text[40];
    if (!isfinite(v))
        fail("%g has no YAML text", v);
    for (int digits = 1; digits <= 17; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, v);
        if (strtod(text, NULL) == v)
            break;
    }
    write_scalar(w, text, YAML_PLAIN_SCALAR_STYLE);
}

void yaml_put_bool(struct ywriter *w, bool v)
{
    write_scalar(w, v ? "true" : "false", YAML_PLAIN_SCALAR_STYLE);
}
