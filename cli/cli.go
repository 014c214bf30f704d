package cli

import (
	"cmp"
	"os"
	"time"

	"vramscope/cli/command"
	"vramscope/internal/startup"
)

// Main runs the command line and returns the exit code.
func Main() int {
	p := &command.Program{Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, Getenv: os.Getenv, Now: time.Now, NoStdout: startup.StdoutClosed()}
	return run(p, os.Args[1:])
}

func run(p *command.Program, args []string) int {
	p.Arguments = args
	root := root(p)
	root.SetArgs(args)
	root.SetOut(p)
	root.SetErr(p.Stderr)
	if err := cmp.Or(root.Execute(), p.Unwritten); err != nil {
		return command.Report(p.Stderr, err)
	}
	return command.ExitOK
}
