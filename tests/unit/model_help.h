/* For tests of the screen without a terminal: a model, keys by name, and what it shows. */
#ifndef TS_TEST_MODEL_HELP_H
#define TS_TEST_MODEL_HELP_H
#include "app/views/screen.h"

/* On an operator (NULL: the start screen), 80 x 24, nothing measured by itself. */
struct model *model_on(const char *spec);
/* Blank-separated key names ("S-Up", "Enter", "Space"); other words are typed letter by letter. */
void press(struct model *m, const char *keys);
/* Types a line at the prompt, as it stands, and Enter. */
void type_line(struct model *m, const char *line);
/* The screen as text; valid until the next call. */
const char *screen_of(struct model *m);
void assert_shows(struct model *m, const char *text);
void assert_hides(struct model *m, const char *text);
/* Does the jobs that open a model, and that build and measure a network. */
void run_jobs(struct model *m);
/* The text of the current step, "" in the bare state. */
const char *step_of(const struct model *m);
/* The name of the loop under the cursor of the nest, "" if there is none. */
const char *loop_of(const struct model *m);
/* Private folders for state, cache and settings, and a private working directory, for this process;
 * once, before any model. */
void private_folders(void);
int set_up_folders(void **state);  /* the same, as the set-up of a group of tests */
#endif
