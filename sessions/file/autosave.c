/* Autosave, crash recovery and the list of recent files, all kept in the state folder.
 *
 * An autosave is a session file that begins with comment lines, its head:
 *     # autosave of process 4711 912345
 *     # original: /home/me/conv.yaml
 *     # title: ...
 *     # file: 0123456789abcdef          (hash of the original's content when last read or saved)
 *     # network: KEY KERNEL             (only if the session has no file or is a kernel of a
 *                                        network; never if it is an operator without steps)
 *     # model: /home/me/net.onnx        (only after `network`, if the model is known)
 *     # measurements only               (only if steps and texts are those of the file)
 *     # screen: threads 2; isa avx2     (only if the screen has given its settings)
 * KEY and KERNEL are hashes. KEY identifies the operator or network; KERNEL identifies the kernel
 * of a network, or is 0. The first line has the id and the start time of the process, because a
 * later process may get the same id. */
#include "sessions/file/session_impl.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include "kernels/base/file.h"
#include "kernels/base/rng.h"
#include "kernels/base/vec.h"
#include "sessions/file/process.h"

#define HEAD "# autosave of process "
#define ORIGINAL "# original: "
#define TITLE "# title: "
#define ON_DISK "# file: "
#define NETWORK "# network: "
#define MODEL "# model: "
#define NUMBERS "# measurements only"
#define SCREEN "# screen: "
#define RECENT_MAX 20
#define AUTOSAVES_EACH 5  /* autosaves kept per file or title, besides the one being written */
#define AUTOSAVES_S (90 * 86400.0)

typedef VEC(struct autosave) autosave_list;

/* --- The files of an autosave ----------------------------------------------------------------- */

static bool autosave_dir(struct str *out, struct err *e)
{
    if (!dir_state(out, e))
        return false;
    str_add(out, "/autosave");
    return dir_make(str_text(out), e);
}

/* Adds the base name of the session's file, else the name of its operator.  Characters other than
 * [A-Za-z0-9-] become _. */
static void add_name(struct str *out, const struct session *s)
{
    const char *slash = strrchr(s->path, '/'), *name = slash ? slash + 1 : s->path;
    size_t n = strlen(name);
    n -= str_ends(name, ".yaml") ? strlen(".yaml") : 0;
    if (n == 0) {
        name = history_spec(s->history);
        n = strcspn(name, " ");
    }
    for (size_t i = 0; i < n && i < 40; i++) {
        unsigned char c = (unsigned char)name[i];
        bool safe = isascii(c) && (isalnum(c) || c == '-');
        str_add_char(out, safe ? name[i] : '_');
    }
}

/* Appends the path FOLDER/NAME-HASH.yaml.  The hash covers the process and the session, so two
 * sessions that edit one file have different autosaves. */
static bool autosave_path(const struct session *s, struct str *out, struct err *e)
{
    struct { long pid; unsigned long long started; uintptr_t session; } key = {
        .pid = getpid(), .started = process_started(), .session = (uintptr_t)s,
    };
    if (!autosave_dir(out, e))
        return false;
    str_add_char(out, '/');
    add_name(out, s);
    uint64_t hash = hash_bytes(&key.pid, sizeof key.pid, hash_text(s->path));
    hash = hash_bytes(&key.started, sizeof key.started, hash);
    hash = hash_bytes(&key.session, sizeof key.session, hash);
    str_printf(out, "-%012llx.yaml", (unsigned long long)(hash >> 16));
    return true;
}

/* Adds one line of the head: key, then text, in which control characters become '?'. */
static void add_head(struct str *out, const char *key, const char *text)
{
    str_add(out, key);
    for (const char *c = text; *c; c++)
        str_add_char(out, (unsigned char)*c < 0x20 || *c == 0x7f ? '?' : *c);
    str_add_char(out, '\n');
}

