package cli

import (
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
	out := &command.Output{Print: p.Print}
	root.SetOut(out)
	root.SetErr(p.Stderr)
	err := root.Execute()
	if err == nil {
		err = out.Err
	}
	if err != nil {
		return command.Report(p.Stderr, err)
	}
	return command.ExitOK
}
