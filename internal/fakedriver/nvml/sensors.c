/* Sensors: utilisation (per cent), temperature (°C), power (mW), energy (mJ), clocks (MHz),
 * throttle reasons, ECC. Refused for a MIG instance.
 */
#include "call.h"

static nvmlReturn_t figure(nvmlDevice_t device, const char *name, number (*pick)(const struct gpu *, unsigned int),
                           unsigned int which, unsigned int *out)
{
	struct call call;
	nvmlReturn_t answer = call_begin(&call, name, device, WHOLE_GPU);
	if (answer == NVML_SUCCESS) {
		number value = pick(call.gpu, which);
		if (!out)
			answer = NVML_ERROR_INVALID_ARGUMENT;
		else if (value == ABSENT)
			answer = NVML_ERROR_NOT_SUPPORTED;
		else
			*out = (unsigned int)value;
	}
	call_end(&call);
	return answer;
}

/* Returns two figures, or an error if one of them is absent. */
static nvmlReturn_t pair(nvmlDevice_t device, const char *name, unsigned int *first, unsigned int *second,
                         number (*pick)(const struct gpu *, unsigned int))
{
	struct call call;
	nvmlReturn_t answer = call_begin(&call, name, device, WHOLE_GPU);
	if (answer == NVML_SUCCESS) {
		number a = pick(call.gpu, 0), b = pick(call.gpu, 1);
		if (!first || !second) {
			answer = NVML_ERROR_INVALID_ARGUMENT;
		} else if (a == ABSENT || b == ABSENT) {
			answer = NVML_ERROR_NOT_SUPPORTED;
		} else {
			*first = (unsigned int)a;
			*second = (unsigned int)b;
		}
	}
	call_end(&call);
	return answer;
}

/* Under MIG the driver does not measure utilisation. */
static number utilization(const struct gpu *gpu, unsigned int which)
{
	if (gpu->mig_mode == NVML_DEVICE_MIG_ENABLE)
		return ABSENT;
	return which == 0 ? gpu->utilization_gpu : gpu->utilization_memory;
}

nvmlReturn_t nvmlDeviceGetUtilizationRates(nvmlDevice_t device, nvmlUtilization_t *rates)
{
	nvmlUtilization_t value;
	nvmlReturn_t answer = pair(device, "nvmlDeviceGetUtilizationRates", rates ? &value.gpu : NULL, &value.memory,
	                           utilization);
	if (answer == NVML_SUCCESS)
		*rates = value;
	return answer;
}

#define SAMPLING_PERIOD_US 167000

static number encoder(const struct gpu *gpu, unsigned int which)
{
	return which == 0 ? gpu->utilization_encoder : SAMPLING_PERIOD_US;
}

static number decoder(const struct gpu *gpu, unsigned int which)
{
	return which == 0 ? gpu->utilization_decoder : SAMPLING_PERIOD_US;
}

nvmlReturn_t nvmlDeviceGetEncoderUtilization(nvmlDevice_t device, unsigned int *utilization_, unsigned int *period)
{
	return pair(device, "nvmlDeviceGetEncoderUtilization", utilization_, period, encoder);
}

nvmlReturn_t nvmlDeviceGetDecoderUtilization(nvmlDevice_t device, unsigned int *utilization_, unsigned int *period)
{
	return pair(device, "nvmlDeviceGetDecoderUtilization", utilization_, period, decoder);
}

static number temperature(const struct gpu *gpu, unsigned int sensor)
{
	return sensor == NVML_TEMPERATURE_GPU ? gpu->temperature : ABSENT;
}

static number threshold(const struct gpu *gpu, unsigned int type)
{
	switch (type) {
	case NVML_TEMPERATURE_THRESHOLD_SHUTDOWN: return gpu->temperature_shutdown;
	case NVML_TEMPERATURE_THRESHOLD_SLOWDOWN: return gpu->temperature_slowdown;
	case NVML_TEMPERATURE_THRESHOLD_MEM_MAX: return gpu->temperature_memory_max;
	case NVML_TEMPERATURE_THRESHOLD_GPU_MAX: return gpu->temperature_gpu_max;
	default: return ABSENT;
	}
}

nvmlReturn_t nvmlDeviceGetTemperature(nvmlDevice_t device, nvmlTemperatureSensors_t sensorType, unsigned int *temp)
{
	return figure(device, "nvmlDeviceGetTemperature", temperature, sensorType, temp);
}

