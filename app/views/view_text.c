/* The views that show a text: access expressions, and generated C or machine code, which comes from
 * background jobs. */
#include "app/views/view.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "app/ui/text.h"

/* --- Colours ---------------------------------------------------------------------------------- */

/* Words that get a style. list: the words, with a blank before and after each of them. */
struct style_words { enum style style; const char *list; };

static bool is_word_char(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

static bool in_list(const char *list, const char *word, size_t n)
{
    for (const char *p = strstr(list, " "); p && p[1]; p = strchr(p + 1, ' '))
        if (strncmp(p + 1, word, n) == 0 && p[1 + n] == ' ')
            return true;
    return false;
}

/* A word of `text` that is in one of the lists gets the style of that list. The last list is
 * NULL. */
static void colour_words(const char *text, unsigned char *style, const struct style_words *w)
{
    for (size_t i = 0; text[i];) {
        size_t n = 1;
        if (!is_word_char(text[i])) {
            i++;
            continue;
        }
        while (is_word_char(text[i + n]))
            n++;
        for (const struct style_words *k = w; k->list; k++)
            if (in_list(k->list, text + i, n))
                memset(style + i, k->style, n);
        i += n;
    }
}

void view_colour_nest(const char *text, unsigned char *style, int *state)
{
    static const struct style_words words[] = {
        {STYLE_DIM, " for in if range tile "},
        {STYLE_NOTE, " parallel vectorize unroll "},
        {STYLE_PLAIN, NULL},
    };
    (void)state;
    memset(style, STYLE_PLAIN, strlen(text));
    colour_words(text, style, words);
}

/* Returns the index behind a comment that begins at text[i]; if *state is set, the comment began on
 * an earlier line. If it does not end on this line, returns the end of the line and sets *state,
 * else clears *state. */
static size_t comment_end(const char *text, size_t i, int *state)
{
    const char *close = strstr(text + i + (*state ? 0 : 2), "*/");
    *state = close == NULL;
    return close ? (size_t)(close - text) + 2 : strlen(text);
}

static void colour_c(const char *text, unsigned char *style, int *state)
{
    static const struct style_words words[] = {
        {STYLE_WORD, " for if else while return void static const restrict typedef struct do "
                     "extern inline __attribute__ unsigned long int float double char "},
        {STYLE_PLAIN, NULL},
    };
    size_t n = strlen(text);
    memset(style, STYLE_PLAIN, n);
    colour_words(text, style, words);
    if (text[strspn(text, " ")] == '#')
        memset(style, STYLE_NOTE, n);
    for (size_t i = 0; i < n;) {
        bool opens = text[i] == '/' && (text[i + 1] == '*' || text[i + 1] == '/');
        if (!*state && !opens) {
            i++;
            continue;
        }
        bool to_end = !*state && text[i + 1] == '/';
        size_t end = to_end ? n : comment_end(text, i, state);
        memset(style + i, STYLE_DIM, end - i);
        i = end;
    }
}

/* Colours assembly: labels, jumps, packed arithmetic and comments have styles; the rest is
 * plain. */
static void colour_asm(const char *text, unsigned char *style, int *state)
{
    size_t n = strlen(text), start = strspn(text, " "), word = strcspn(text + start, " ");
    (void)state;
    memset(style, STYLE_PLAIN, n);
    const char *op = text + start;
    bool packed = op[0] == 'v' && word > 2 && strncmp(op + word - 2, "ps", 2) == 0;
    if (n > 0 && text[n - 1] == ':')
        memset(style, STYLE_NOTE, n);
    else if (op[0] == 'j' || str_starts(op, "call") || str_starts(op, "ret"))
        memset(style + start, STYLE_WORD, word);
    else if (packed)
        memset(style + start, STYLE_GOOD, word);
    const char *comment = strchr(text, '#');
    if (comment)
        memset(style + (comment - text), STYLE_DIM, n - (size_t)(comment - text));
}

/* Colours SASS: labels and comments, the offset of each instruction, jumps and barriers, arithmetic
 * of floats and of tensor cores. */
static void colour_sass(const char *text, unsigned char *style, int *state)
{
    static const char *const flow[] = { "BRA", "EXIT", "CALL", "RET", "BAR.", "BSSY", "BSYNC" },
                      *const arithmetic[] = { "FFMA", "FMUL", "FADD", "HFMA2", "HMMA", "DFMA" };
    size_t n = strlen(text), start = strspn(text, " "), offset = strcspn(text + start, " ");
    (void)state;
    memset(style, STYLE_PLAIN, n);
    if (start == 0) {
        memset(style, text[0] == '/' ? STYLE_DIM : STYLE_NOTE, n);
        return;
    }
    memset(style + start, STYLE_DIM, offset);
    start += offset + strspn(text + start + offset, " ");
    if (text[start] == '@')
        start += strcspn(text + start, " ") + 1;
    for (int i = 0; i < COUNT_OF(flow) && start < n; i++)
        if (str_starts(text + start, flow[i]))
            memset(style + start, STYLE_WORD, strcspn(text + start, " "));
    for (int i = 0; i < COUNT_OF(arithmetic) && start < n; i++)
        if (str_starts(text + start, arithmetic[i]))
            memset(style + start, STYLE_GOOD, strcspn(text + start, " "));
}

/* --- Texts ------------------------------------------------------------------------------------ */

void view_access_build(struct model *m, struct pane_doc *p, int width)
{
    struct str text = {0};
    doc_clear(&p->doc);
    program_print_access(&text, model_program(m));
    doc_source(&p->doc, str_text(&text), view_colour_nest, width - 1);
    str_free(&text);
}

/* Adds a line above the assembly: how busy its hottest loop keeps the execution ports. */
static void put_ports(struct doc *d, const struct code_text *c, int width)
{
    struct str text = {0};
    if (!c->ports.reason[0] && c->ports.cycles <= 0)
        return;
    if (c->ports.loop >= 0 && c->ports.loop < c->lines.n_loops)
        str_printf(&text, "hottest loop, %s, ", c->lines.loop[c->ports.loop].axis);
    port_pressure_print(&text, &c->ports);
    doc_wrap(d, c->ports.reason[0] ? STYLE_DIM : STYLE_NOTE, str_text(&text), width - 2, 2);
    str_free(&text);
}

/* Stores in a line of code the loop of the nest to which it belongs, so that Enter can go there. */
static void put_place(const struct model *m, struct line *l, const struct code_text *c, int loop)
{
    const struct program *p = model_program(m);
    int node = loop >= 0 ? c->lines.loop[loop].node : -1;
    if (node < 0 || node >= p->graph->n_nodes)
        return;
    l->stage = p->stage[node]->name;
    l->loop = c->lines.loop[loop].axis;
    l->number = c->lines.loop[loop].number;
}

/* Adds "loop I of Conv: 92 % of executed instructions; 36 instructions, in KW KH W.0 H", what is
 * behind the semicolon on a row of its own if there is no room.  Returns the share. */
static double put_loop_heading(const struct model *m, struct doc *d, const struct code_text *c,
                               const struct hot_loops *hot, int loop, int width)
{
    const struct program *p = model_program(m);
    const struct code_loop *x = &c->lines.loop[loop];
    double share = hot_loops_share(hot, &c->lines, loop);
    struct str rest = {0};
    int first = d->lines.len;
    if (x->node < 0 || x->node >= p->graph->n_nodes)
        return 0;
    doc_printf(d, STYLE_TITLE, "loop %s of %s", x->axis, p->stage[x->node]->name);
    doc_printf(d, share >= 0.3 ? STYLE_STRONG : STYLE_PLAIN, ": %.*f %% of executed instructions",
               share < 0.1 ? 1 : 0, 100 * share);
    str_printf(&rest, "; %.0f instructions", hot->insns[loop]);
    for (int k = x->parent; k >= 0; k = c->lines.loop[k].parent)
        str_printf(&rest, "%s %s", k == x->parent ? ", in" : "", c->lines.loop[k].axis);
    bool fits = doc_col(d) + text_width(str_text(&rest)) < width;
    doc_put(d, STYLE_DIM, fits ? str_text(&rest) : "");
    doc_end(d);
    if (!fits) {
        doc_pad(d, 4);
        doc_wrap(d, STYLE_DIM, str_text(&rest) + 2, width - 2, 4);
    }
    for (int i = first; i < d->lines.len; i++)
        put_place(m, &d->lines.data[i], c, loop);
    str_free(&rest);
    return share;
}

static void build_code(struct model *m, struct pane_doc *p, int which, doc_colour *colour,
                       int width)
{
    const struct code_text *c = &m->code[which];
    if (!c->have) {
        doc_clear(&p->doc);
        doc_line(&p->doc, STYLE_DIM, which == CODE_C ? "writing the C code ..." : "compiling ...");
        return;
    }
    doc_clear(&p->doc);
    if (c->failed) {
        for (const char *line = str_text(&c->text); *line; line += *line == '\n') {
            size_t n = strcspn(line, "\n");
            doc_wrap(&p->doc, STYLE_BAD, arena_strndup(p->doc.arena, line, n), width - 1, 0);
            line += n;
        }
        return;
    }
    const char *line = str_text(&c->text);
    struct hot_loops hot = {0};
    double hottest = 0;
    if (which == CODE_ASM) {
        hot = hot_loops_find(line, &c->lines);
        put_ports(&p->doc, c, width);
        m->hot = -1;
    }
    for (int i = 0, state = 0, last = -1; *line; i++) {
        size_t n = strcspn(line, "\n");
        char *text = arena_strndup(p->doc.arena, line, n);
        int loop = i < c->lines.n ? c->lines.of[i] : -1;
        if (which == CODE_ASM && loop >= 0 && loop != last) {
            int heading = p->doc.lines.len;
            double share = put_loop_heading(m, &p->doc, c, &hot, loop, width);
            m->hot = share > hottest ? heading : m->hot;
            hottest = fmax(hottest, share);
        }
        last = loop;
        int first = doc_code(&p->doc, text, colour, &state, 0);
        p->doc.lines.data[first].id = i;
        put_place(m, &p->doc.lines.data[first], c, loop);
        line += n + (line[n] == '\n');
    }
    free(hot.insns);
}

void view_c_build(struct model *m, struct pane_doc *p, int width)
{
    build_code(m, p, CODE_C, colour_c, width);
}

void view_asm_build(struct model *m, struct pane_doc *p, int width)
{
    build_code(m, p, CODE_ASM, colour_asm, width);
}

void view_sass_build(struct model *m, struct pane_doc *p, int width)
{
    build_code(m, p, CODE_SASS, colour_sass, width);
}
