/* Our prototypes and structs of NVIDIA's libraries, compared with its headers where the CUDA
 * toolkit is installed.  cupti_profiler_host.h includes a header of C++, for which
 * tests/unit/nvidia has an empty one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>

#if __has_include(<cupti_range_profiler.h>) && __has_include(<cublas_v2.h>) \
    && __has_include(<cudnn.h>)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpedantic"
#pragma GCC diagnostic ignored "-Wstrict-prototypes"
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
#include <cupti.h>
#include <cupti_profiler_host.h>
#include <cupti_range_profiler.h>
#include <cupti_target.h>
#include <cublas_v2.h>
#include <cudnn.h>
#include "profile/counters/cupti.h"

#define SAME_TYPE(name, type) \
    if (!__builtin_types_compatible_p(__typeof__(name), type)) \
        fail_msg("the prototype of %s", #name)

static void cublas_is_called_as_declared(void **state)
{
    (void)state;
#define FN(member, name, parameters) SAME_TYPE(name, cublasStatus_t parameters);
#include "profile/vendor/cublas.def"
    assert_true(CUBLAS_OP_N == 0 && CUBLAS_OP_T == 1 && CUBLAS_COMPUTE_32F == 68);
    assert_true(CUBLAS_GEMM_DEFAULT == -1 && CUDA_R_32F == 0 && CUDA_R_16F == 2);
    assert_true(CUDA_R_16BF == 14 && sizeof(cublasStatus_t) == 4 && sizeof(cudaDataType) == 4);
    assert_true(sizeof(cublasOperation_t) == 4 && sizeof(cublasGemmAlgo_t) == 4);
}

static void cudnn_is_called_as_declared(void **state)
{
    (void)state;
#define FN(member, name, parameters) SAME_TYPE(name, cudnnStatus_t parameters);
#include "profile/vendor/cudnn.def"
    typedef cudnnConvolutionFwdAlgoPerf_t forward;
    typedef cudnnConvolutionBwdDataAlgoPerf_t backward;
    assert_true(sizeof(forward) == 48 && sizeof(backward) == 48);
    assert_true(offsetof(forward, status) == 4 && offsetof(forward, time) == 8);
    assert_true(offsetof(forward, memory) == 16 && offsetof(backward, memory) == 16);
    assert_true(offsetof(backward, status) == 4 && offsetof(backward, time) == 8);
    assert_true(CUDNN_DATA_FLOAT == 0 && CUDNN_DATA_HALF == 2 && CUDNN_DATA_BFLOAT16 == 9);
    assert_true(CUDNN_TENSOR_NCHW == 0 && CUDNN_TENSOR_NHWC == 1 && CUDNN_CROSS_CORRELATION == 1);
    assert_true(CUDNN_TENSOR_OP_MATH == 1 && CUDNN_FMA_MATH == 3 && CUDNN_ACTIVATION_RELU == 1);
}

/* AT compares the place of a field, ENDS the size up to the last one. */
#define AT(ours, a, theirs, b) \
    if (offsetof(struct ours, a) != offsetof(theirs, b)) \
        fail_msg("%s.%s is elsewhere than %s.%s", #ours, #a, #theirs, #b)
#define ENDS(ours, last, size) \
    if (CUPTI_SIZE(struct ours, last) != (size)) \
        fail_msg("the size of %s", #ours)

static void the_host_api_has_our_structs(void **state)
{
    (void)state;
    ENDS(cupti_plain, reserved, CUpti_Profiler_Initialize_Params_STRUCT_SIZE);
    ENDS(cupti_chip, name, CUpti_Device_GetChipName_Params_STRUCT_SIZE);
    AT(cupti_chip, device, CUpti_Device_GetChipName_Params, deviceIndex);
    ENDS(cupti_availability, image, CUpti_Profiler_GetCounterAvailability_Params_STRUCT_SIZE);
    AT(cupti_availability, bytes, CUpti_Profiler_GetCounterAvailability_Params,
       counterAvailabilityImageSize);
    ENDS(cupti_host_open, host, CUpti_Profiler_Host_Initialize_Params_STRUCT_SIZE);
    AT(cupti_host_open, chip, CUpti_Profiler_Host_Initialize_Params, pChipName);
    AT(cupti_host_open, availability, CUpti_Profiler_Host_Initialize_Params,
       pCounterAvailabilityImage);
    ENDS(cupti_host_close, host, CUpti_Profiler_Host_Deinitialize_Params_STRUCT_SIZE);
    ENDS(cupti_host_metric, kind, CUpti_Profiler_Host_GetMetricProperties_Params_STRUCT_SIZE);
    AT(cupti_host_metric, metric, CUpti_Profiler_Host_GetMetricProperties_Params, pMetricName);
    ENDS(cupti_host_add, n, CUpti_Profiler_Host_ConfigAddMetrics_Params_STRUCT_SIZE);
    AT(cupti_host_add, metric, CUpti_Profiler_Host_ConfigAddMetrics_Params, ppMetricNames);
    ENDS(cupti_host_size, bytes, CUpti_Profiler_Host_GetConfigImageSize_Params_STRUCT_SIZE);
    ENDS(cupti_host_config, image, CUpti_Profiler_Host_GetConfigImage_Params_STRUCT_SIZE);
    AT(cupti_host_config, bytes, CUpti_Profiler_Host_GetConfigImage_Params, configImageSize);
    ENDS(cupti_host_passes, passes, CUpti_Profiler_Host_GetNumOfPasses_Params_STRUCT_SIZE);
    AT(cupti_host_passes, image, CUpti_Profiler_Host_GetNumOfPasses_Params, pConfigImage);
    ENDS(cupti_host_values, value, CUpti_Profiler_Host_EvaluateToGpuValues_Params_STRUCT_SIZE);
    AT(cupti_host_values, data, CUpti_Profiler_Host_EvaluateToGpuValues_Params, pCounterDataImage);
    AT(cupti_host_values, range, CUpti_Profiler_Host_EvaluateToGpuValues_Params, rangeIndex);
    AT(cupti_host_values, metric, CUpti_Profiler_Host_EvaluateToGpuValues_Params, ppMetricNames);
    assert_true((int)CUPTI_PROFILER_TYPE_RANGE_PROFILER == CUPTI_RANGE_PROFILER);
    assert_true((int)CUPTI_ERROR_INVALID_METRIC_NAME == CUPTI_NO_METRIC);
    assert_true((int)CUPTI_ERROR_QUEUE_EMPTY == CUPTI_QUEUE_EMPTY);
    assert_true((int)CUPTI_ERROR_INSUFFICIENT_PRIVILEGES == CUPTI_NO_PRIVILEGE);
}

static void the_range_profiler_has_our_structs(void **state)
{
    (void)state;
    ENDS(cupti_range_enable, object, CUpti_RangeProfiler_Enable_Params_STRUCT_SIZE);
    AT(cupti_range_enable, context, CUpti_RangeProfiler_Enable_Params, ctx);
    ENDS(cupti_range, object, CUpti_RangeProfiler_Start_Params_STRUCT_SIZE);
    ENDS(cupti_range, object, CUpti_RangeProfiler_Disable_Params_STRUCT_SIZE);
    ENDS(cupti_range, object, CUpti_RangeProfiler_PopRange_Params_STRUCT_SIZE);
    ENDS(cupti_range_config, level, CUpti_RangeProfiler_SetConfig_Params_STRUCT_SIZE);
    AT(cupti_range_config, config, CUpti_RangeProfiler_SetConfig_Params, pConfig);
    AT(cupti_range_config, data, CUpti_RangeProfiler_SetConfig_Params, pCounterDataImage);
    AT(cupti_range_config, range, CUpti_RangeProfiler_SetConfig_Params, range);
    AT(cupti_range_config, replay, CUpti_RangeProfiler_SetConfig_Params, replayMode);
    AT(cupti_range_config, most_ranges, CUpti_RangeProfiler_SetConfig_Params, maxRangesPerPass);
    AT(cupti_range_config, levels, CUpti_RangeProfiler_SetConfig_Params, numNestingLevels);
    AT(cupti_range_config, least_level, CUpti_RangeProfiler_SetConfig_Params, minNestingLevel);
    AT(cupti_range_config, pass, CUpti_RangeProfiler_SetConfig_Params, passIndex);
    ENDS(cupti_range_stop, all_passes, CUpti_RangeProfiler_Stop_Params_STRUCT_SIZE);
    AT(cupti_range_stop, pass, CUpti_RangeProfiler_Stop_Params, passIndex);
    ENDS(cupti_range_push, name, CUpti_RangeProfiler_PushRange_Params_STRUCT_SIZE);
    ENDS(cupti_range_decode, dropped, CUpti_RangeProfiler_DecodeData_Params_STRUCT_SIZE);
    ENDS(cupti_range_data_size, bytes, CUpti_RangeProfiler_GetCounterDataSize_Params_STRUCT_SIZE);
    AT(cupti_range_data_size, most_nodes, CUpti_RangeProfiler_GetCounterDataSize_Params,
       maxNumRangeTreeNodes);
    AT(cupti_range_data_size, metric, CUpti_RangeProfiler_GetCounterDataSize_Params, pMetricNames);
    ENDS(cupti_range_data, data,
         CUpti_RangeProfiler_CounterDataImage_Initialize_Params_STRUCT_SIZE);
    assert_true((int)CUPTI_UserRange == CUPTI_USER_RANGE);
    assert_true((int)CUPTI_UserReplay == CUPTI_USER_REPLAY);
}

static void records_begin_as_ours(void **state)
{
    (void)state;
    AT(cupti_kernel_record, kind, CUpti_ActivityKernel10, kind);
    AT(cupti_kernel_record, registers, CUpti_ActivityKernel10, registersPerThread);
    AT(cupti_kernel_record, start, CUpti_ActivityKernel10, start);
    AT(cupti_kernel_record, end, CUpti_ActivityKernel10, end);
    AT(cupti_kernel_record, completed, CUpti_ActivityKernel10, completed);
    AT(cupti_kernel_record, start, CUpti_ActivityKernel9, start);
    assert_true((int)CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL == CUPTI_CONCURRENT_KERNEL);
    assert_true((int)CUPTI_ACTIVITY_FLAG_FLUSH_FORCED == CUPTI_FLUSH_FORCED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cublas_is_called_as_declared),
        cmocka_unit_test(cudnn_is_called_as_declared),
        cmocka_unit_test(the_host_api_has_our_structs),
        cmocka_unit_test(the_range_profiler_has_our_structs),
        cmocka_unit_test(records_begin_as_ours),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
#else
static void the_toolkit_is_not_here(void **state)
{
    (void)state;
    skip();                               /* NVIDIA's headers are not installed */
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(the_toolkit_is_not_here) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
#endif
