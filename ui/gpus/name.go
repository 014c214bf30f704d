package gpus

import (
	"strings"

	"vramscope/internal/text"
)

// tinyName returns a GPU's name in at most 8 cells: "H100 80G", "RTX 4090".
func tinyName(name string) string {
	name = ShortName(name)
	if i := strings.Index(name, " HBM"); i >= 0 {
		name = name[:i]
	}
	if len(name) > 8 {
		name = strings.ReplaceAll(name, "GB", "G")
	}
	return text.Cut(name, 8, "")
}

// FullName returns a GPU's name without "NVIDIA" and "GeForce": "A100-SXM4-40GB".
func FullName(name string) string {
	name = text.Clean(strings.TrimPrefix(name, "NVIDIA "))
	return strings.TrimPrefix(name, "GeForce ")
}

// ShortName leaves out the form factor as well: "A100 40GB".
func ShortName(name string) string {
	name = FullName(name)
	for _, factor := range []string{"-SXM2-", "-SXM3-", "-SXM4-", "-SXM5-", "-PCIE-", "-PCIe-"} {
		name = strings.Replace(name, factor, " ", 1)
	}
	return strings.Replace(name, " PCIe", "", 1)
}
