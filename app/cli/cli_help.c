/* `tilescope help`, `tilescope COMMAND --help` and the usage. */
#include "app/cli/cli.h"

#include <string.h>

#include "app/model/appcmd.h"
#include "app/model/help.h"
#include "app/ui/key.h"
#include "kernels/ops/graph.h"

void cli_help_usage(struct str *out)
{
    str_add(out,
        "usage: tilescope [options]                  open the screen on a start page\n"
        "       tilescope OPERATOR NAME=VALUE...     open the screen on an operator\n"
        "       tilescope SESSION.yaml               open the screen on a session\n"
        "       tilescope COMMAND ...                run a command without the screen\n"
        "\ncommands:\n");
    for (int i = CMD_SCREEN + 1; i < CMD_COUNT; i++)
        str_printf(out, "  %-9s %s\n", args_cmd[i].name, args_cmd[i].summary);
    str_add(out,
        "\nSESSION is a session file, an ONNX model, - (standard input) or an operator:\n"
        "  tilescope run sessions/examples/r18-conv1-nhwo.yaml\n"
        "  tilescope show 'gmm m=128 k=64 n=96' --what nest\n"
        "\n`tilescope COMMAND --help` lists the options, `tilescope help` the topics.\n");
}

static void print_options(struct str *out, enum cmd cmd)
{
    for (int i = 0; i < OPT_COUNT; i++) {
        const struct opt_info *o = &args_opt[i];
        if (!(o->commands & (1 << cmd)))
            continue;
        struct str left = {0};
        if (o->letter)
            str_printf(&left, "-%c, ", o->letter);
        bool listed = o->operand && o->operand[0] == '[' && strchr(o->operand, ',');
        str_printf(&left, "--%s%s%s", o->name, o->operand ? " " : "",
                   listed ? "[A,B]" : o->operand ? o->operand : "");
        str_printf(out, "  %-24s %s\n", str_text(&left), o->help);
        str_free(&left);
    }
}

void cli_help_command(struct str *out, enum cmd cmd)
{
    const struct cmd_info *c = &args_cmd[cmd];
    if (cmd == CMD_SCREEN) {
        cli_help_usage(out);
        str_add(out, "\noptions of the screen:\n");
    } else {
        str_printf(out, "usage: tilescope %s%s%s [options]\n\n%s\n\noptions:\n", c->name,
                   c->operands[0] ? " " : "", c->operands, c->detail);
    }
    print_options(out, cmd);
    if (cmd == CMD_RUN)
        str_add(out,
            "\nexit codes: 0 fine, 1 wrong kernel or failed assertion, 2 wrong usage or bad\n"
            "file, 3 the machine lacks something, 70 a bug in tilescope, 130 cancelled\n");
}

static void print_list(struct str *out)
{
    cli_help_usage(out);
    str_add(out, "\ntopics (`tilescope help TOPIC`):\n");
    for (int i = 0; help_topic_name(i); i++)
        str_printf(out, "  %-9s %s\n", help_topic_name(i), help_topic_summary(i));
    str_add(out, "\noperators (`tilescope help OPERATOR`):\n");
    struct str names = {0};
    for (int i = 0; i < ops_count(); i++)
        str_printf(&names, "%s%s", i ? " " : "  ", ops_get(i)->name);
    str_add(&names, "\n");
    str_wrap(out, str_text(&names), HELP_WIDTH, 2);
    str_free(&names);
}

/* Appends the syntax and help of every step and command of the prompt whose name begins with
 * `word`, then the keys that run them. Returns whether there is any. */
static bool help_of_line(struct str *out, const char *word)
{
    struct str all = {0};
    for (int i = 0; i < appcmd_rows(); i++) {
        struct command_row row = appcmd_row(i);
        if (!str_begins(row.name, word))
            continue;
        command_row_print(&all, &row);
        str_printf(&all, "\n    %s%s\n", row.help,
                   i < command_rows() ? "" : "; at the `:` prompt of the screen");
    }
    bool found = all.len > 0;
    for (int i = 0; i < key_binding_count() && found; i++) {
        const struct key_binding *b = key_binding_get(i);
        if (str_begins(b->line, word))
            str_printf(&all, "    key %s: %s\n", b->keys, b->help);
    }
    str_wrap(out, str_text(&all), HELP_WIDTH, 4);
    str_free(&all);
    return found;
}

static bool no_topic(const char *word, struct err *e)
{
    VEC(const char *) name = {0};
    for (int i = 0; help_topic_name(i); i++)
        vec_push(&name, help_topic_name(i));
    for (int i = CMD_SCREEN + 1; i < CMD_COUNT; i++)
        vec_push(&name, args_cmd[i].name);
    for (int i = 0; i < ops_count(); i++)
        vec_push(&name, ops_get(i)->name);
    err_set(e, ERR_NAME, "no help on '%s'", word);
    err_near(e, word, name.data, name.len, "tilescope help %s", "tilescope help lists the topics");
    vec_free(&name);
    return false;
}

bool cli_help_topic(struct str *out, const char *topic, struct err *e)
{
    if (!topic) {
        print_list(out);
        return true;
    }
    if (help_topic(out, topic))
        return true;
    for (int i = CMD_SCREEN + 1; i < CMD_COUNT; i++)
        if (streq(args_cmd[i].name, topic)) {
            cli_help_command(out, (enum cmd)i);
            return true;
        }
    return help_of_line(out, topic) || no_topic(topic, e);
}

int cli_help(const struct cli *c)
{
    struct str out = {0};
    struct err e = {0};
    const char *topic = c->args->word.len ? c->args->word.data[0] : NULL;
    if (!cli_help_topic(&out, topic, &e)) {
        str_free(&out);
        return cli_fail(c, &e);
    }
    cli_put(&out);
    return EXIT_FINE;
}
