/* The export of a network to a folder with a C library. */
#ifndef TS_APP_MODEL_NETWORK_EXPORT_H
#define TS_APP_MODEL_NETWORK_EXPORT_H
#include "app/model/model.h"

/* The command `export` in the list of kernels: has the network measured, and then its library
 * written to the folder. */
bool model_network_export(struct model *m, const char *folder);
/* Sets the inputs of the job that measures and exports a network. */
void model_network_export_job(const struct app_network *n, struct app_job *j);
/* Says what became of the export when its job has ended; for other jobs, does nothing. */
void model_network_exported(struct model *m, const struct app_job *j);
#endif