nvmlReturn_t nvmlDeviceGetTemperatureThreshold(nvmlDevice_t device, nvmlTemperatureThresholds_t thresholdType,
                                               unsigned int *temp)
{
	return figure(device, "nvmlDeviceGetTemperatureThreshold", threshold, thresholdType, temp);
}

#ifdef HAVE_R510
nvmlReturn_t nvmlDeviceGetTemperatureV(nvmlDevice_t device, nvmlTemperature_t *reading)
{
	if (reading && reading->version != nvmlTemperature_v1)
		return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
	unsigned int value = 0;
	nvmlReturn_t answer = figure(device, "nvmlDeviceGetTemperatureV", temperature,
	                             reading ? reading->sensorType : 0, reading ? &value : NULL);
	if (answer == NVML_SUCCESS)
		reading->temperature = (int)value;
	return answer;
}
#endif

static number clock_now(const struct gpu *gpu, unsigned int type)
{
	switch (type) {
	case NVML_CLOCK_GRAPHICS: return gpu->clock_graphics;
	case NVML_CLOCK_SM: return gpu->clock_sm;
	case NVML_CLOCK_MEM: return gpu->clock_memory;
	case NVML_CLOCK_VIDEO: return gpu->clock_video;
	default: return ABSENT;
	}
}

static number clock_max(const struct gpu *gpu, unsigned int type)
{
	switch (type) {
	case NVML_CLOCK_GRAPHICS: return gpu->clock_graphics_max;
	case NVML_CLOCK_SM: return gpu->clock_sm_max;
	case NVML_CLOCK_MEM: return gpu->clock_memory_max;
	case NVML_CLOCK_VIDEO: return gpu->clock_video_max;
	default: return ABSENT;
	}
}

nvmlReturn_t nvmlDeviceGetClockInfo(nvmlDevice_t device, nvmlClockType_t type, unsigned int *clock)
{
	return figure(device, "nvmlDeviceGetClockInfo", clock_now, type, clock);
}

nvmlReturn_t nvmlDeviceGetMaxClockInfo(nvmlDevice_t device, nvmlClockType_t type, unsigned int *clock)
{
	return figure(device, "nvmlDeviceGetMaxClockInfo", clock_max, type, clock);
}

static number power_limits(const struct gpu *gpu, unsigned int which)
{
	return which == 0 ? gpu->power_limit_min : gpu->power_limit_max;
}

nvmlReturn_t nvmlDeviceGetPowerManagementLimitConstraints(nvmlDevice_t device, unsigned int *minLimit,
                                                          unsigned int *maxLimit)
{
	return pair(device, "nvmlDeviceGetPowerManagementLimitConstraints", minLimit, maxLimit, power_limits);
}

FIGURE(nvmlDeviceGetPowerUsage, unsigned int, power, WHOLE_GPU, gpu->power)
FIGURE(nvmlDeviceGetEnforcedPowerLimit, unsigned int, limit, WHOLE_GPU, gpu->power_limit)
FIGURE(nvmlDeviceGetPowerManagementLimit, unsigned int, limit, WHOLE_GPU, gpu->power_limit)
FIGURE(nvmlDeviceGetPowerManagementDefaultLimit, unsigned int, limit, WHOLE_GPU, gpu->power_limit_default)
FIGURE(nvmlDeviceGetPowerManagementMode, nvmlEnableState_t, mode, WHOLE_GPU,
       gpu->power_limit == ABSENT ? ABSENT : NVML_FEATURE_ENABLED)
FIGURE(nvmlDeviceGetPowerState, nvmlPstates_t, pState, WHOLE_GPU, gpu->pstate)
FIGURE(nvmlDeviceGetPerformanceState, nvmlPstates_t, pState, WHOLE_GPU, gpu->pstate)
FIGURE(nvmlDeviceGetFanSpeed, unsigned int, speed, WHOLE_GPU, gpu->fan)
FIGURE(nvmlDeviceGetCurrentClocksThrottleReasons, unsigned long long, reasons, WHOLE_GPU, gpu->throttle)
FIGURE(nvmlDeviceGetSupportedClocksThrottleReasons, unsigned long long, reasons, WHOLE_GPU, gpu->throttle_supported)
#ifdef HAVE_V2
FIGURE(nvmlDeviceGetTotalEnergyConsumption, unsigned long long, energy, WHOLE_GPU, gpu->energy)
#endif
#ifdef HAVE_R510
FIGURE(nvmlDeviceGetCurrentClocksEventReasons, unsigned long long, reasons, WHOLE_GPU, gpu->throttle)
FIGURE(nvmlDeviceGetSupportedClocksEventReasons, unsigned long long, reasons, WHOLE_GPU, gpu->throttle_supported)
#endif

