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
	flag.StringVar(&o.write, "write", "", "write the gates between the marks of this document, in place of printing")
	flag.Parse()
	if err := o.run(); err != nil {
		fmt.Fprintln(os.Stderr, "table:", err)
		os.Exit(1)
	}
}

type options struct {
	seeds seeds
	write string
}

func (o *options) run() error {
	m, err := measure(o.seeds, regime.All())
	if err != nil {
		return err
	}
	played, err := playScenes(o.seeds)
	if err != nil {
		return err
	}
	gates := slices.Concat(sceneGates(played), m.monitorGates(), m.gates())
	text := m.alarmLine() + fmt.Sprintf("Seeds %d to %d: ", o.seeds.first, o.seeds.first+o.seeds.count-1) + gateTable(gates)
	if o.write != "" {
		return rewrite(o.write, text)
	}
	if _, err := fmt.Println(text + "\n" + m.regimeTable()); err != nil {
		return fmt.Errorf("print: %w", err)
	}
	return nil
}

// rewrite puts the table of gates into the document.
func rewrite(path, table string) error {
	document, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("read the document: %w", err)
	}
	text, err := replace(string(document), table)
	if err != nil {
		return err
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		return fmt.Errorf("write the document: %w", err)
	}
	return nil
}

// The marks of the gates in the document.
const begin, end = "<!-- gates -->\n", "<!-- /gates -->"

// replace puts a table between the marks.
func replace(document, table string) (string, error) {
	before, rest, ok := strings.Cut(document, begin)
	_, after, found := strings.Cut(rest, end)
	if !ok || !found {
		return "", errors.New("the document has no marks for the gates")
	}
	return before + begin + strings.TrimRight(table, "\n") + "\n" + end + after, nil
}
