package detail

import (
	"strings"

	"vramscope/internal/text"
	"vramscope/ui/cell"
)

func (d Panel) commandLines(height int) int {
	switch {
	case height < 20:
		return 1
	case height < 34:
		return 2
	default:
		return 6
	}
}

// command returns the whole command, wrapped; nothing if the line above shows it whole.
func (d Panel) command(width, maxLines int) []string {
	p := d.process
	room := max(width-2, 1)
	var whole strings.Builder
	for i, argument := range p.Command {
		if i > 0 {
			whole.WriteByte(' ')
		}
		// The rest would not be shown, so cleaning it would be wasted.
		if left := room*(maxLines+1)*4 - whole.Len(); left < len(argument) {
			whole.WriteString(argument[:max(left, 0)])
			break
		}
		whole.WriteString(text.ShellQuote(argument))
	}
	s := text.Clean(whole.String())
	head := text.Width("GPU " + d.index + "  PID  " + cell.UserName(p) + "  ")
	short := cell.ShortCommand(p)
	said := s == short || isInterpreter(p.Command) && strings.HasSuffix(s, " "+short) && strings.IndexByte(s, ' ') == len(s)-len(short)-1
	if s == "" || said && head+8+text.Width(short) < width {
		return nil
	}
	return d.wrapped(width, maxLines, d.Appearance.Styles.Dim, s)
}

// isInterpreter reports whether the short command leaves out a bare "python".
func isInterpreter(command []string) bool {
	return len(command) > 1 && (command[0] == "python" || command[0] == "python3")
}
