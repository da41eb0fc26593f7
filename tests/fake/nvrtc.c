/* An NVRTC that compiles for the host, for tests: its cubin is a shared object, for the driver of
 * cuda.c.  It takes kernels without shared memory, and those with one thread in a block. Dynamic
 * shared memory ends where the launch says, at an inaccessible page.  If $FAKE_CUBIN names a file,
 * this file is the cubin. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

struct program { char *source, *object; size_t bytes; };

static const char prologue[] =
    "#define _GNU_SOURCE\n#include <sys/mman.h>\n"
    "#define expf __builtin_expf\n#define logf __builtin_logf\n#define tanhf __builtin_tanhf\n"
    "#define erff __builtin_erff\n#define sqrtf __builtin_sqrtf\n#define sinf __builtin_sinf\n"
    "#define cosf __builtin_cosf\n#define atanf __builtin_atanf\n"
    "#define floorf __builtin_floorf\n"
    "#define __int_as_float(i) ((union { unsigned n; float x; }){ i }).x\n"
    "#define __global__\n#define __device__\n#define __launch_bounds__(n)\n"
    "typedef struct { unsigned x, y, z, w; } uint4;\n"
    "#define __shared__\n#define __syncthreads()\n"
    "#define __align__(n) __attribute__((aligned(n)))\n"
    "__attribute__((aligned(4096), visibility(\"hidden\"))) unsigned char shared[58 * 4096];\n"
    "static struct { unsigned x, y, z; } blockIdx, threadIdx;\n"
    "typedef void any(void *, void *, void *, void *, void *, void *, void *, void *);\n"
    "void fake_launch(void (*kernel)(void), const unsigned *n, void **a, unsigned bytes)\n{\n"
    "    unsigned end = (bytes + 4095) / 4096 * 4096;\n"
    "    mprotect(shared, sizeof shared, PROT_READ | PROT_WRITE);\n"
    "    mprotect(shared + end, sizeof shared - end, PROT_NONE);\n"
    "#define P(i) (*(void **)a[i])\n#define FOR(i, end) for (i = 0; i < end; i++)\n"
    "    FOR(blockIdx.z, n[2]) FOR(blockIdx.y, n[1]) FOR(blockIdx.x, n[0])\n"
    "    FOR(threadIdx.z, n[5]) FOR(threadIdx.y, n[4]) FOR(threadIdx.x, n[3])\n"
    "        ((any *)kernel)(P(0), P(1), P(2), P(3), P(4), P(5), P(6), P(7));\n}\n";

int nvrtcVersion(int *major, int *minor)
{
    *major = 99;
    *minor = 1;
    return 0;
}

int nvrtcCreateProgram(struct program **p, const char *source, const char *name, int n,
                       const char *const *headers, const char *const *names)
{
    (void)name;
    (void)n;
    (void)headers;
    (void)names;
    *p = calloc(1, sizeof **p);
    (*p)->source = strdup(source);
    return 0;
}

int nvrtcDestroyProgram(struct program **p)
{
    free((*p)->source);
    free((*p)->object);
    free(*p);
    *p = NULL;
    return 0;
}

const char *nvrtcGetErrorString(int code)
{
    return code == 6 ? "NVRTC_ERROR_COMPILATION" : "NVRTC_ERROR";
}

/* Writes the source as C. */
static int write_source(const char *path, const char *source)
{
    static const char word[] = "extern \"C\" ";
    FILE *out = fopen(path, "w");
    if (!out)
        return 0;
    fputs(prologue, out);
    for (const char *at; (at = strstr(source, word)) != NULL; source = at + strlen(word))
        fwrite(source, 1, (size_t)(at - source), out);
    fputs(source, out);
    return fclose(out) == 0;
}

static int read_object(const char *path, struct program *p)
{
    FILE *in = fopen(path, "rb");
    if (!in)
        return 0;
    fseek(in, 0, SEEK_END);
    p->bytes = (size_t)ftell(in);
    rewind(in);
    p->object = malloc(p->bytes);
    int ok = fread(p->object, 1, p->bytes, in) == p->bytes;
    fclose(in);
    return ok;
}

static int run_compiler(const char *c, const char *so)
{
    int status = -1;
    pid_t pid = fork();
    if (pid == 0) {
        execlp("gcc", "gcc", "-w", "-O1", "-shared", "-fPIC", "-o", so, c, "-lm", (char *)NULL);
        _exit(127);
    }
    return pid > 0 && waitpid(pid, &status, 0) == pid && status == 0;
}

int nvrtcCompileProgram(struct program *p, int n, const char *const *options)
{
    char folder[64] = "/tmp/fake-nvrtc-XXXXXX", c[80], so[80];
    if (getenv("FAKE_CUBIN"))
        return read_object(getenv("FAKE_CUBIN"), p) ? 0 : 6;
    if (n < 1 || strcmp(options[0], "--gpu-architecture=sm_90") != 0 || !mkdtemp(folder))
        return 5;
    snprintf(c, sizeof c, "%s/k.c", folder);
    snprintf(so, sizeof so, "%s/k.so", folder);
    int ok = !getenv("FAKE_NVRTC") && write_source(c, p->source) && run_compiler(c, so)
          && read_object(so, p);
    unlink(c);
    unlink(so);
    rmdir(folder);
    return ok ? 0 : 6;
}

int nvrtcGetProgramLogSize(struct program *p, size_t *n)
{
    (void)p;
    *n = 1;
    return 0;
}

int nvrtcGetProgramLog(struct program *p, char *text)
{
    (void)p;
    *text = '\0';
    return 0;
}

int nvrtcGetPTXSize(struct program *p, size_t *n)
{
    (void)p;
    *n = 4;
    return 0;
}

int nvrtcGetPTX(struct program *p, char *text)
{
    (void)p;
    memcpy(text, "ptx", 4);
    return 0;
}

int nvrtcGetCUBINSize(struct program *p, size_t *n)
{
    *n = p->bytes;
    return 0;
}

int nvrtcGetCUBIN(struct program *p, char *data)
{
    memcpy(data, p->object, p->bytes);
    return 0;
}
