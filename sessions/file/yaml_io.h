/* YAML text <-> a tree of values that know where they stand.  The only place that knows libyaml. */
#ifndef TS_SESSIONS_YAML_IO_H
#define TS_SESSIONS_YAML_IO_H
#include <stddef.h>
#include <stdint.h>
#include "kernels/base/arena.h"
#include "kernels/base/err.h"
#include "kernels/base/str.h"

/* reading */

enum ynode_kind { YNODE_SCALAR, YNODE_SEQ, YNODE_MAP };

struct ynode {
    enum ynode_kind kind;
    bool plain;                           /* SCALAR: written without quotes */
    int line, column;                     /* of the start; from 0, columns in characters */
    int end_line, end_column;
    const char *text;                     /* SCALAR */
    int n;                                /* items; pairs of a MAP */
    const struct ynode *const *item;      /* SEQ: n values; MAP: key, value, key, value... */
};

struct ydoc {
    const char *name;                     /* for errors */
    const char *text;
    size_t n;
    const struct ynode *root;             /* NULL: nothing in it */
};

enum { YAML_NODES_MAX = 2000000 };

/* One document of plain data.  Refused: anchors, aliases, tags, keys that are no scalars, nesting
 * deeper than 16, more than YAML_NODES_MAX values, control characters, anything but UTF-8.  text
 * must outlive *out. */
bool yaml_read(struct arena *a, const char *name, const char *text, size_t n, struct ydoc *out,
               struct err *e);

/* Gives *e, already set, the place of a node.  Each returns false. */
bool yaml_at(const struct ydoc *d, const struct ynode *node, struct err *e);
/* An error at a node.  Returns false. */
bool yaml_refuse(const struct ydoc *d, const struct ynode *node, struct err *e, enum err_code code,
                 const char *fmt, ...) __attribute__((format(printf, 5, 6)));
/* The same for an error inside the text of a scalar, at e->at.col there: the column becomes the
 * file's when the scalar stands there as it is (no escapes), else the whole scalar is marked. */
bool yaml_at_text(const struct ydoc *d, const struct ynode *scalar, struct err *e);

/* writing: block style, flow where asked for; texts are quoted when they need to be */

struct ywriter;
struct ywriter *yaml_open(struct str *out);
void yaml_close(struct ywriter *w);  /* ends the document and frees w */
void yaml_put_map(struct ywriter *w, bool flow);   /* then key, value, ..., yaml_put_map_end */
void yaml_put_map_end(struct ywriter *w);
void yaml_put_seq(struct ywriter *w, bool flow);
void yaml_put_seq_end(struct ywriter *w);
/* Also keys.  Malformed UTF-8 and control characters become '?'. */
void yaml_put_text(struct ywriter *w, const char *text);
void yaml_put_int(struct ywriter *w, int64_t v);
void yaml_put_uint(struct ywriter *w, uint64_t v);
void yaml_put_double(struct ywriter *w, double v);  /* finite; reads back equal */
void yaml_put_bool(struct ywriter *w, bool v);
#endif
