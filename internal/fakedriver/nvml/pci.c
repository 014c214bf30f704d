/* The PCI address and link of a GPU. Throughput is in KB/s. */
#include "call.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

/*
 * nvml.h declares all versions of the call with today's struct of 68 bytes, but
 * callers of the first two pass an older one, without the long bus id at its end
 * (nvidia-ml-py: nvmlPciInfo_v2_t, "Legacy pciInfo used for _v1 and _v2"). Nothing
 * may be written beyond the older struct.
 */
static const size_t legacy_size = offsetof(nvmlPciInfo_t, busId);

static nvmlReturn_t pci_info(const char *name, nvmlDevice_t device, nvmlPciInfo_t *answered, size_t size)
{
	struct call call;
	nvmlPciInfo_t whole, *pci = answered ? &whole : NULL;
	nvmlReturn_t answer = call_begin(&call, name, device, WHOLE_GPU);
	if (answer == NVML_SUCCESS) {
		const struct gpu *gpu = call.gpu;
		if (!pci) {
			answer = NVML_ERROR_INVALID_ARGUMENT;
		} else if (gpu->pci_domain == ABSENT || gpu->pci_bus == ABSENT || gpu->pci_device == ABSENT) {
			answer = NVML_ERROR_NOT_SUPPORTED;
		} else {
			*pci = (nvmlPciInfo_t){
				.domain = (unsigned int)gpu->pci_domain,
				.bus = (unsigned int)gpu->pci_bus & 0xFF,
				.device = (unsigned int)gpu->pci_device & 0x1F,
				.pciDeviceId = (unsigned int)gpu->pci_device_id,
				.pciSubSystemId = (unsigned int)gpu->pci_subsystem_id,
			};
			snprintf(pci->busIdLegacy, sizeof pci->busIdLegacy, "%04X:%02X:%02X.0", pci->domain & 0xFFFF,
			         pci->bus, pci->device);
			snprintf(pci->busId, sizeof pci->busId, NVML_DEVICE_PCI_BUS_ID_FMT,
			         NVML_DEVICE_PCI_BUS_ID_FMT_ARGS(pci));
			memcpy(answered, pci, size);
		}
	}
	call_end(&call);
	return answer;
}

nvmlReturn_t nvmlDeviceGetPciInfo(nvmlDevice_t device, nvmlPciInfo_t *pci)
{
	return pci_info("nvmlDeviceGetPciInfo", device, pci, legacy_size);
}

#ifdef HAVE_V2
nvmlReturn_t nvmlDeviceGetPciInfo_v2(nvmlDevice_t device, nvmlPciInfo_t *pci)
{
	return pci_info("nvmlDeviceGetPciInfo_v2", device, pci, legacy_size);
}

nvmlReturn_t nvmlDeviceGetPciInfo_v3(nvmlDevice_t device, nvmlPciInfo_t *pci)
{
	return pci_info("nvmlDeviceGetPciInfo_v3", device, pci, sizeof *pci);
}
#endif

FIGURE(nvmlDeviceGetMaxPcieLinkGeneration, unsigned int, maxLinkGen, WHOLE_GPU, gpu->pcie_gen_max)
FIGURE(nvmlDeviceGetMaxPcieLinkWidth, unsigned int, maxLinkWidth, WHOLE_GPU, gpu->pcie_width_max)
FIGURE(nvmlDeviceGetCurrPcieLinkGeneration, unsigned int, currLinkGen, WHOLE_GPU, gpu->pcie_gen)
FIGURE(nvmlDeviceGetCurrPcieLinkWidth, unsigned int, currLinkWidth, WHOLE_GPU, gpu->pcie_width)
FIGURE(nvmlDeviceGetPcieReplayCounter, unsigned int, value, WHOLE_GPU, gpu->pcie_replays)

nvmlReturn_t nvmlDeviceGetPcieThroughput(nvmlDevice_t device, nvmlPcieUtilCounter_t counter, unsigned int *value)
{
	struct call call;
	nvmlReturn_t answer = call_begin(&call, "nvmlDeviceGetPcieThroughput", device, WHOLE_GPU);
	if (answer == NVML_SUCCESS) {
		number figure = counter == NVML_PCIE_UTIL_TX_BYTES ? call.gpu->pcie_tx : call.gpu->pcie_rx;
		if (!value || counter >= NVML_PCIE_UTIL_COUNT)
			answer = NVML_ERROR_INVALID_ARGUMENT;
		else if (figure == ABSENT)
			answer = NVML_ERROR_NOT_SUPPORTED;
		else
			*value = (unsigned int)figure;
	}
	call_end(&call);
	return answer;
}
