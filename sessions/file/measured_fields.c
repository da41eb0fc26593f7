#include "sessions/file/measured_fields.h"

#include "profile/measure/measurement.h"

#define KEPT(member) FIELD(OF, member, ZERO_KEPT)
#define LEFT_OUT(member) FIELD(OF, member, ZERO_LEFT_OUT)
#define UNKNOWN(member) FIELD(OF, member, ZERO_UNKNOWN)
/* Rows for the members of `cost`, a struct access_cost. */
#define COST(member, zero) FIELD_AS(#member, OF, cost.member, zero)
#define COSTS(l1_zero) COST(l1_misses, l1_zero), \
    COST(l2_misses, ZERO_LEFT_OUT), COST(l3_misses, ZERO_LEFT_OUT), \
    COST(sectors, ZERO_LEFT_OUT), COST(ideal_sectors, ZERO_LEFT_OUT), \
    COST(bank_conflicts, ZERO_LEFT_OUT)

#define OF measurement
const struct fields measured_fields = FIELDS(
    UNKNOWN(reason), KEPT(verified), LEFT_OUT(max_rel_err), LEFT_OUT(error_of_bound),
    UNKNOWN(tolerance),
    UNKNOWN(gflops), UNKNOWN(executed_gflops), UNKNOWN(peak_gflops), UNKNOWN(peak_fraction),
    UNKNOWN(peak_reason), UNKNOWN(load), UNKNOWN(measurements), UNKNOWN(measured_at),
    UNKNOWN(cold_method), LEFT_OUT(huge_asked), LEFT_OUT(huge_bytes), LEFT_OUT(huge_of_bytes),
    UNKNOWN(threads_note), FIELD_AS("device_name", OF, device.name, ZERO_UNKNOWN),
    FIELD_AS("device_driver", OF, device.driver, ZERO_UNKNOWN),
    FIELD_AS("device_nvrtc", OF, device.nvrtc, ZERO_UNKNOWN),
    FIELD_AS("device_clock_mhz", OF, device.clock_mhz, ZERO_UNKNOWN),
    FIELD_AS("device_memory_mhz", OF, device.memory_mhz, ZERO_UNKNOWN),
    UNKNOWN(compiler), UNKNOWN(code), UNKNOWN(isa), UNKNOWN(threads), KEPT(seed), UNKNOWN(build_s),
    UNKNOWN(total_s));
#undef OF

#define OF measured_device
const struct fields measured_device_fields = FIELDS(
    UNKNOWN(name), UNKNOWN(driver), UNKNOWN(nvrtc), UNKNOWN(clock_mhz), UNKNOWN(memory_mhz),
    UNKNOWN(reason));
#undef OF

#define OF latency
#define MS(key, zero) FIELD_AS(#key, latency, key##_ms, zero)
const struct fields measured_latency_fields = FIELDS(
    MS(median, ZERO_KEPT), MS(min, ZERO_KEPT), MS(max, ZERO_KEPT), MS(p10, ZERO_UNKNOWN),
    MS(p25, ZERO_UNKNOWN), MS(p75, ZERO_UNKNOWN), MS(p90, ZERO_UNKNOWN), KEPT(spread), KEPT(runs),
    LEFT_OUT(noisy), KEPT(disturbed), KEPT(others));
#undef OF

#define OF baseline
const struct fields measured_baseline_fields = FIELDS(
    KEPT(available), UNKNOWN(reason), UNKNOWN(ratio), LEFT_OUT(verified), LEFT_OUT(max_rel_err),
    LEFT_OUT(implementation), LEFT_OUT(layout));
#undef OF

#define OF sim_result
const struct fields measured_sim_fields = FIELDS(
    KEPT(available), UNKNOWN(reason), LEFT_OUT(loads), LEFT_OUT(stores), LEFT_OUT(l1_misses),
    LEFT_OUT(writebacks), LEFT_OUT(straddled), LEFT_OUT(streamed_bytes), LEFT_OUT(fraction),
    LEFT_OUT(error), UNKNOWN(how), LEFT_OUT(of_source), LEFT_OUT(skips_prefetches),
    LEFT_OUT(seconds), UNKNOWN(gpu), LEFT_OUT(sector_bytes), LEFT_OUT(sectors),
    LEFT_OUT(ideal_sectors), LEFT_OUT(bank_conflicts), LEFT_OUT(shared_bytes),
    UNKNOWN(fma_ns), UNKNOWN(l1_ns), UNKNOWN(l2_ns), UNKNOWN(dram_ns));
#undef OF

#define OF sim_level
const struct fields measured_level_fields = FIELDS(
    KEPT(accesses), KEPT(misses), KEPT(writebacks), LEFT_OUT(prefetches), LEFT_OUT(useful));
#undef OF

#define OF tensor_count
const struct fields measured_tensor_fields = FIELDS(
    KEPT(loads), KEPT(stores), COSTS(ZERO_KEPT));
#undef OF

#define OF sim_site
const struct fields measured_site_fields = FIELDS(
    KEPT(text), KEPT(tensor), LEFT_OUT(is_store), UNKNOWN(into), LEFT_OUT(operand),
    KEPT(accesses), COSTS(ZERO_LEFT_OUT),
    UNKNOWN(memory), LEFT_OUT(degree), LEFT_OUT(bytes), LEFT_OUT(run),
    FIELD_ROW("stride", OF, stride, ZERO_LEFT_OUT, true));
#undef OF

#define OF cache_geometry
const struct fields measured_geometry_fields = FIELDS(
    KEPT(size_bytes), KEPT(ways), KEPT(line_bytes));
#undef OF

#define OF counts
const struct fields measured_counts_fields = FIELDS(
    KEPT(available), UNKNOWN(reason), UNKNOWN(missing), UNKNOWN(source));
#undef OF

#define OF count
const struct fields measured_count_fields = FIELDS(
    KEPT(name), KEPT(value), KEPT(scaled), LEFT_OUT(derived), UNKNOWN(unit), UNKNOWN(running));
