package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"
	"time"

	"vramscope/internal/guardlab/bed"
	"vramscope/internal/guardlab/story"
	"vramscope/internal/guardlab/world"
)

func main() {
	var o options
	flag.Uint64Var(&o.seeds.count, "seeds", 24, "seeds of each story")
	flag.Uint64Var(&o.seeds.first, "first", 0, "the first seed")
	flag.DurationVar(&o.length, "length", time.Hour, "simulated time of each run")
	flag.BoolVar(&o.details, "details", false, "every story under every policy, without the sweep")
	flag.StringVar(&o.floors, "floors", "", "what other jobs lose with the policies and oracles whose names have this")
	flag.StringVar(&o.write, "write", "", "write the tables between the marks of this document, in place of printing")
	flag.Parse()
	if err := o.run(); err != nil {
		fmt.Fprintln(os.Stderr, "table:", err)
		os.Exit(1)
	}
}

type options struct {
	seeds   seeds
	length  time.Duration
	details bool
	write   string
	floors  string
}

type seeds struct{ first, count uint64 }

func (s seeds) String() string { return fmt.Sprintf("%d to %d", s.first, s.first+s.count-1) }

// usualCost is the cost of a flush in all tables except the sweep.
var usualCost = world.Cost{Sync: 50 * time.Millisecond, PerGiB: time.Millisecond}

func (o *options) run() error {
	if o.floors != "" {
		_, err := fmt.Print(floors(o.seeds, o.length, o.floors))
		return err
	}
	m := measure(story.All(), bed.Policies(), o.seeds, usualCost, o.length)
	if o.details {
		_, err := fmt.Print(m.policyTable() + "\n" + m.details())
		return err
	}
	text := m.heading() + "\n" + m.policyTable() + "\n" + m.storyTable() + "\n" + m.quietTable() + "\n" +
		sweep(o.seeds, o.length) + "\n" + m.aims()
	if o.write == "" {
		_, err := fmt.Print(text)
		return err
	}
	document, err := os.ReadFile(o.write)
	if err != nil {
		return fmt.Errorf("read the document: %w", err)
	}
	changed, err := replace(string(document), text)
	if err != nil {
		return err
	}
	if err := os.WriteFile(o.write, []byte(changed), 0o644); err != nil {
		return fmt.Errorf("write the document: %w", err)
	}
	return nil
}

// replace puts the tables between the document's marks.
func replace(document, tables string) (string, error) {
	const begin, end = "<!-- simulator -->\n", "<!-- /simulator -->"
	before, rest, ok := strings.Cut(document, begin)
	_, after, closed := strings.Cut(rest, end)
	if !ok || !closed {
		return "", errors.New("the document has no marks for the simulator's tables")
	}
	return before + begin + tables + end + after, nil
}

// grid returns a table, with words on the left and figures on the right.
func grid(titles []string, rows [][]string) string {
	var b strings.Builder
	b.WriteString("| " + strings.Join(titles, " | ") + " |\n|---|" + strings.Repeat("---:|", len(titles)-1) + "\n")
	for _, row := range rows {
		b.WriteString("| " + strings.Join(row, " | ") + " |\n")
	}
	return b.String()
}
