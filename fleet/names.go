package fleet

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"vramscope/metric"
)

// exporter describes the metrics of one exporter. Each metric becomes a vector with the label uuid and
// perhaps instance, in Prometheus' base units. Sources:
// https://github.com/NVIDIA/dcgm-exporter/blob/main/etc/default-counters.csv
// https://github.com/utkuozdemir/nvidia_gpu_exporter/blob/main/METRICS.md
type exporter struct {
	used string // the metric that shows that the exporter is scraped
	uuid string // the label that has the GPU's UUID
	// vector returns the query for a figure of GPUs. Its result has the labels in by.
	vector  func(f field, name, matchers, by string) string
	metrics map[field]string // the exporter's names of the figures
	scale   map[field]string // factors for the values
	info    func(matchers string) string
	hosts   func(pattern string) string // the instances of the hosts that match
	people  bool                        // the exporter names users and jobs
}

// field is a figure of a line.
type field string

const (
	used        field = "used"
	total       field = "total"
	free        field = "free"
	reserved    field = "reserved"
	allocated   field = "allocated"
	cached      field = "cached"
	fragmented  field = "fragmented"
	returnable  field = "returnable"
	utilization field = "utilization"
	temperature field = "temperature"
	slowdown    field = "slowdown"
	power       field = "power"
	powerLimit  field = "power_limit"
	fullIn      field = "full_in"
	earliest    field = "earliest"
	latest      field = "latest"
	count       field = "count"
	idle        field = "idle"
	idleMemory  field = "idle_memory"
	boxes       field = "boxes"
	jobs        field = "jobs"
)

// aggregation is how the figures of GPUs are combined for a box, a user or a job; the default is the sum.
var aggregation = map[field]string{idle: "count", utilization: "avg", temperature: "max", slowdown: "min", fullIn: "min", earliest: "min", latest: "min"}

// summed are the figures that a GPU's MIG instances add up to. For all others, such as the
// temperature, each instance repeats the GPU's.
var summed = map[field]bool{used: true, total: true, free: true, reserved: true}

func exportedName(id metric.ID) string { return metric.Table[id].ExportedAs(metric.GPU) }

func exported(id metric.ExportedID) string { return metric.ExportTable[id].Name }

// mebibytes is the unit of memory in dcgm-exporter.
const mebibytes = "1048576"

