package config

import (
	"fmt"
	"os"
	"strings"

	"vramscope/internal/text"
)

// DefaultFile is a configuration file with every key at its default, explained.
func DefaultFile() string {
	s := Defaults()
	var b strings.Builder
	b.WriteString("# The configuration of vramscope, with every key at its default.\n")
	b.WriteString("# Flags on the command line override it.\n")
	table := ""
	for _, o := range Options(&s) {
		b.WriteString("\n")
		o.writeTable(&b, &table)
		for line := range strings.SplitSeq(o.Comment, "\n") {
			b.WriteString("# " + line + "\n")
		}
		if o.Flag != "" {
			b.WriteString("# Flag: --" + o.Flag + "\n")
		}
		b.WriteString(o.name() + " = " + o.Literal() + "\n")
	}
	return b.String()
}

// InForce is the settings of a run, as a configuration file.
func InForce(path string, s *Settings) string {
	var b strings.Builder
	if _, err := os.Stat(path); err != nil {
		path += " (not there)"
	}
	b.WriteString("# " + text.Clean(path) + "\n")
	table := ""
	for _, o := range Options(s) {
		o.writeTable(&b, &table)
		fmt.Fprintf(&b, "%s = %s\n", o.name(), o.Literal())
	}
	writeGuardLists(&b, &s.Guard)
	return b.String()
}

// writeTable begins the option's table, where it is not the current one.
func (o *Option) writeTable(b *strings.Builder, current *string) {
	if table, _, dotted := strings.Cut(o.Key, "."); dotted && table != *current {
		*current = table
		b.WriteString("[" + table + "]\n")
	}
}

// name is the key in its table.
func (o *Option) name() string { return o.Key[strings.LastIndexByte(o.Key, '.')+1:] }
