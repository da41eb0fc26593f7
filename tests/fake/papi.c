/* A PAPI without a PMU, for the tests.  $FAKE_PAPI scripts it: nothing, it counts every event;
 * "version" (it is of another one), "start" and "threads" (neither begins), "presets" (it has no
 * hardware events), "nothing" (nor others), "disabled" (the same, and it says why), "nameless"
 * (errors without a text).  With LACKS, it has no function to find its components. */
#include <papi.h>
#include <stdlib.h>
#include <string.h>

static int members;                       /* events of the only set */

static int is(const char *script)
{
    const char *own = getenv("FAKE_PAPI");
    return own && strcmp(own, script) == 0;
}

int PAPI_library_init(int version)
{
    return is("version") ? version + 1 : is("start") ? PAPI_ESYS : version;
}

int PAPI_thread_init(unsigned long (*id)(void))
{
    return is("threads") || id() == 0 ? PAPI_ENOSUPP : PAPI_OK;
}

int PAPI_create_eventset(int *set)
{
    *set = 7;
    return PAPI_OK;
}

int PAPI_add_named_event(int set, const char *name)
{
    int hardware = strncmp(name, "PAPI_", 5) == 0;
    if (set != 7 || is("nothing") || is("disabled") || is("nameless")
        || (is("presets") && hardware))
        return PAPI_ENOEVNT;
    members++;
    return PAPI_OK;
}

int PAPI_remove_named_event(int set, const char *name)
{
    (void)name;
    members--;
    return set == 7 ? PAPI_OK : PAPI_ENOEVST;
}

int PAPI_cleanup_eventset(int set)
{
    members = 0;
    return set == 7 ? PAPI_OK : PAPI_ENOEVST;
}

int PAPI_destroy_eventset(int *set)
{
    *set = PAPI_NULL;
    return PAPI_OK;
}

int PAPI_start(int set)
{
    return set == 7 ? PAPI_OK : PAPI_ENOEVST;
}

int PAPI_stop(int set, long long *value)
{
    for (int i = 0; i < members; i++)
        value[i] = 1000 * (i + 1);
    return set == 7 ? PAPI_OK : PAPI_ENOEVST;
}

char *PAPI_strerror(int code)
{
    static char text[] = "no such event", other[] = "it is broken";
    return is("nameless") ? NULL : code == PAPI_ENOEVNT ? text : other;
}

int PAPI_num_components(void)
{
    return 2;
}

#ifndef LACKS
/* The first component is disabled as well, but it counts no events of a CPU. */
const PAPI_component_info_t *PAPI_get_component_info(int i)
{
    static PAPI_component_info_t info[2];
    strcpy(info[0].name, "rapl");
    strcpy(info[1].name, "perf_event");
    info[0].disabled = 1;
    info[1].disabled = is("disabled");
    strcpy(info[0].disabled_reason, "no access");
    strcpy(info[1].disabled_reason, "an unknown CPU");
    return i == 0 || i == 1 ? &info[i] : NULL;
}
#endif
