// Package process reads from /proc what a process is: its identity, owner, command, job, and use of
// the host. It also signals processes safely: through a pidfd, and only while the identity matches.
//
//	/proc/PID/stat                 often ──┐
//	cmdline, cgroup, environ       seldom ─┼→ Table ── Info by pid
//	/proc/meminfo, loadavg         often ──┘        └─ Host
//
// What a process chooses about itself (name, arguments, environment) is hostile
// input: the front ends clean it. Start reading at Table.Processes.
package process