static void add_absolute(struct str *out, const char *path)
{
    char *cwd = path[0] && path[0] != '/' ? getcwd(NULL, 0) : NULL;
    if (cwd)
        str_printf(out, "%s/", cwd);
    str_add(out, path);
    free(cwd);
}

void session_autosave_drop(struct session *s)
{
    struct str path = {0};
    struct err ignored;
    if (autosave_path(s, &path, &ignored))
        unlink(str_text(&path));
    str_free(&path);
}

/* Returns the hash that identifies a network or operator by the path of its file. */
static uint64_t file_key(const char *path)
{
    char *real = realpath(path, NULL);
    uint64_t key = hash_text(real ? real : path);
    free(real);
    return key;
}

/* Returns the hash that identifies a network or operator.  It is the hash of the path of its file,
 * else of the model that it was opened from, else of its text. */
static uint64_t network_key(const struct session *network)
{
    return network->path[0]  ? file_key(network->path)
         : network->model[0] ? file_key(network->model)
                             : hash_text(history_spec(network->history));
}

void session_make_kernel(struct session *s, const struct session *network)
{
    s->kernel_of = network_key(network);
    memcpy(s->model, network->model, sizeof s->model);
}

/* Sets the two hashes of the line `network` in the head.  Both are 0 for a session that has a file
 * and is no kernel of a network, because the file identifies it. */
static void network_of(const struct session *s, uint64_t *network, uint64_t *kernel)
{
    *network = s->kernel_of ? s->kernel_of : s->path[0] ? 0 : network_key(s);
    *kernel = s->kernel_of ? hash_text(history_spec(s->history)) : 0;
}

/* --- Recovery --------------------------------------------------------------------------------- */

/* Reads the next line into *line. Returns the text after key; NULL if the line has another key. */
static const char *head_line(FILE *f, const char *key, char **line, size_t *room)
{
    ssize_t n = getline(line, room, f);
    if (n < 0 || !str_starts(*line, key))
        return NULL;
    (*line)[strcspn(*line, "\n")] = '\0';
    return *line + strlen(key);
}

/* Takes one of the lines that not every head has.  False: the line does not belong to the head. */
static bool take_more(char *line, struct autosave *out)
{
    unsigned long long network, kernel;
    const struct { const char *key; char *to; size_t room; } text[] = {
        { MODEL, out->model, sizeof out->model }, { SCREEN, out->screen, sizeof out->screen },
    };
    line[strcspn(line, "\n")] = '\0';
    for (int i = 0; i < COUNT_OF(text); i++)
        if (str_starts(line, text[i].key)) {
            if (strlen(line + strlen(text[i].key)) < text[i].room)
                strcpy(text[i].to, line + strlen(text[i].key));
            return true;
        }
    if (sscanf(line, NETWORK "%16llx %16llx", &network, &kernel) == 2) {
        out->network = network;
        out->kernel = kernel;
        return true;
    }
    bool numbers = streq(line, NUMBERS);
    out->numbers |= numbers;
    return numbers;
}

/* Reads the lines of the head.  A text too long for its member of *out counts as missing.  Returns
 * false when the file is no autosave. */
static bool take_head(FILE *f, struct autosave *out, long *pid, unsigned long long *started)
{
    char *line = NULL;
    size_t room = 0;
    unsigned long long on_disk = 0;
    const char *text = head_line(f, HEAD, &line, &room);
    bool ok = text && sscanf(text, "%ld %llu", pid, started) == 2;
    ok = ok && (text = head_line(f, ORIGINAL, &line, &room)) != NULL;
    if (ok && strlen(text) < sizeof out->original)
        snprintf(out->original, sizeof out->original, "%s", text);
    ok = ok && (text = head_line(f, TITLE, &line, &room)) != NULL;
    if (ok)
        snprintf(out->title, sizeof out->title, "%s", text);
    text = ok ? head_line(f, ON_DISK, &line, &room) : NULL;
    if (text && out->original[0] && sscanf(text, "%16llx", &on_disk) == 1)
        out->on_disk = on_disk;
    while (text && getline(&line, &room, f) > 0 && take_more(line, out))
        ;
    free(line);
    return ok;
}

