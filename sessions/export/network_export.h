/* Exports a network as a C library (SPEC L.4).  It is a folder with
 *
 *     NAME.h, NAME.c              the interface, the calls of the kernels, the memory plan
 *     NAME_kernels.h, .c          the kernels, in several files when they are long
 *     NAME.weights                constants in the kernels' layouts; create() refuses other files
 *     NAME.check                  inputs, and the outputs of a checked run on them
 *     main.c                      checks and times the library on NAME.check
 *     Makefile, CMakeLists.txt
 *
 * The library needs libc, libm and, with parallel loops, libgomp.  Threads may use it at the same
 * time: they share only its constants. */
#ifndef TS_SESSIONS_NETWORK_EXPORT_H
#define TS_SESSIONS_NETWORK_EXPORT_H
#include "kernels/module/network.h"
#include "profile/measure/network_values.h"
#include "sessions/file/session.h"

/* name: as made by network_export_name; session: knows the model's names of inputs and outputs
 * (NULL: uses the names of the tensors); target: not NULL; file_bytes: most bytes of kernels in one
 * file (0: 1 MiB, which compiles in seconds); a longer kernel gets a file of its own. */
struct network_export_opts {
    const char *name;
    const struct session *session;
    const struct target *target;
    int threads;
    size_t file_bytes;
};

/* Returns a name in C for the model in this file, in arena a: "nets/ssd-12.onnx" is ssd_12. */
const char *network_export_name(struct arena *a, const char *path);
/* Writes the library into the folder, which must exist. ERR_RANGE: the folder has a main.c,
 * Makefile or CMakeLists.txt that tilescope did not write. values: the result of
 * measure_network. */
bool network_export(const struct network *net, const struct network_values *values,
                    const struct network_export_opts *o, const char *folder, struct err *e);
#endif
