package process

import (
	"path"
	"strings"
)

// ShortCommand is a command line as a table shows it: the interpreter, its
// flags, and the directories of absolute paths go, because they are what all
// rows have in common; what is left starts with what tells them apart.
//
//	/usr/bin/python3 -u /home/alice/train.py --cfg /data/llama.yaml  →  train.py --cfg llama.yaml
//	python3 -m ipykernel_launcher -f /root/x/kernel-7.json           →  ipykernel_launcher -f kernel-7.json
//	/usr/lib/xorg/Xorg :0                                            →  Xorg :0
//
// Where there is no command line (a zombie, a kernel thread) it is the name.
// The text is as hostile as what it was made of.
func ShortCommand(command []string, name string) string {
	args := afterInterpreter(command)
	if len(args) == 0 {
		return name
	}
	short := make([]string, len(args))
	for i, arg := range args {
		short[i] = withoutDirectory(arg)
	}
	return strings.Join(short, " ")
}

// afterInterpreter drops "python3 -u", so that the script or module comes
// first. A program given on the command line (-c), and an interpreter that
// runs nothing, keep the interpreter: it is all there is to say.
func afterInterpreter(command []string) []string {
	if len(command) < 2 {
		return command
	}
	withValue, ok := interpreterFlags(path.Base(command[0]))
	if !ok {
		return command
	}
	for i := 1; i < len(command); i++ {
		arg := command[i]
		switch {
		case arg == "-m" && i+1 < len(command):
			return command[i+1:]
		case arg == "-c" || arg == "-e" || arg == "-m" || arg == "-":
			return command
		case !strings.HasPrefix(arg, "-"):
			return command[i:]
		case strings.Contains(withValue, arg+" "):
			i++
		}
	}
	return command
}

// interpreterFlags reports whether name is an interpreter's, and which of its
// flags take a value in the next argument, each followed by a blank.
func interpreterFlags(name string) (withValue string, ok bool) {
	switch strings.TrimRight(name, "0123456789.t") { // python3.14t is free-threaded
	case "python", "pypy":
		return "-X -W --check-hash-based-pycs ", true
	case "bash", "sh", "dash", "zsh":
		return "-o -O --rcfile --init-file ", true
	case "node", "perl", "ruby", "julia", "Rscript":
		return "-r --require ", true
	}
	return "", false
}

// withoutDirectory shortens an absolute path, also behind "--flag=". Relative
// ones stay: "t5x/train.py" says more than "train.py".
func withoutDirectory(arg string) string {
	flag, value, isFlag := strings.Cut(arg, "=")
	if !isFlag || !strings.HasPrefix(flag, "-") {
		flag, value = "", arg
	} else {
		flag += "="
	}
	switch {
	case strings.HasPrefix(value, "./"):
		return flag + strings.TrimLeft(value[1:], "/")
	case !strings.HasPrefix(value, "/") || strings.ContainsAny(value, " :,"):
		// Lists of paths, URLs and titles with blanks are no single path.
		return arg
	}
	if base := path.Base(value); base != "/" && path.Dir(value) != "/" {
		return flag + base
	}
	return arg // "/models" is as short as it gets
}