/* Reads the head of the file `path`.  Returns false when the file is no autosave, or the process
 * that wrote it is still alive. */
static bool read_head(const char *path, struct autosave *out)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    long pid = 0;
    unsigned long long started = 0;
    struct stat st;
    FILE *f = fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) ? fdopen(fd, "r") : NULL;
    if (!f) {
        if (fd >= 0)
            close(fd);
        return false;
    }
    *out = (struct autosave){0};
    bool ok = take_head(f, out, &pid, &started);
    fclose(f);
    if (!ok || process_alive(pid, started))
        return false;
    snprintf(out->path, sizeof out->path, "%s", path);
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    out->age_s = (double)(now.tv_sec - st.st_mtim.tv_sec)
               + 1e-9 * (double)(now.tv_nsec - st.st_mtim.tv_nsec);
    return true;
}

static int younger_first(const void *a, const void *b)
{
    double x = ((const struct autosave *)a)->age_s, y = ((const struct autosave *)b)->age_s;
    return (x > y) - (x < y);
}

/* Collects the autosaves of dead processes, newest first. */
static void find_all(const char *dir, autosave_list *found)
{
    struct str path = {0};
    DIR *d = opendir(dir);
    for (struct dirent *entry; d && (entry = readdir(d)) != NULL;) {
        struct autosave one;
        str_clear(&path);
        str_printf(&path, "%s/%s", dir, entry->d_name);
        if (str_ends(entry->d_name, ".yaml") && path.len < sizeof one.path
            && read_head(str_text(&path), &one))
            vec_push(found, one);
    }
    if (d)
        closedir(d);
    if (found->len > 0)
        qsort(found->data, (size_t)found->len, sizeof *found->data, younger_first);
    str_free(&path);
}

int session_autosaves(struct autosave *out, int max)
{
    autosave_list found = {0};
    struct str dir = {0};
    struct err ignored;
    if (autosave_dir(&dir, &ignored))
        find_all(str_text(&dir), &found);
    int n = found.len < max ? found.len : max;
    for (int i = 0; i < n; i++)
        out[i] = found.data[i];
    vec_free(&found);
    str_free(&dir);
    return n;
}

/* The wanted autosaves.  If `network` is 0: those of the file `path`.  Else, if any_kernel is set:
 * those of all kernels of the network.  Else: those of the kernel `kernel`, or of the network
 * itself if `kernel` is 0. */
struct autosaved { const char *path; uint64_t network, kernel; bool any_kernel; };

static bool is_of(const struct autosave *a, const struct autosaved *w)
{
    if (!w->network)
        return w->path[0] && a->original[0] && file_same(a->original, w->path);
    return a->network == w->network && (w->any_kernel ? a->kernel != 0 : a->kernel == w->kernel);
}

/* Finds at most `most` of the wanted autosaves with changed steps or texts, newest first; of each
 * kernel only the newest.  Returns their number. */
static int find_newest(const struct autosaved *w, struct autosave *out, int most)
{
    autosave_list found = {0};
    struct str dir = {0};
    struct err ignored;
    int n = 0;
    if (dir_state(&dir, &ignored)) {     /* not autosave_dir, which would make the folder */
        str_add(&dir, "/autosave");
        find_all(str_text(&dir), &found);
    }
    for (int i = 0; i < found.len && n < most; i++) {
        bool has = !found.data[i].numbers && is_of(&found.data[i], w);
        for (int k = 0; k < n; k++)
            has = has && out[k].kernel != found.data[i].kernel;
        if (has)
            out[n++] = found.data[i];
    }
    vec_free(&found);
    str_free(&dir);
    return n;
}