// exporters are the supported exporters. The first that reports a GPU is used.
var exporters = []*exporter{
	{
		used: exportedName(metric.Used), uuid: "uuid", people: true,
		vector: func(_ field, name, matchers, by string) string {
			return fmt.Sprintf("max by (%s) (%s{%s})", by, name, matchers)
		},
		metrics: map[field]string{
			used: exportedName(metric.Used), total: exportedName(metric.Total), free: exportedName(metric.Free), reserved: exportedName(metric.Reserved),
			allocated: exportedName(metric.Allocated), cached: exportedName(metric.Cached), fragmented: exportedName(metric.Fragmented), returnable: exportedName(metric.Returnable),
			utilization: exportedName(metric.Utilization), temperature: exportedName(metric.Temperature), slowdown: exportedName(metric.TemperatureSlowdown),
			power: exportedName(metric.Power), powerLimit: exportedName(metric.PowerLimit),
			fullIn: exported(metric.FullIn), earliest: exported(metric.FullInEarliest), latest: exported(metric.FullInLatest),
		},
		info: func(matchers string) string {
			return fmt.Sprintf("max by (instance,uuid,gpu,name) (%s{%s})", exported(metric.GPUInfo), matchers)
		},
		hosts: func(pattern string) string {
			return fmt.Sprintf("%[1]s{host=~%[2]s} or %[1]s{instance=~%[2]s}", exported(metric.HostInfo), pattern)
		},
	},
	{
		// A MIG instance has the UUID of its GPU. With --kubernetes-virtual-gpus each pod that
		// shares a GPU has a series with that UUID, too: the GPU's own figure or, for used memory
		// and utilization since 4.5.3, the pod's share. The highest is the GPU's.
		// https://github.com/NVIDIA/dcgm-exporter/blob/main/internal/pkg/transformation/kubernetes.go
		used: "DCGM_FI_DEV_FB_USED", uuid: "UUID",
		vector: func(f field, name, matchers, by string) string {
			join := map[bool]string{true: "sum", false: "max"}[summed[f]]
			return fmt.Sprintf(`%[4]s by (%[3]s) (max by (%[3]s,GPU_I_ID) (label_replace(%[1]s{%[2]s},"uuid","$1","UUID","(.+)")))`, name, matchers, by, join)
		},
		metrics: map[field]string{
			used: "DCGM_FI_DEV_FB_USED", free: "DCGM_FI_DEV_FB_FREE", reserved: "DCGM_FI_DEV_FB_RESERVED",
			utilization: "DCGM_FI_DEV_GPU_UTIL", temperature: "DCGM_FI_DEV_GPU_TEMP", power: "DCGM_FI_DEV_POWER_USAGE",
			powerLimit: "DCGM_FI_DEV_POWER_MGMT_LIMIT", slowdown: "DCGM_FI_DEV_SLOWDOWN_TEMP",
		},
		scale: map[field]string{used: mebibytes, free: mebibytes, reserved: mebibytes, utilization: "0.01"},
		// The label of the host is Hostname, or hostname in newer versions.
		info: func(matchers string) string {
			s := "DCGM_FI_DEV_FB_USED{" + matchers + "}"
			for _, r := range [][2]string{{"UUID", "uuid"}, {"modelName", "name"}, {"Hostname", "host"}, {"hostname", "host"}} {
				s = fmt.Sprintf(`label_replace(%s,"%s","$1","%s","(.+)")`, s, r[1], r[0])
			}
			return "max by (instance,uuid,gpu,name,host) (" + s + ")"
		},
		hosts: func(pattern string) string {
			return fmt.Sprintf("DCGM_FI_DEV_FB_USED{Hostname=~%[1]s} or DCGM_FI_DEV_FB_USED{hostname=~%[1]s} or DCGM_FI_DEV_FB_USED{instance=~%[1]s}", pattern)
		},
	},
	{
		// The UUIDs of nvidia_gpu_exporter lack "GPU-".
		used: "nvidia_smi_memory_used_bytes", uuid: "uuid",
		vector: func(_ field, name, matchers, by string) string {
			return fmt.Sprintf(`max by (%s) (label_replace(%s{%s},"uuid","GPU-$1","uuid","([0-9a-fA-F]{8}-.*)"))`, by, name, matchers)
		},
		metrics: map[field]string{
			used: "nvidia_smi_memory_used_bytes", total: "nvidia_smi_memory_total_bytes", free: "nvidia_smi_memory_free_bytes",
			reserved: "nvidia_smi_memory_reserved_bytes", utilization: "nvidia_smi_utilization_gpu_ratio", temperature: "nvidia_smi_temperature_gpu",
			power: "nvidia_smi_power_draw_watts", powerLimit: "nvidia_smi_enforced_power_limit_watts",
		},
		info: func(matchers string) string {
			return fmt.Sprintf(`max by (instance,uuid,gpu,name) (label_replace(label_replace(nvidia_smi_gpu_info{%s},"gpu","$1","index","(.+)"),"uuid","GPU-$1","uuid","([0-9a-fA-F]{8}-.*)"))`, matchers)
		},
		hosts: func(pattern string) string { return "nvidia_smi_memory_used_bytes{instance=~" + pattern + "}" },
	},
}

// expression returns the query for a figure of the GPUs, "" if the exporter has no such figure.
func (e *exporter) expression(f field, matchers, by string) string {
	if f == total && e.metrics[total] == "" { // dcgm-exporter has the parts of the total
		in := func(f field) string { return e.vector(f, e.metrics[f], matchers, by) }
		return fmt.Sprintf("(%[1]s + %[2]s + (%[3]s or %[1]s * 0)) * %[4]s", in(used), in(free), in(reserved), e.scale[used])
	}
	name := e.metrics[f]
	if name == "" {
		return ""
	}
	s := e.vector(f, name, matchers, by)
	if by := e.scale[f]; by != "" {
		s += " * " + by
	}
	return s
}

// oneOf returns a matcher that selects the series whose label has one of values.
func oneOf(label string, values []string) string {
	quoted := make([]string, len(values))
	for i, v := range values {
		quoted[i] = regexp.QuoteMeta(v)
	}
	return label + "=~" + strconv.Quote(strings.Join(quoted, "|"))
}

// containing returns a regular expression for values that contain a word in any case, as a string of PromQL.
func containing(word string) string { return strconv.Quote("(?i).*" + regexp.QuoteMeta(word) + ".*") }
