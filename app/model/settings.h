/* The user's settings of the screen: $XDG_CONFIG_HOME/tilescope/settings.yaml.
 *
 * Options of the command line override settings, and settings override defaults.  Other commands
 * read no settings: what a script prints depends only on its own options. */
#ifndef TS_APP_SETTINGS_H
#define TS_APP_SETTINGS_H
#include "app/model/job.h"
#include "app/ui/key.h"
#include "app/ui/term.h"
#include "sessions/file/yaml_load.h"

enum setting {
#define SETTING(id, name, fallback, help) SETTING_##id,
#include "app/model/settings.def"
    SETTING_COUNT
};
struct setting_info { const char *name, *fallback, *help; };
extern const struct setting_info setting_info[SETTING_COUNT];    /* the rows of settings.def */

/* Columns of the ledger right of the step, in order. n 0: every column that fits and has
 * numbers. */
enum column {
#define COLUMN(id, name, width, help) COLUMN_##id,
#include "app/model/column.def"
    COLUMN_COUNT
};
struct column_info { const char *name; int width; const char *help; };
extern const struct column_info column_info[COLUMN_COUNT];       /* the rows of column.def */
struct columns { int n; enum column at[COLUMN_COUNT]; };

/* Letters that the command of a key may have behind a %; model_blank.c fills them in from the
 * cursor, and keys.def says what each stands for. */
#define KEY_BLANKS "TDXPACRLYOQKSEFIBN"

/* value: as written; NULL: the default holds.  line: its line in the file, from 1. */
struct setting_given { const char *value; int line; };
struct app_settings {
    struct arena *mem;                   /* owns all texts */
    const char *path;                    /* path of the file, which need not exist */
    bool exists;
    enum theme theme;
    struct columns columns;
    bool automatic, mouse, unicode;
    int threads;
    unsigned baselines;
    struct job_settings set;
    int n_keys;
    struct key_binding *key;
    int *key_line;                       /* line of each key in the file, and the text there */
    const char **key_text;
    struct setting_given given[SETTING_COUNT];
};

/* Appends the path of this user's file; its name alone, and false, without a home folder. */
bool settings_path(struct str *out);
/* Reads this user's file.  After an error, *e has its place in the file, and *out the defaults.
 * The caller frees *out in both cases. */
bool settings_read(struct app_settings *out, struct err *e);
/* Reads the text of a file. */
bool settings_parse(const char *name, const char *text, size_t n, struct app_settings *out,
                    struct err *e);
void settings_free(struct app_settings *s);
void settings_print(const struct app_settings *s, struct str *out);
void settings_print_json(const struct app_settings *s, struct str *out);

/* Reads names of columns between blanks or commas; "auto" gives none. */
bool columns_parse(const char *text, struct columns *out, struct err *e);
void columns_print(const struct columns *c, struct str *out);
#endif
