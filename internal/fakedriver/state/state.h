/*
 * The state of the simulated box, as the state file says it at one moment.
 *
 *   state file ── reload.c (stat) ── parse.c ── struct state (immutable, counted) ── the driver's calls
 *
 * Nothing here knows NVML: a fake libcuda reads the same file. The format of
 * the file is described in doc.go, one directory up.
 */
#ifndef VRAMSCOPE_FAKE_STATE_H
#define VRAMSCOPE_FAKE_STATE_H

#include <stddef.h>

typedef unsigned long long number;

/* A number that the state file does not name: the call answers "not supported". */
#define ABSENT (~0ULL - 1)
/* A size that the driver knows to be unknown: NVML_VALUE_NOT_AVAILABLE. */
#define UNAVAILABLE (~0ULL)

#define TEXT_SIZE 256

/* Every text and number of a GPU, once: the struct and the parser both come from these lists. */
#define GPU_TEXTS(X) X(uuid) X(name) X(serial) X(vbios) X(part_number)

#define GPU_NUMBERS(X)                                                                     \
	X(lost) X(minor) X(brand) X(architecture) X(cuda_major) X(cuda_minor) X(cores)         \
	X(bus_width) X(pci_domain) X(pci_bus) X(pci_device) X(pci_device_id) X(pci_subsystem_id) \
	X(memory_total) X(memory_reserved) X(memory_used) X(memory_free) X(context_bytes)      \
	X(bar1_total) X(bar1_used)                                                             \
	X(utilization_gpu) X(utilization_memory) X(utilization_encoder) X(utilization_decoder) \
	X(temperature) X(temperature_memory) X(temperature_shutdown) X(temperature_slowdown)   \
	X(temperature_memory_max) X(temperature_gpu_max) X(fan)                                \
	X(power) X(power_limit) X(power_limit_default) X(power_limit_min) X(power_limit_max)   \
	X(energy) X(clock_graphics) X(clock_sm) X(clock_memory) X(clock_video)                 \
	X(clock_graphics_max) X(clock_sm_max) X(clock_memory_max) X(clock_video_max)           \
	X(throttle) X(throttle_supported) X(pstate) X(compute_mode) X(persistence)             \
	X(ecc_mode) X(ecc_pending) X(ecc_corrected) X(ecc_uncorrected)                         \
	X(ecc_corrected_aggregate) X(ecc_uncorrected_aggregate)                                \
	X(pcie_gen) X(pcie_gen_max) X(pcie_width) X(pcie_width_max) X(pcie_tx) X(pcie_rx)      \
	X(pcie_replays) X(mig_mode) X(mig_pending) X(mig_max) X(sample_period_us)              \
	X(hide_process_memory) X(wobble)

#define PROCESS_NUMBERS(X) \
	X(pid) X(used) X(graphics_used) X(gi) X(ci) X(sm) X(mem) X(enc) X(dec)

#define INSTANCE_NUMBERS(X)                                                      \
	X(index) X(gi) X(ci) X(total) X(reserved) X(used) X(free) X(slices)          \
	X(compute_slices) X(multiprocessors) X(memory_mib)

#define DRIVER_TEXTS(X) X(version) X(nvml_version)
#define DRIVER_NUMBERS(X) X(cuda_version) X(init) X(generation) X(memory_v2)

#define TEXT_FIELD(field) char field[TEXT_SIZE];
#define NUMBER_FIELD(field) number field;

enum fault_kind { FAULT_RETURN, FAULT_HANG, FAULT_SIZE, FAULT_COUNT };

/* Something that goes wrong in a call. A call name that ends in * stands for every name that begins so. */
struct fault {
	char call[TEXT_SIZE];
	enum fault_kind kind;
	number value; /* return code, milliseconds, or count */
};

struct faults {
	struct fault *items;
	size_t count;
};

struct process {
	PROCESS_NUMBERS(NUMBER_FIELD)
	int compute, graphics, mps; /* the lists it stands in */
	char name[TEXT_SIZE];
};

/* A MIG instance: one compute instance in one GPU instance. */
struct instance {
	INSTANCE_NUMBERS(NUMBER_FIELD)
	char uuid[TEXT_SIZE];
	char profile[TEXT_SIZE];
};

/* An Xid: it happens when its sequence number first shows up in the file. */
struct xid {
	number seq, code, gi, ci;
};

struct gpu {
	GPU_TEXTS(TEXT_FIELD)
	GPU_NUMBERS(NUMBER_FIELD)
	struct process *processes;
	size_t process_count;
	struct instance *instances;
	size_t instance_count;
	struct xid *xids;
	size_t xid_count;
	struct faults faults;
};

struct driver {
	DRIVER_TEXTS(TEXT_FIELD)
	DRIVER_NUMBERS(NUMBER_FIELD)
};

struct state {
	struct driver driver;
	struct gpu *gpus;
	size_t gpu_count;
	struct faults faults; /* of every GPU, and of calls that concern none */
};

/* parse.c: text is modified. On failure NULL, and message says "line 12: …". */
struct state *state_parse(char *text, char *message, size_t message_size);
void state_free(struct state *state);

/*
 * reload.c: the state as the file has it now, or NULL when there is no file
 * or it cannot be understood (said once on stderr). Whoever acquires
 * releases; the state does not change meanwhile.
 */
const struct state *state_acquire(void);

/* The same, but the file was looked at some time in this tick of the kernel's clock, 1 to 10 ms: for calls that must be fast. */
const struct state *state_acquire_recent(void);

void state_release(const struct state *state);

/* The first fault of a kind for a call, NULL when there is none. */
const struct fault *faults_find(const struct faults *faults, enum fault_kind kind, const char *call);

#endif
