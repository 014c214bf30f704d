package guard

import (
	"strings"

	"vramscope/internal/process"
	"vramscope/internal/text"
	"vramscope/sampler/snapshot"
)

// nameOf is a row's short name, cleaned.
func nameOf(p *snapshot.Process) string {
	name, _, _ := strings.Cut(process.ShortCommand(p.Command, p.Name), " ")
	return text.Clean(name)
}
