/* Links to other GPUs: a box has none, and no call about them is supported, as on a GPU without NVLink. */
#include "call.h"

static nvmlReturn_t not_supported(const char *name, nvmlDevice_t device)
{
	struct call call;
	nvmlReturn_t answer = call_begin(&call, name, device, WHOLE_GPU);
	call_end(&call);
	return answer == NVML_SUCCESS ? NVML_ERROR_NOT_SUPPORTED : answer;
}

nvmlReturn_t nvmlDeviceGetNvLinkState(nvmlDevice_t device, unsigned int link, nvmlEnableState_t *active)
{
	(void)link, (void)active;
	return not_supported("nvmlDeviceGetNvLinkState", device);
}

#ifdef HAVE_V2
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
