package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"

	"vramscope/internal/forecastlab/regime"
)

func main() {
	var o options
	flag.Uint64Var(&o.seeds.count, "seeds", 40, "series of each regime")
	flag.Uint64Var(&o.seeds.first, "first", 3000, "the first seed")
	flag.StringVar(&o.recording, "recording", "", "a real recording, in the format of vramscope backtest")
	flag.StringVar(&o.write, "write", "", "write the tables between the marks of this document, in place of printing")
	flag.BoolVar(&o.ablation, "ablation", false, "what each part of the forecaster gains")
	flag.BoolVar(&o.scenes, "scenes", false, "ramps and loads in the monitor, alone")
	flag.BoolVar(&o.cost, "cost", false, "what a sample and a series cost, alone")
	flag.BoolVar(&o.details, "details", false, "every figure at every horizon, of every method")
	traces := flag.String("traces", "", "write the series as traces into this directory, and measure nothing")
	flag.Parse()
	var err error
	if *traces != "" {
		err = writeTraces(*traces, o.seeds)
	} else {
		err = o.run()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "table:", err)
		os.Exit(1)
	}
}

type options struct {
	seeds             seeds
	recording         string
	write             string
	ablation, details bool
	cost, scenes      bool
}

// section is a table of the document, by the name of its marks.
type section struct{ name, text string }

func (o *options) run() error {
	sections, err := o.sections()
	if err != nil {
		return err
	}
	if o.write != "" {
		return rewrite(o.write, sections)
	}
	for _, s := range sections {
		if _, err := fmt.Println(s.text); err != nil {
			return fmt.Errorf("print: %w", err)
		}
	}
	return nil
}

// sections are the tables asked for: the gates unless others are.
func (o *options) sections() ([]section, error) {
	switch {
	case o.ablation:
		return o.ablationSections()
	case o.scenes:
		all, err := playScenes(o.seeds)
		if err != nil {
			return nil, err
		}
		return []section{{text: all.table()}, {text: gateLines(all.gates())}}, nil
	case o.cost:
		c := measureCost(processorTime)
		return []section{{text: gateLines(c.gates())}}, nil
	}
	m, err := measure(o.seeds, regime.All())
	if err != nil {
		return nil, err
	}
	all, err := playScenes(o.seeds)
	if err != nil {
		return nil, err
	}
	c := measureCost(processorTime)
	gates := slices.Concat(all.gates(), m.monitorGates(), m.gates(), c.gates())
	sections := []section{{"baselines", m.baselineTable()}}
	if o.recording != "" {
		groups, err := measureRecording(o.recording)
		if err != nil {
			return nil, err
		}
		gates = append(gates, recordingGates(groups)...)
		sections = append(sections, section{"real", recordingTable(&groups[0])})
	}
	switch {
	case o.write != "":
		text := m.alarmLine() + fmt.Sprintf("Seeds %d to %d: ", o.seeds.first, o.seeds.first+o.seeds.count-1) + gateTable(gates)
		return append(sections, section{"gates", text}), nil
	case o.details:
		for _, text := range []string{m.regimeTable(), all.table(), m.details(), m.relative(minute), m.relative(4), m.alarms(), changes(o.seeds)} {
			sections = append(sections, section{text: text})
		}
		return sections, nil
	default:
		return []section{{text: m.alarmTable()}, {text: gateLines(gates)}}, nil
	}
}

func (o *options) ablationSections() ([]section, error) {
	regimes := regime.All()
	all, err := ablation(o.seeds, regimes)
	if err != nil {
		return nil, err
	}
	names := each(len(regimes), func(i int) string { return regimes[i].Name })
	return []section{{"ablation", ablationTable(all, names)}}, nil
}

// rewrite puts tables into the document.
func rewrite(path string, sections []section) error {
	document, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("read the document: %w", err)
	}
	text := string(document)
	for _, s := range sections {
		if text, err = replace(text, s.name, s.text); err != nil {
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
	return before + begin + strings.TrimRight(table, "\n") + "\n" + end + after, nil
}
