/* The user's settings of the screen: $XDG_CONFIG_HOME/tilescope/settings.yaml.
 *
 * Options of the command line override settings, and settings override defaults.  Except for
 * `tilescope settings`, commands without a screen read no settings, so that the output of a script
 * depends only on its own options. */
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

/* The columns of the ledger to the right of the steps. */
enum column {
#define COLUMN(id, name, width, help) COLUMN_##id,
#include "app/model/column.def"
    COLUMN_COUNT
};
struct column_info { const char *name; int width; const char *help; };
extern const struct column_info column_info[COLUMN_COUNT];       /* the rows of column.def */
/* The chosen columns, in order.  n 0: every column that fits and has numbers. */
struct columns { int n; enum column at[COLUMN_COUNT]; };

/* The letters that can follow a % in the command of a key.  keys.def says what each of these
 * placeholders stands for; model_blank.c fills them in from the cursor. */
#define KEY_BLANKS "TDXPACRLYOQKSEFIBN"

/* A setting in the file.  value: as written; NULL: it is not in the file.  line: its line, from
 * 1. */
struct setting_given { const char *value; int line; };
struct app_settings {
    struct arena *mem;                   /* owns all texts */
    const char *path;                    /* path of the file, which need not exist */
    bool exists;                         /* whether the file exists */
    enum theme theme;
    struct columns columns;
    bool automatic, mouse, unicode;      /* automatic: the setting `auto` */
    int threads;                         /* 0: not in the file */
    unsigned baselines;
    struct job_settings set;
    int n_keys;
    struct key_binding *key;
    int *key_line;                       /* per key: its line in the file, from 1 */
    const char **key_text;               /* per key: its command as written */
    struct setting_given given[SETTING_COUNT];
};

/* Appends the path of this user's file.  Without a home folder, appends only its name and returns
 * false. */
bool settings_path(struct str *out);
/* Reads this user's file; if there is none, *out has the defaults.  After an error, *out has the
 * defaults, too, and *e has the place of the error in the file.  The caller frees *out in all
 * cases (settings_free). */
bool settings_read(struct app_settings *out, struct err *e);
/* Reads the text of a file, n bytes, as settings_read does.  name: the path of the file. */
bool settings_parse(const char *name, const char *text, size_t n, struct app_settings *out,
                    struct err *e);
void settings_free(struct app_settings *s);
void settings_print(const struct app_settings *s, struct str *out);
void settings_print_json(const struct app_settings *s, struct str *out);

/* Reads names of columns, separated by blanks or commas.  The word "auto" is ignored, so that
 * "auto" alone gives n = 0. */
bool columns_parse(const char *text, struct columns *out, struct err *e);
void columns_print(const struct columns *c, struct str *out);
#endif
