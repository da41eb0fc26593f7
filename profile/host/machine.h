/* Describes this machine: names, cores, caches, vector ISA. */
#ifndef TS_PROFILE_MACHINE_H
#define TS_PROFILE_MACHINE_H
#include "kernels/base/str.h"
#include "profile/sim/cache_config.h"

struct machine {
    char cpu[128];                       /* model name, or another name where Linux gives none */
    char isa[32];                        /* target_host()->isa */
    int vector_floats;
    int cores;  /* number of CPUs (hardware threads) that this process may use (affinity, cgroup) */
    int core_threads;  /* number of CPUs that share a physical core (SMT); 1 when unknown */
    struct cache_geometry l1d, l2, l3;   /* size 0 = unknown; an unknown l1d is set to 32K/8/64 */
    bool l1d_assumed;
    int64_t memory_bytes;                /* physical memory, or the lower limit of the cgroup */
    char os[128];                        /* system, kernel release and architecture */
    bool has_pmu;                        /* the kernel lists a CPU event source */
};
void machine_read(struct machine *m);
const struct machine *machine_this(void);                /* read once, at the first call */
int64_t machine_last_cache(const struct machine *m);     /* bytes of the outermost known cache */
/* Reads the beginning of a file like /proc/cpuinfo, which has all lines of the first CPU. The whole
 * file may have megabytes, on a machine with hundreds of CPUs. False: the file is empty or cannot
 * be read. */
bool machine_cpu_text(const char *path, struct str *out);
uint64_t machine_cpu_hash(void);         /* hash of the CPU's model and features */
/* Whether a folder of event sources has one of a CPU. Its name is "cpu" on most machines,
 * "cpu_core" or "cpu_atom" on hybrid x86, and "armv8_pmuv3_0" or similar on Arm. False: it has
 * none, or it cannot be read. */
bool machine_lists_pmu(const char *sources);
bool machine_has_pmu(void);              /* machine_lists_pmu for Linux's own folder */
bool machine_cpu_vendor(char *out, size_t n);   /* "GenuineIntel"; false, and "", when unknown */
/* The maker of the CPU, and the maker's numbers for it; "" and 0: unknown. */
struct machine_cpu { char vendor[16]; int family, model; };
void machine_cpu_read(struct machine_cpu *cpu);
/* Returns the bytes available without swapping, within the limits of the cgroups; 0 = unknown. */
int64_t machine_memory_available(void);
/* Returns Linux's load average of the last minute, but at least 0.01; 0 = unknown. */
double machine_load(void);
void machine_date(char *out, size_t n);          /* the time in UTC: "2026-11-23T02:10:00Z" */
/* Prints the fingerprint that sessions and records store with a measurement: "AMD EPYC | avx512 |
 * 2 cores | L1d 32K/8/64". */
void machine_fingerprint(struct str *out, const struct machine *m);
void machine_fingerprint_here(struct str *out);  /* prints the fingerprint of this machine */
/* Whether two fingerprints are of one machine. They may differ in the number of cores, which
 * affinity and cgroups limit for one process, and in nothing else. */
bool machine_is_same(const char *a, const char *b);
/* Appends the part of a fingerprint about cores: "2 cores". */
void machine_cores_of(struct str *out, const char *fingerprint);
#endif
