package config

import (
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"

	"vramscope/metric"
)

func (s *Settings) setServe(value string) error {
	if value != "" {
		_, port, err := net.SplitHostPort(value)
		if err == nil {
			_, err = strconv.ParseUint(port, 10, 16)
		}
		if err != nil {
			return fmt.Errorf("%q is no address with a port: write 127.0.0.1:9841", value)
		}
	}
	s.Serve = value
	return nil
}

// noLabels leaves processes out.
const noLabels = "none"

// setProcessLabels takes a comma-separated list. "job" stands for hpc_job: Prometheus
// gives every series a label job of its own.
func (s *Settings) setProcessLabels(value string) error {
	known, chosen := metric.ProcessLabels(), []string{}
	for name := range strings.SplitSeq(value, ",") {
		switch name = strings.TrimSpace(name); {
		case name == noLabels && value == noLabels:
		case name == "job":
			chosen = append(chosen, "hpc_job")
		case slices.Contains(known, name):
			chosen = append(chosen, name)
		default:
			return fmt.Errorf("there is no label %q: %s, or none alone", name, strings.Join(known, ", "))
		}
	}
	s.ProcessLabels = chosen
	return nil
}

func (s *Settings) setProcesses(value string) error {
	const most = 1024
	n, err := strconv.Atoi(value)
	if err != nil || n < 0 || n > most {
		return fmt.Errorf("%q is no number from 0 to %d", value, most)
	}
	s.Processes = n
	return nil
}
