package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"
)

func main() {
	out := flag.String("out", "docs/forecast.md", "the document")
	seeds := flag.Uint64("seeds", 100, "series of each regime")
	first := flag.Uint64("first", 9000, "the first seed")
	recording := flag.String("recording", "", "a real recording")
	traces := flag.String("traces", "", "write the series as traces into this directory, and no tables")
	lstm := flag.String("lstm", "", "write the tables of the LSTM alone, from what scripts/lstm/train.py left in this directory")
	monitor := flag.Bool("monitor", false, "print the tables of the monitor's alarms, and write nothing")
	flag.Parse()
	var err error
	switch {
	case *monitor:
		var text string
		if text, err = monitorTables(*seeds, *first); err == nil {
			_, err = fmt.Print(text)
		}
	case *traces != "":
		err = writeTraces(*traces, *seeds, *first)
	case *lstm != "":
		err = runHalves(*out, *lstm, *recording, *seeds, *first)
	default:
		err = run(*out, *seeds, *first, *recording)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "table:", err)
		os.Exit(1)
	}
}

func run(path string, seeds, first uint64, recording string) error {
	m, err := measure(seeds, first, processorTime)
	if err != nil {
		return err
	}
	sections := map[string]string{"gates": m.gates(), "changes": changes(seeds, first), "regimes": m.regimes(), "baselines": m.baselines(), "alarms": m.alarms()}
	if sections["monitor"], err = monitorTables(seeds, first); err != nil {
		return err
	}
	if recording != "" {
		if sections["real"], err = realTables(recording); err != nil {
			return err
		}
	}
	return rewrite(path, sections)
}

func runHalves(path, dir, recording string, seeds, first uint64) error {
	h, err := measureHalves(dir, recording, seeds, first, processorTime)
	if err != nil {
		return err
	}
	return rewrite(path, map[string]string{"lstm": h.tables()})
}

// rewrite puts tables into the document, by the names of their marks.
func rewrite(path string, sections map[string]string) error {
	document, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("read the document: %w", err)
	}
	text := string(document)
	for name, table := range sections {
		if text, err = replace(text, name, table); err != nil {
			return err
		}
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		return fmt.Errorf("write the document: %w", err)
	}
	return nil
}

// replace puts a table between the marks of its name.
func replace(text, name, table string) (string, error) {
	begin, end := "<!-- "+name+" -->\n", "<!-- /"+name+" -->"
	before, rest, ok := strings.Cut(text, begin)
	_, after, found := strings.Cut(rest, end)
	if !ok || !found {
		return "", errors.New("the document has no marks for " + name)
	}
	return before + begin + "\n" + table + "\n" + end + after, nil
}
