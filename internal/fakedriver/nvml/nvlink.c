/* Links to other GPUs. The state file has their state and counters, but not which device each link
 * leads to. With MIG all links are hidden.
 */
#include "call.h"

#include <time.h>

static number links_of(const struct gpu *gpu)
{
	return gpu->nvlinks == ABSENT || gpu->mig_mode == NVML_DEVICE_MIG_ENABLE ? 0 : gpu->nvlinks;
}

static int is_up(const struct gpu *gpu, unsigned int link)
{
	return link + (gpu->nvlinks_down == ABSENT ? 0 : gpu->nvlinks_down) < gpu->nvlinks;
}

nvmlReturn_t nvmlDeviceGetNvLinkState(nvmlDevice_t device, unsigned int link, nvmlEnableState_t *active)
{
	struct call call;
	nvmlReturn_t answer = call_begin(&call, "nvmlDeviceGetNvLinkState", device, WHOLE_GPU);
	if (answer == NVML_SUCCESS) {
		number links = links_of(call.gpu);
		if (links == 0)
			answer = NVML_ERROR_NOT_SUPPORTED;
		else if (!active || link >= links)
			answer = NVML_ERROR_INVALID_ARGUMENT;
		else
			*active = is_up(call.gpu, link) ? NVML_FEATURE_ENABLED : NVML_FEATURE_DISABLED;
	}
	call_end(&call);
	return answer;
}

#ifdef HAVE_V2
static number microseconds(void)
{
	struct timespec now;
	clock_gettime(CLOCK_REALTIME, &now);
	return (number)now.tv_sec * 1000000 + (number)now.tv_nsec / 1000;
}

/* A throughput counter is the state's KiB/s times the seconds of the clock. */
static number link_field(const struct gpu *gpu, unsigned int field, unsigned int link, number now)
{
	if (link >= links_of(gpu) || !is_up(gpu, link))
		return ABSENT;
	switch (field) {
	case NVML_FI_DEV_NVLINK_THROUGHPUT_DATA_TX: return now / 1000 * gpu->nvlink_tx / 1000;
	case NVML_FI_DEV_NVLINK_THROUGHPUT_DATA_RX: return now / 1000 * gpu->nvlink_rx / 1000;
#ifdef HAVE_R510
	case NVML_FI_DEV_NVLINK_ERROR_DL_REPLAY: return link == 0 ? gpu->nvlink_replays : 0;
	case NVML_FI_DEV_NVLINK_ERROR_DL_RECOVERY: return link == 0 ? gpu->nvlink_recoveries : 0;
	case NVML_FI_DEV_NVLINK_ERROR_DL_CRC: return link == 0 ? gpu->nvlink_crc : 0;
#endif
	default: return ABSENT;
	}
}

/* Answers only a few fields, for which monitors have no other call. Every other field is not supported. */
nvmlReturn_t nvmlDeviceGetFieldValues(nvmlDevice_t device, int valuesCount, nvmlFieldValue_t *values)
{
	struct call call;
	nvmlReturn_t answer = call_begin(&call, "nvmlDeviceGetFieldValues", device, WHOLE_GPU);
	if (answer == NVML_SUCCESS && (!values || valuesCount <= 0))
		answer = NVML_ERROR_INVALID_ARGUMENT;
	number now = microseconds();
	for (int i = 0; answer == NVML_SUCCESS && i < valuesCount; i++) {
		number value = ABSENT;
		values[i].valueType = NVML_VALUE_TYPE_UNSIGNED_INT;
		if (values[i].fieldId == NVML_FI_DEV_MEMORY_TEMP) {
			value = call.gpu->temperature_memory;
		} else if (values[i].fieldId == NVML_FI_DEV_POWER_INSTANT || values[i].fieldId == NVML_FI_DEV_POWER_AVERAGE) {
			value = call.gpu->power;
		} else {
			value = link_field(call.gpu, values[i].fieldId, values[i].scopeId, now);
			values[i].valueType = NVML_VALUE_TYPE_UNSIGNED_LONG_LONG;
		}
		values[i].timestamp = (long long)now;
		values[i].nvmlReturn = value == ABSENT ? NVML_ERROR_NOT_SUPPORTED : NVML_SUCCESS;
		values[i].value = (nvmlValue_t){ 0 };
		if (value == ABSENT)
			continue;
		if (values[i].valueType == NVML_VALUE_TYPE_UNSIGNED_INT)
			values[i].value.uiVal = (unsigned int)value;
		else
			values[i].value.ullVal = value;
	}
	call_end(&call);
	return answer;
}
#endif

#ifdef HAVE_V2
static nvmlReturn_t not_supported(const char *name, nvmlDevice_t device)
{
	struct call call;
	nvmlReturn_t answer = call_begin(&call, name, device, WHOLE_GPU);
	call_end(&call);
	return answer == NVML_SUCCESS ? NVML_ERROR_NOT_SUPPORTED : answer;
}

nvmlReturn_t nvmlDeviceGetNvLinkRemotePciInfo_v2(nvmlDevice_t device, unsigned int link, nvmlPciInfo_t *pci)
{
	(void)link, (void)pci;
	return not_supported("nvmlDeviceGetNvLinkRemotePciInfo_v2", device);
}

nvmlReturn_t nvmlDeviceGetNvLinkRemoteDeviceType(nvmlDevice_t device, unsigned int link, nvmlIntNvLinkDeviceType_t *type)
{
	(void)link, (void)type;
	return not_supported("nvmlDeviceGetNvLinkRemoteDeviceType", device);
}
#endif

#ifdef HAVE_R510
nvmlReturn_t nvmlDeviceGetGpuFabricInfo(nvmlDevice_t device, nvmlGpuFabricInfo_t *info)
{
	(void)info;
	return not_supported("nvmlDeviceGetGpuFabricInfo", device);
}

nvmlReturn_t nvmlDeviceGetGpuFabricInfoV(nvmlDevice_t device, nvmlGpuFabricInfoV_t *info)
{
	(void)info;
	return not_supported("nvmlDeviceGetGpuFabricInfoV", device);
}
#endif
