"""Prints as JSON what nvidia-ml-py reports of the box: an ordinary NVML program for the tests."""
import json

import pynvml as nvml


def memory(handle, version=None):
    info = nvml.nvmlDeviceGetMemoryInfo(handle, version=version)
    figures = {"total": info.total, "used": info.used, "free": info.free}
    if version is not None:
        figures["reserved"] = info.reserved
    return figures


def processes(listed):
    return [
        {"pid": p.pid, "used": p.usedGpuMemory, "gi": p.gpuInstanceId, "ci": p.computeInstanceId} for p in listed
    ]


def optional(call):
    try:
        return call()
    except nvml.NVMLError_NotSupported:
        return None


def instances(handle):
    for index in range(nvml.nvmlDeviceGetMaxMigDeviceCount(handle)):
        try:
            instance = nvml.nvmlDeviceGetMigDeviceHandleByIndex(handle, index)
        except nvml.NVMLError_NotFound:
            continue
        yield {
            "name": nvml.nvmlDeviceGetName(instance),
            "uuid": nvml.nvmlDeviceGetUUID(instance),
            "parent": nvml.nvmlDeviceGetUUID(nvml.nvmlDeviceGetDeviceHandleFromMigDeviceHandle(instance)),
            "gi": nvml.nvmlDeviceGetGpuInstanceId(instance),
            "ci": nvml.nvmlDeviceGetComputeInstanceId(instance),
            "slices": nvml.nvmlDeviceGetAttributes_v2(instance).gpuInstanceSliceCount,
            "memory": memory(instance, nvml.nvmlMemory_v2),
            "compute": processes(nvml.nvmlDeviceGetComputeRunningProcesses(instance)),
        }


def gpu(index):
    handle = nvml.nvmlDeviceGetHandleByIndex(index)
    count = lambda kind: nvml.nvmlDeviceGetTotalEccErrors(handle, kind, nvml.NVML_VOLATILE_ECC)
    return {
        "name": nvml.nvmlDeviceGetName(handle),
        "uuid": nvml.nvmlDeviceGetUUID(handle),
        "bus": nvml.nvmlDeviceGetPciInfo(handle).busId,
        "memory": memory(handle, nvml.nvmlMemory_v2),
        "memory_v1": memory(handle),
        "utilization": optional(lambda: nvml.nvmlDeviceGetUtilizationRates(handle).gpu),
        "temperature": nvml.nvmlDeviceGetTemperature(handle, nvml.NVML_TEMPERATURE_GPU),
        "slowdown": nvml.nvmlDeviceGetTemperatureThreshold(handle, nvml.NVML_TEMPERATURE_THRESHOLD_SLOWDOWN),
        "power": nvml.nvmlDeviceGetPowerUsage(handle),
        "power_limit": nvml.nvmlDeviceGetEnforcedPowerLimit(handle),
        "clock": nvml.nvmlDeviceGetClockInfo(handle, nvml.NVML_CLOCK_SM),
        "throttle": nvml.nvmlDeviceGetCurrentClocksEventReasons(handle),
        "ecc": [
            nvml.nvmlDeviceGetEccMode(handle)[0],
            count(nvml.NVML_MEMORY_ERROR_TYPE_CORRECTED),
            count(nvml.NVML_MEMORY_ERROR_TYPE_UNCORRECTED),
        ],
        "mig": nvml.nvmlDeviceGetMigMode(handle)[0],
        "compute": processes(nvml.nvmlDeviceGetComputeRunningProcesses(handle)),
        "graphics": processes(nvml.nvmlDeviceGetGraphicsRunningProcesses(handle)),
        "mps": processes(nvml.nvmlDeviceGetMPSComputeRunningProcesses(handle)),
        "instances": list(instances(handle)),
    }


def gpu_or_error(index):
    try:
        return gpu(index)
    except nvml.NVMLError as error:
        return {"error": str(error)}


nvml.nvmlInit()
print(json.dumps({
    "driver": nvml.nvmlSystemGetDriverVersion(),
    "nvml": nvml.nvmlSystemGetNVMLVersion(),
    "cuda": nvml.nvmlSystemGetCudaDriverVersion(),
    "gpus": [gpu_or_error(index) for index in range(nvml.nvmlDeviceGetCount())],
}))
nvml.nvmlShutdown()