bool session_autosave_of(const struct session *s, struct autosave *out)
{
    struct autosaved w = { .path = s->path };
    network_of(s, &w.network, &w.kernel);
    return find_newest(&w, out, 1) > 0;
}

int session_autosave_kernels(const struct session *network, struct autosave *out, int most)
{
    struct autosaved w = { .network = network_key(network), .any_kernel = true };
    return find_newest(&w, out, most);
}

bool session_autosave_together(const struct autosave *kernel, const struct autosave *other)
{
    uint64_t network = other->network ? other->network
                     : other->original[0] ? file_key(other->original) : 0;
    return kernel->kernel && network == kernel->network;
}

void session_autosave_delete(const struct autosave *a, bool kernels)
{
    autosave_list found = {0};
    struct str dir = {0};
    struct err ignored;
    unlink(a->path);
    if (kernels && autosave_dir(&dir, &ignored))
        find_all(str_text(&dir), &found);
    for (int i = 0; i < found.len; i++)
        if (session_autosave_together(&found.data[i], a))
            unlink(found.data[i].path);
    vec_free(&found);
    str_free(&dir);
}

/* --- Writing ---------------------------------------------------------------------------------- */

/* Whether a session is one operator without steps.  Its autosave gets no line `network`, so that
 * its measurements are not offered when the operator is opened again. */
static bool is_bare(const struct session *s)
{
    const struct graph *g = history_current(s->history)->program->base;
    return !s->kernel_of && !graph_is_composition(g->spec) && history_n_states(s->history) == 1;
}

/* Whether both are autosaves of one file, or, without a file, of sessions with one title. */
static bool same_work(const struct autosave *a, const struct autosave *b)
{
    return streq(a->original, b->original) && (a->original[0] || streq(a->title, b->title));
}

/* Deletes old autosaves of dead processes: of each file or title, keeps AUTOSAVES_EACH for
 * AUTOSAVES_S seconds, and the newest one for ever. */
static void prune(void)
{
    autosave_list found = {0};
    struct str dir = {0};
    struct err ignored;
    if (autosave_dir(&dir, &ignored)) {
        file_tidy(str_text(&dir));
        find_all(str_text(&dir), &found);
    }
    for (int i = 0; i < found.len; i++) {
        int newer = 0;
        for (int k = 0; k < i; k++)
            newer += same_work(&found.data[i], &found.data[k]);
        if (newer >= AUTOSAVES_EACH || (newer > 0 && found.data[i].age_s > AUTOSAVES_S))
            unlink(found.data[i].path);
    }
    vec_free(&found);
    str_free(&dir);
}

bool session_autosave(struct session *s, struct err *e)
{
    struct str path = {0}, text = {0}, original = {0}, model = {0};
    uint64_t network, kernel;
    add_absolute(&original, s->path);
    add_absolute(&model, s->model);
    str_printf(&text, HEAD "%ld %llu\n", (long)getpid(), process_started());
    add_head(&text, ORIGINAL, str_text(&original));
    add_head(&text, TITLE, s->title[0] ? s->title : history_spec(s->history));
    str_printf(&text, ON_DISK "%016llx\n", (unsigned long long)s->on_disk);
    network_of(s, &network, &kernel);
    bool named = network && !is_bare(s);
    if (named)
        str_printf(&text, NETWORK "%016llx %016llx\n", (unsigned long long)network,
                   (unsigned long long)kernel);
    if (named && model.len > 0)
        add_head(&text, MODEL, str_text(&model));
    if (!s->dirty && s->numbers)
        str_add(&text, NUMBERS "\n");
    if (s->screen[0])
        add_head(&text, SCREEN, s->screen);
    bool ok = autosave_path(s, &path, e);
    if (ok)
        session_yaml_in(s, str_text(&path), &text);
    ok = ok && session_fits(s, &text, e);
    if (ok && !file_exists(str_text(&path)))
        prune();
    ok = ok && file_write_quick(str_text(&path), str_text(&text), text.len, e);
    str_free(&original);
    str_free(&model);
    str_free(&text);
    str_free(&path);
    return ok;
}

