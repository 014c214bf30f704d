package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// scraping makes Prometheus scrape all boxes at one address. Each target is the name of a box, which
// relabelling turns into the path. honor_labels keeps the exporter's own labels.
const scraping = `# Written by scripts/fake-fleet: %[1]d simulated boxes at %[2]s.
global:
  scrape_interval: %[3]s
  scrape_timeout: %[4]s
  evaluation_interval: %[3]s
%[5]sscrape_configs:
  - job_name: vramscope
    honor_labels: true
    file_sd_configs:
      - files: [boxes.json]
    relabel_configs:
      - source_labels: [__address__]
        regex: '([^:]+):.*'
        target_label: __metrics_path__
        replacement: /$1/metrics
      - source_labels: [__address__]
        target_label: instance
      - target_label: __address__
        replacement: %[2]s
`

// targets is a group of file_sd_configs.
type targets struct {
	Targets []string          `json:"targets"`
	Labels  map[string]string `json:"labels"`
}

// writeConfiguration writes the configuration of a Prometheus that scrapes the boxes of
// these names at an address. rules is a file with recording and alerting rules, "" for none.
func writeConfiguration(folder, address string, names []string, every time.Duration, rules string) error {
	if rules != "" {
		path, err := filepath.Abs(rules)
		if err != nil {
			return err
		}
		rules = fmt.Sprintf("rule_files: [%q]\n", path)
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	group := targets{Labels: map[string]string{"simulated": "true"}}
	for _, name := range names {
		group.Targets = append(group.Targets, name+":9841")
	}
	encoded, err := json.MarshalIndent([]targets{group}, "", " ")
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(folder, "boxes.json"), encoded, 0o644); err != nil {
		return err
	}
	timeout := min(every, 10*time.Second)
	return os.WriteFile(filepath.Join(folder, "prometheus.yml"), fmt.Appendf(nil, scraping, len(names), address, every, timeout, rules), 0o644)
}
