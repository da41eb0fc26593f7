/* Reads YAML into a tree of values with places, and writes YAML.  Nothing else uses libyaml. */
#ifndef TS_SESSIONS_YAML_IO_H
#define TS_SESSIONS_YAML_IO_H
#include <stddef.h>
#include <stdint.h>
#include "kernels/base/arena.h"
#include "kernels/base/err.h"
#include "kernels/base/str.h"

/* --- Reading ---------------------------------------------------------------------------------- */

enum ynode_kind { YNODE_SCALAR, YNODE_SEQ, YNODE_MAP };

struct ynode {
    enum ynode_kind kind;
    bool plain;                           /* SCALAR: it has no quotes, and is no block (|, >) */
    int line, column;                     /* where it starts, from 0; columns count characters */
    int end_line, end_column;
    const char *text;                     /* SCALAR: its text */
    int n;                                /* number of items, or of pairs of a MAP */
    const struct ynode *const *item;      /* SEQ: n values; MAP: key, value, key, value... */
};

struct ydoc {
    const char *name;                     /* name of the text, for errors */
    const char *text;
    size_t n;
    const struct ynode *root;             /* NULL: the document is empty */
};

enum { YAML_NODES_MAX = 2000000 };

/* Reads one document of plain data.  Refuses anchors, aliases, tags, keys that are not scalars,
 * nesting deeper than 16, more than YAML_NODES_MAX values, a second document, control characters
 * and bad UTF-8.  text must outlive *out. */
bool yaml_read(struct arena *a, const char *name, const char *text, size_t n, struct ydoc *out,
               struct err *e);

/* Adds the place of a node to the error *e.  Returns false. */
bool yaml_at(const struct ydoc *d, const struct ynode *node, struct err *e);
/* Sets *e to an error at a node.  Returns false. */
bool yaml_refuse(const struct ydoc *d, const struct ynode *node, struct err *e, enum err_code code,
                 const char *fmt, ...) __attribute__((format(printf, 5, 6)));
/* Like yaml_at, for an error at column e->at.col of the scalar's text: converts this column to a
 * column of the file.  If the file spells the text differently (escapes), marks the whole scalar.
 * Returns false. */
bool yaml_at_text(const struct ydoc *d, const struct ynode *scalar, struct err *e);

/* Writing.  Mappings and lists are in block style, or in flow style ({}, []) if `flow` is set.
 * Texts are quoted where YAML needs it. */

struct ywriter;
struct ywriter *yaml_open(struct str *out);
void yaml_close(struct ywriter *w);  /* ends the document and frees w */
/* Begins a mapping.  Then put a key, its value, the next key, and so on; yaml_put_map_end ends
 * it. */
void yaml_put_map(struct ywriter *w, bool flow);
void yaml_put_map_end(struct ywriter *w);
void yaml_put_seq(struct ywriter *w, bool flow);
void yaml_put_seq_end(struct ywriter *w);
/* Writes a text or a key.  Malformed UTF-8 and control characters other than \n and \t become
 * '?'. */
void yaml_put_text(struct ywriter *w, const char *text);
void yaml_put_int(struct ywriter *w, int64_t v);
void yaml_put_uint(struct ywriter *w, uint64_t v);
void yaml_put_double(struct ywriter *w, double v);  /* v must be finite; its text reads back as v */
void yaml_put_bool(struct ywriter *w, bool v);
#endif
