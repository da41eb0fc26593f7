#include "profile/measure/mca_models.h"

#include <string.h>

#include "kernels/base/arena.h"

/* Names of llvm-mca's models, the nearest first, for CPUs of a vendor and family with model numbers
 * lo to hi. The first name is that of the CPU itself. */
static const struct {
    const char *vendor;
    int family, lo, hi;
    const char *name[MCA_MODELS];
} row[] = {
    { "AuthenticAMD", 0x17, 0x00, 0x2f, { "znver1" } },
    { "AuthenticAMD", 0x17, 0x30, 0xff, { "znver2", "znver1" } },
    { "HygonGenuine", 0x18, 0x00, 0xff, { "znver1" } },
    { "AuthenticAMD", 0x19, 0x00, 0x0f, { "znver3", "znver2" } },
    { "AuthenticAMD", 0x19, 0x10, 0x1f, { "znver4", "znver3", "znver2" } },
    { "AuthenticAMD", 0x19, 0x20, 0x5f, { "znver3", "znver2" } },
    { "AuthenticAMD", 0x19, 0x60, 0xff, { "znver4", "znver3", "znver2" } },
    { "AuthenticAMD", 0x1a, 0x00, 0xff, { "znver5", "znver4", "znver3", "znver2" } },
    { "GenuineIntel", 6, 0x3c, 0x3c, { "haswell" } },
    { "GenuineIntel", 6, 0x3f, 0x3f, { "haswell" } },
    { "GenuineIntel", 6, 0x45, 0x46, { "haswell" } },
    { "GenuineIntel", 6, 0x3d, 0x3d, { "broadwell", "haswell" } },
    { "GenuineIntel", 6, 0x47, 0x47, { "broadwell", "haswell" } },
    { "GenuineIntel", 6, 0x4f, 0x4f, { "broadwell", "haswell" } },
    { "GenuineIntel", 6, 0x56, 0x56, { "broadwell", "haswell" } },
    { "GenuineIntel", 6, 0x4e, 0x4e, { "skylake" } },
    { "GenuineIntel", 6, 0x5e, 0x5e, { "skylake" } },
    { "GenuineIntel", 6, 0x8e, 0x8e, { "skylake" } },
    { "GenuineIntel", 6, 0x9e, 0x9e, { "skylake" } },
    { "GenuineIntel", 6, 0xa5, 0xa6, { "skylake" } },
    { "GenuineIntel", 6, 0x55, 0x55, { "skylake-avx512" } },
    { "GenuineIntel", 6, 0x7d, 0x7e, { "icelake-client", "icelake-server" } },
    { "GenuineIntel", 6, 0x6a, 0x6c, { "icelake-server", "skylake-avx512" } },
    { "GenuineIntel", 6, 0x8c, 0x8d, { "tigerlake", "icelake-client" } },
    { "GenuineIntel", 6, 0xa7, 0xa7, { "rocketlake", "icelake-client" } },
    { "GenuineIntel", 6, 0x8f, 0x8f, { "sapphirerapids", "icelake-server" } },
    { "GenuineIntel", 6, 0xcf, 0xcf, { "emeraldrapids", "sapphirerapids", "icelake-server" } },
    { "GenuineIntel", 6, 0xad, 0xae, { "graniterapids", "sapphirerapids", "icelake-server" } },
    { "GenuineIntel", 6, 0x97, 0x9a, { "alderlake", "icelake-client" } },
    { "GenuineIntel", 6, 0xb7, 0xba, { "raptorlake", "alderlake", "icelake-client" } },
    { "GenuineIntel", 6, 0xbf, 0xbf, { "raptorlake", "alderlake", "icelake-client" } },
    { "GenuineIntel", 6, 0xaa, 0xac, { "meteorlake", "alderlake", "icelake-client" } },
    { "GenuineIntel", 6, 0xb5, 0xb5, { "arrowlake", "meteorlake", "alderlake" } },
    { "GenuineIntel", 6, 0xc5, 0xc6, { "arrowlake", "meteorlake", "alderlake" } },
    { "GenuineIntel", 6, 0xbd, 0xbd, { "lunarlake", "arrowlake", "alderlake" } },
};

/* Models that are added at the end for each CPU. On other architectures than x86, llvm-mca does not
 * list them. */
static const char *const any_x86[] = { "icelake-server", "skylake-avx512", "haswell" };

/* Whether "  name   - ..." is a line of the list of CPUs. */
static bool is_listed(const char *help, const char *name)
{
    const char *end = strstr(help, "Available features");
    size_t n = strlen(name);
    for (const char *line = help; *line && (!end || line < end); line += *line == '\n') {
        const char *word = line + strspn(line, " ");
        if (word > line && strncmp(word, name, n) == 0 && word[n] == ' ')
            return true;
        line += strcspn(line, "\n");
    }
    return false;
}

static void add(struct mca_models *m, const char *help, const char *name)
{
    for (int i = 0; i < m->n; i++)
        if (streq(m->name[i], name))
            return;
    if (m->n < MCA_MODELS && is_listed(help, name))
        m->name[m->n++] = name;
}

struct mca_models mca_models_of(const struct machine_cpu *cpu, const char *help)
{
    struct mca_models m = {0};
    for (int i = 0; i < COUNT_OF(row); i++) {
        if (!streq(row[i].vendor, cpu->vendor) || row[i].family != cpu->family
            || cpu->model < row[i].lo || cpu->model > row[i].hi)
            continue;
        m.exact = is_listed(help, row[i].name[0]);
        m.fma_cycles = streq(row[i].name[0], "znver1") ? 1 : 0.5;
        for (int k = 0; k < MCA_MODELS && row[i].name[k]; k++)
            add(&m, help, row[i].name[k]);
    }
    for (int i = 0; i < COUNT_OF(any_x86); i++)
        add(&m, help, any_x86[i]);
    return m;
}