bool session_recover(const struct autosave *from, struct session **out, struct err *e)
{
    struct session *s;
    struct str text = {0};
    bool ok = file_read_regular(from->path, SESSION_MAX_BYTES, &text, e)
           && session_parse_file(from->path, &text, &s, e);
    str_free(&text);
    if (!ok)
        return false;
    snprintf(s->path, sizeof s->path, "%s", from->original);
    s->on_disk = from->on_disk;
    s->kernel_of = from->kernel ? from->network : 0;
    memcpy(s->model, from->model, sizeof s->model);
    memcpy(s->screen, from->screen, sizeof s->screen);
    s->dirty = !from->numbers;
    s->numbers = from->numbers;
    if (!session_autosave(s, e)) {
        session_free(s);
        return false;
    }
    unlink(from->path);
    *out = s;
    return true;
}

/* --- Recent files ----------------------------------------------------------------------------- */

static bool recent_file(struct str *out, struct err *e)
{
    if (!dir_state(out, e))
        return false;
    str_add(out, "/recent");
    return true;
}

/* Reads the list of recent paths: one per line, newest first. */
static void read_recent(struct str *out)
{
    struct str path = {0};
    struct err ignored;
    if (!recent_file(&path, &ignored)
        || !file_read_regular(str_text(&path), 1u << 20, out, &ignored))
        str_clear(out);
    str_free(&path);
}

/* Sets *out to `first` and the other paths of `old`, one per line, at most RECENT_MAX in all.
 * Overwrites `old`. */
static void put_first(struct str *out, const char *first, struct str *old)
{
    char *rest = NULL;
    int n = 1;
    str_clear(out);
    str_printf(out, "%s\n", first);
    for (char *line = old->data ? strtok_r(old->data, "\n", &rest) : NULL; line && n < RECENT_MAX;
         line = strtok_r(NULL, "\n", &rest))
        if (!streq(line, first)) {
            str_printf(out, "%s\n", line);
            n++;
        }
}

/* Puts the path first in the list of recent files.  If another process changes the list in the
 * meantime, reads it again and retries. */
void session_remember(const char *path)
{
    if (!path[0])
        return;
    struct str first = {0}, old = {0}, text = {0}, file = {0};
    struct err e;
    add_absolute(&first, path);
    bool done = strchr(str_text(&first), '\n') || !recent_file(&file, &e);
    for (int i = 0; !done && i < 100; i++) {
        uint64_t seen = file_seen(str_text(&file));
        read_recent(&old);
        put_first(&text, str_text(&first), &old);
        done = file_replace(str_text(&file), seen, str_text(&text), text.len, &e)
            || e.code != ERR_CHANGED;
    }
    str_free(&file);
    str_free(&text);
    str_free(&old);
    str_free(&first);
}

int session_recent(char (*out)[512], int max)
{
    struct str text = {0};
    char *rest = NULL;
    int n = 0;
    read_recent(&text);
    for (char *line = text.data ? strtok_r(text.data, "\n", &rest) : NULL; line && n < max;
         line = strtok_r(NULL, "\n", &rest))
        if (strlen(line) < sizeof *out && file_exists(line))
            snprintf(out[n++], sizeof *out, "%s", line);
    str_free(&text);
    return n;
}

bool session_autosave_network(const struct autosave *kernel, struct str *out)
{
    static char recent[RECENT_MAX][512];
    int n = kernel->kernel ? session_recent(recent, RECENT_MAX) : 0;
    for (int i = 0; i < n; i++)
        if (file_key(recent[i]) == kernel->network) {
            str_add(out, recent[i]);
            return true;
        }
    bool of_model = kernel->kernel && kernel->model[0] && file_exists(kernel->model);
    str_add(out, of_model ? kernel->model : "");
    return of_model;
}
