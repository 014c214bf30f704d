package main

import (
	"context"
	"fmt"
	"os"
	"strconv"

	"vramscope/internal/process"
	"vramscope/probe"
	"vramscope/probe/attach"
)

func main() {
	pid, _ := strconv.Atoi(os.Args[1])
	table := process.NewTable("/proc")
	a := attach.New(attach.Options{Table: table, Finder: probe.NewFinder(table), Log: attach.NewLog(os.Getenv("XDG_STATE_HOME")), By: "try"})
	id, err := table.Identify(pid)
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	plan := a.Examine(context.Background(), id)
	fmt.Println(plan.Interpreter, plan.Version, plan.Method, plan.Instead)
	for _, c := range plan.Checks {
		fmt.Println(c.OK, c.Text)
	}
	if len(os.Args) > 2 {
		r, err := a.Attach(context.Background(), id)
		fmt.Printf("%+v %v\n", r, err)
	}
}
