package process

import (
	"path"
	"slices"
	"strings"
)

// ShortCommand returns a command line for a table: without the interpreter, its flags,
// and the directories of absolute paths, which most rows have in common.
//
//	/usr/bin/python3 -u /home/alice/train.py --cfg /data/llama.yaml  →  train.py --cfg llama.yaml
//	python3 -m ipykernel_launcher -f /root/x/kernel-7.json           →  ipykernel_launcher -f kernel-7.json
//	/usr/lib/xorg/Xorg :0                                            →  Xorg :0
//
// Without a command line (a zombie, a kernel thread) it returns the name. The result is hostile input.
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

// Program returns the program of a command line and, of an interpreter, its script or module:
// "python3 train.py", "python3 -m torch.distributed.run". It leaves out arguments, which may hold
// secrets. The result is hostile input.
func Program(command []string) string {
	if len(command) == 0 {
		return ""
	}
	program, _, _ := strings.Cut(path.Base(command[0]), " ") // a title may have arguments
	rest := afterInterpreter(command)
	switch n := len(command) - len(rest); {
	case n == 0:
		return program
	case command[n-1] == "-m":
		return program + " -m " + rest[0]
	default:
		return program + " " + withoutDirectory(rest[0])
	}
}

// afterInterpreter drops "python3 -u", so that the script or module comes first. The interpreter
// stays if the command line names no script or module.
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

// NamesProgram reports whether the command line of an interpreter shows what it runs.
func NamesProgram(command []string) bool {
	at := slices.Index(command, "-c")
	return len(afterInterpreter(command)) < len(command) || at >= 0 && at+1 < len(command)
}

// interpreterFlags returns the flags of an interpreter that take a value in the next argument, each
// followed by a space. If name is not an interpreter, ok is false.
func interpreterFlags(name string) (withValue string, ok bool) {
	switch strings.TrimRight(name, "0123456789.td") { // python3.14t is free-threaded, python3d for debugging
	case "python", "pypy":
		return "-X -W --check-hash-based-pycs ", true
	case "bash", "sh", "dash", "zsh":
		return "-o -O --rcfile --init-file ", true
	case "node", "perl", "ruby", "julia", "Rscript":
		return "-r --require ", true
	}
	return "", false
}

// withoutDirectory removes the directory of an absolute path, or "./", also after "--flag=".
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
		return arg // a relative path, a URL, a list, or a title with spaces
	}
	if base := path.Base(value); base != "/" && path.Dir(value) != "/" {
		return flag + base
	}
	return arg // "/models" is as short as it gets
}
