/* What may stand behind `:tune` on the screen: the choices of a search, as words. */
#ifndef TS_APP_TUNE_WORDS_H
#define TS_APP_TUNE_WORDS_H
#include "sessions/tuning/tuning.h"

/* Reads arg into *o, which holds what counts where arg says nothing; the texts of *o live for ever.
 * False with *e, which names the word and what fits there. */
bool tune_words(const char *arg, struct tuning_opts *o, struct err *e);
#endif
