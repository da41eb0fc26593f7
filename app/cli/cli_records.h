/* Shared by the files of `tilescope records`. */
#ifndef TS_APP_CLI_RECORDS_H
#define TS_APP_CLI_RECORDS_H
#include "app/cli/cli.h"
#include "sessions/records/records.h"

/* One call of the command. */
struct ask {
    const struct cli *c;
    const struct args *args;
    struct records *r;
    struct arena *a;
    struct record_filter f;              /* the records that options and operand select */
    int rows;                            /* most rows to print (--count); 0: all */
    bool json;
    struct str out;
};

/* cli_records_ask.c: reads options and operands. */
bool cli_records_options(struct ask *k, struct err *e);  /* reads the options into the filter */
const char *cli_records_operand(struct ask *k);  /* returns the words after the verb, or NULL */
/* Reads the operand into the filter. any: whether the filter selects the records of all machines if
 * --machine is not given. */
bool cli_records_filter(struct ask *k, bool any, struct err *e);
/* Finds the task that the operand names. ERR_SYNTAX: there is no operand. ERR_NAME: no task or
 * several tasks have this name. */
bool cli_records_task(struct ask *k, struct record_task *out, struct err *e);

/* cli_records_show.c: the verbs that only read. */
bool cli_records_list(struct ask *k, struct err *e);
bool cli_records_show(struct ask *k, struct err *e);
bool cli_records_best(struct ask *k, struct err *e);
bool cli_records_runs(struct ask *k, struct err *e);
/* Appends "1 record" or "11 203 records"; `what` is the singular. */
void cli_records_plural(struct str *out, int64_t n, const char *what);
#endif
