/* Colours for source text: a few word lists and one scanner. */
#include <ctype.h>
#include <string.h>
#include "app/views/view.h"

/* list: blank-separated, a blank at both ends */
struct words { enum style style; const char *list; };

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

/* Styles the words of text that stand in one of the lists (ended by NULL), and numbers. */
static void colour_words(const char *text, unsigned char *style, const struct words *w)
{
    for (size_t i = 0; text[i];) {
        size_t n = 1;
        if (!is_word_char(text[i])) {
            i++;
            continue;
        }
        while (is_word_char(text[i + n]))
            n++;
        for (const struct words *k = w; k->list; k++)
            if (in_list(k->list, text + i, n))
                memset(style + i, k->style, n);
        i += n;
    }
}

void colour_nest(const char *text, unsigned char *style, int *state)
{
    static const struct words words[] = {
        {STYLE_DIM, " for in if range tile "},
        {STYLE_NOTE, " parallel vectorize unroll "},
        {STYLE_PLAIN, NULL},
    };
    (void)state;
    memset(style, STYLE_PLAIN, strlen(text));
    colour_words(text, style, words);
}

/* A comment that begins at text[i]: its end, or the end of the line with *state set. */
static size_t comment_end(const char *text, size_t i, int *state)
{
    const char *close = strstr(text + i + (*state ? 0 : 2), "*/");
    *state = close == NULL;
    return close ? (size_t)(close - text) + 2 : strlen(text);
}

void colour_c(const char *text, unsigned char *style, int *state)
{
    static const struct words words[] = {
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

/* Labels, jumps, and packed arithmetic stand out; the rest is plain. */
void colour_asm(const char *text, unsigned char *style, int *state)
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
