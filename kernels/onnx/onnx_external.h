/* Tensor data in files beside the model.  The model names these files, and they must lie in its
 * folder: a model from elsewhere must not make this program read any other file of the user. */
#ifndef TS_ONNX_EXTERNAL_H
#define TS_ONNX_EXTERNAL_H
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "kernels/base/arena.h"
#include "kernels/base/err.h"

/* A file from which data of a model were read. st: the state of the file at that time. */
struct onnx_file { const struct onnx_file *next; const char *path; struct stat st; };

struct onnx_external {
    const char *folder, *location;        /* folder: ends with /; location: a path in the folder */
    int64_t offset;
    size_t n;                             /* number of bytes to read, from `offset` on */
    int fd;
    struct arena *a;
    const struct onnx_file **files;       /* the opened file is added to this list, in arena a */
};

/* Opens the file, and checks that it lies in the folder and has enough bytes.  Allocate memory for
 * the data only after this has succeeded: a damaged model can ask for any number of bytes. */
bool onnx_external_open(struct onnx_external *x, struct err *e);
/* Reads the n bytes into `out`, and closes the file. */
bool onnx_external_read(struct onnx_external *x, void *out, struct err *e);
#endif
