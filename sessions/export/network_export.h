/* Exports a network as a C library (SPEC L.4).  It is a folder with
 *
 *     NAME.h, NAME.c              the interface, the calls of the kernels, the memory plan
 *     NAME_kernels.h, .c          the kernels; several .c files if they are long
 *     NAME.weights                constants in the kernels' layouts, for NAME_create()
 *     NAME.check                  inputs, and the outputs of a checked run on them
 *     main.c                      checks and times the library on NAME.check
 *     Makefile, CMakeLists.txt
 *
 * The library needs libc, libm and, with parallel loops, libgomp.  Several threads can use it at
 * the same time, because they share only its constants. */
#ifndef TS_SESSIONS_NETWORK_EXPORT_H
#define TS_SESSIONS_NETWORK_EXPORT_H
#include "kernels/module/network.h"
#include "profile/measure/measure_network.h"
#include "profile/measure/network_values.h"
#include "sessions/file/session.h"

/* `name`: as made by network_export_name.  `session`: has the model's names of inputs and outputs;
 * NULL: the names of the tensors are used.  `target`: must not be NULL.  `file_bytes`: most bytes
 * of kernels in one file; a longer kernel gets a file of its own.  0: 1 MiB, which compiles in
 * seconds. */
struct network_export_opts {
    const char *name;
    const struct session *session;
    const struct target *target;
    int threads;
    size_t file_bytes;
};

/* Returns a C name for the model in this file, in arena a: "ssd_12" for "nets/ssd-12.onnx". */
const char *network_export_name(struct arena *a, const char *path);
/* Writes the library into the folder, which must exist.  values: the result of measure_network.
 * Fails with ERR_RANGE, and writes nothing, if the library would replace a file that tilescope did
 * not write.  If a file cannot be written, an older library in the folder stays as it is: all files
 * are written before the first one is replaced. */
bool network_export(const struct network *net, const struct network_values *values,
                    const struct network_export_opts *o, const char *folder, struct err *e);
/* Makes the folder if it is missing (then *made is set), and checks that files can be written
 * there.  Call this before the measurement, which takes long. */
bool network_export_folder(const char *folder, bool *made, struct err *e);
/* Exports a network that was measured with result m.  ERR_WRONG: its outcome is not OK.  Appends
 * "lib: 13 kernels, each verified; check and time the library with", `gap` and "make -C lib
 * check". */
bool network_export_measured(const struct network *net, const struct network_measurement *m,
                             const struct network_values *values,
                             const struct network_export_opts *o, const char *folder,
                             const char *gap, struct str *out, struct err *e);
#endif