static number ecc_mode(const struct gpu *gpu, unsigned int which)
{
	return which == 0 ? gpu->ecc_mode : gpu->ecc_pending;
}

nvmlReturn_t nvmlDeviceGetEccMode(nvmlDevice_t device, nvmlEnableState_t *current, nvmlEnableState_t *pending)
{
	unsigned int now = 0, next = 0;
	nvmlReturn_t answer = pair(device, "nvmlDeviceGetEccMode", current ? &now : NULL, pending ? &next : NULL, ecc_mode);
	if (answer == NVML_SUCCESS) {
		*current = (nvmlEnableState_t)now;
		*pending = (nvmlEnableState_t)next;
	}
	return answer;
}

/* Counts exist only if ECC is on. */
static number ecc_count(const struct gpu *gpu, nvmlMemoryErrorType_t type, nvmlEccCounterType_t counter)
{
	if (gpu->ecc_mode != NVML_FEATURE_ENABLED)
		return ABSENT;
	if (counter == NVML_VOLATILE_ECC)
		return type == NVML_MEMORY_ERROR_TYPE_CORRECTED ? gpu->ecc_corrected : gpu->ecc_uncorrected;
	return type == NVML_MEMORY_ERROR_TYPE_CORRECTED ? gpu->ecc_corrected_aggregate : gpu->ecc_uncorrected_aggregate;
}

static nvmlReturn_t ecc_errors(const char *name, nvmlDevice_t device, nvmlMemoryErrorType_t type,
                               nvmlEccCounterType_t counter, unsigned long long *count)
{
	struct call call;
	nvmlReturn_t answer = call_begin(&call, name, device, WHOLE_GPU);
	if (answer == NVML_SUCCESS) {
		number value = ecc_count(call.gpu, type, counter);
		if (!count || type >= NVML_MEMORY_ERROR_TYPE_COUNT || counter >= NVML_ECC_COUNTER_TYPE_COUNT)
			answer = NVML_ERROR_INVALID_ARGUMENT;
		else if (value == ABSENT)
			answer = NVML_ERROR_NOT_SUPPORTED;
		else
			*count = value;
	}
	call_end(&call);
	return answer;
}

nvmlReturn_t nvmlDeviceGetTotalEccErrors(nvmlDevice_t device, nvmlMemoryErrorType_t errorType,
                                         nvmlEccCounterType_t counterType, unsigned long long *eccCounts)
{
	return ecc_errors("nvmlDeviceGetTotalEccErrors", device, errorType, counterType, eccCounts);
}

/* All errors of this box are errors of its device memory. */
nvmlReturn_t nvmlDeviceGetMemoryErrorCounter(nvmlDevice_t device, nvmlMemoryErrorType_t errorType,
                                             nvmlEccCounterType_t counterType, nvmlMemoryLocation_t locationType,
                                             unsigned long long *count)
{
	nvmlReturn_t answer = ecc_errors("nvmlDeviceGetMemoryErrorCounter", device, errorType, counterType, count);
	if (answer == NVML_SUCCESS && locationType != NVML_MEMORY_LOCATION_DEVICE_MEMORY)
		*count = 0;
	return answer;
}

/* With MIG the rows are hidden, as the driver's documentation says; a GPU without remapping has
 * no figures. */
#ifdef HAVE_V2
nvmlReturn_t nvmlDeviceGetRemappedRows(nvmlDevice_t device, unsigned int *corrRows, unsigned int *uncRows,
                                       unsigned int *isPending, unsigned int *failureOccurred)
{
	struct call call;
	nvmlReturn_t answer = call_begin(&call, "nvmlDeviceGetRemappedRows", device, WHOLE_GPU);
	if (answer == NVML_SUCCESS) {
		const struct gpu *gpu = call.gpu;
		if (!corrRows || !uncRows || !isPending || !failureOccurred) {
			answer = NVML_ERROR_INVALID_ARGUMENT;
		} else if (gpu->mig_mode == NVML_DEVICE_MIG_ENABLE || gpu->remapped_correctable == ABSENT) {
			answer = NVML_ERROR_NOT_SUPPORTED;
		} else {
			*corrRows = (unsigned int)gpu->remapped_correctable;
			*uncRows = (unsigned int)gpu->remapped_uncorrectable;
			*isPending = gpu->remapping_pending == 1;
			*failureOccurred = gpu->remapping_failed == 1;
		}
	}
	call_end(&call);
	return answer;
}
#endif
