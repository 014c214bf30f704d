package server

import (
	"cmp"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/procfs"

	"vramscope/internal/process"
)

// Entry is a server that the configuration names.
type Entry struct {
	Command         string // a pattern of the short command line; "": every server of the kind
	Matches         *regexp.Regexp
	Kind            string        // a key of Kinds
	Address         string        // "host:port"; "": the address on which the process listens
	KeyFile, KeyEnv string        // the file or the environment variable with the server's key
	Release, Resume string        // paths, for the kind Paths
	Watch           bool          // ask the server for its state every ten seconds
	Hold            time.Duration // how long a lease holds the room of the sleeping server; 0: no lease does
}

// Finder finds the servers of processes.
type Finder struct {
	Table   *process.Table
	Entries []Entry
}

// Find returns the server that id or one of its ancestors is, or a *process.Refusal if this user cannot ask one.
func (f *Finder) Find(id process.Identity) (*Server, error) {
	if f == nil {
		return nil, &process.Refusal{Reason: "a simulated process has no server to ask"}
	}
	owner, known := f.Table.Owner(id.PID).Value()
	own := known && owner == uint32(os.Geteuid())
	variables, err := f.Table.Environment(id) // only root can read those of another user's process
	switch {
	case !f.Table.Alive(id):
		return nil, &process.Refusal{Reason: fmt.Sprintf("PID %d has ended", id.PID)}
	case !own && (err != nil || !slices.Contains(variables, process.Variable{Name: "VRAMSCOPE_SLEEP", Value: "root"})):
		return nil, &process.Refusal{Reason: fmt.Sprintf("PID %d is %s's: another user's server is asked by root alone, and only where it was started with VRAMSCOPE_SLEEP=root",
			id.PID, cmp.Or(f.Table.UserName(owner), "another user"))}
	}
	// The server is the lowest process of its kind that listens: the parent can be sh -c, and a forked child does not listen.
	// A process of another kind above takes its place, because llama-swap starts other servers. An entry with Matches ends the search.
	var found process.Info
	var entry Entry
	for pid, depth := id.PID, 0; pid > 1 && depth < 16 && entry.Matches == nil; depth++ {
		info, err := f.Table.Look(pid)
		if err != nil || info.UID.Or(^owner) != owner {
			break
		}
		is := Entry{Kind: kindOf(info.Command)}
		if at := slices.IndexFunc(f.Entries, func(e Entry) bool { return e.names(&info) }); own && at >= 0 { // never send a key to another user's process
			is = f.Entries[at]
		}
		if is.Kind != "" && (is.Kind != entry.Kind || is.Matches != nil || len(listens(found.Identity.PID)) == 0) {
			found, entry = info, is
		}
		pid = info.Parent
	}
	kind, known := Kinds[entry.Kind]
	if !known {
		return nil, &process.Refusal{Reason: fmt.Sprintf("PID %d is of no server that is known (%s) or that a [[server]] of the configuration names", id.PID, Named)}
	}
	s := &Server{Kind: kind, Key: entry.Kind, Process: found.Identity, Limit: time.Minute, Finder: f, command: process.ShortCommand(found.Command, found.Name)}
	for _, e := range f.Entries {
		if e.Kind == s.Key && e.names(&found) {
			s.Watched, s.Hold = s.Watched || e.Watch, max(s.Hold, e.Hold)
		}
	}
	s.asker.paths = []step{{path: entry.Release}, {path: entry.Resume}}
	s.asker.key, err = entry.key()
	if s.asker.base = "http://" + entry.Address; err == nil && entry.Address == "" {
		s.asker.base, err = s.address(found.Command)
	}
	if err != nil {
		return nil, &process.Refusal{Reason: fmt.Sprintf("%s, PID %d: %s", s.Name, found.Identity.PID, err)}
	}
	return s, nil
}

// watches returns the lowest process, id or an ancestor of the same owner, that an entry says to watch. Find can fail for that process.
func (f *Finder) watches(id process.Identity) (server process.Identity, watched bool) {
	owner := f.Table.Owner(id.PID)
	for pid, depth := id.PID, 0; pid > 1 && depth < 16; depth++ {
		info, err := f.Table.Look(pid)
		if err != nil || info.UID != owner {
			break
		}
		if slices.ContainsFunc(f.Entries, func(e Entry) bool { return e.Watch && e.names(&info) }) {
			return info.Identity, true
		}
		pid = info.Parent
	}
	return server, false
}

// Simulated returns a server that answers with a function. Its process is the calling process.
func Simulated(kind string, answer func(path string) ([]byte, error)) (*Server, error) {
	table := process.NewTable("/proc")
	id, err := table.Identify(os.Getpid())
	return &Server{Kind: Kinds[kind], Key: kind, Process: id, Limit: time.Minute, Finder: &Finder{Table: table}, asker: asker{simulated: answer}}, err
}

func (e *Entry) names(info *process.Info) bool {
	if e.Matches == nil {
		return e.Kind == kindOf(info.Command)
	}
	return e.Matches.MatchString(process.ShortCommand(info.Command, info.Name))
}

// kindOf returns the key in Kinds of the server that a command line starts, "" if it starts none.
func kindOf(command []string) string {
	line := "/" + strings.Join(command[:min(len(command), 8)], " ") + " "
	for key := range Kinds {
		if slices.ContainsFunc(Kinds[key].commands, func(has string) bool { return strings.Contains(line, has) }) {
			return key
		}
	}
	return ""
}

// address returns a server's URL: the address with its port or, if it does not listen on that port, its only address.
func (s *Server) address(command []string) (string, error) {
	addresses := listens(s.Process.PID)
	port := uint64(s.port)
	if flag := regexp.MustCompile(` --port[= ](\d+)`).FindStringSubmatch(strings.Join(command, " ")); flag != nil {
		port, _ = strconv.ParseUint(flag[1], 10, 16) // 65535 if the number is too large
	}
	at := slices.IndexFunc(addresses, func(a netip.AddrPort) bool { return uint64(a.Port()) == port })
	switch {
	case len(addresses) == 0:
		return "", errors.New("it listens on no port that is seen from here (in a container? the shipped daemon's unit needs servers.conf): name its address in a [[server]] of the configuration")
	case at < 0 && len(addresses) > 1:
		return "", fmt.Errorf("it listens on %d ports, none of them %d: name its address in a [[server]] of the configuration", len(addresses), port)
	}
	address := addresses[max(at, 0)]
	if address.Addr().IsUnspecified() { // all addresses: [::] accepts IPv4, too
		address = netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), address.Port())
	}
	return "http://" + address.String(), nil
}

// listens returns the TCP addresses on which a process listens; none if it is in another network namespace.
func listens(pid int) (addresses []netip.AddrPort) {
	own, _ := os.Readlink("/proc/self/ns/net")
	its, _ := os.Readlink(fmt.Sprintf("/proc/%d/ns/net", pid)) // only root can read this of another user's process
	fs, err := procfs.NewDefaultFS()
	proc, gone := procfs.NewProc(pid)
	if err != nil || gone != nil || its != own {
		return nil
	}
	open, _ := proc.FileDescriptorTargets() // none of a process that has ended
	four, _ := fs.NetTCP()                  //nolint:staticcheck // netlink would be a library more
	six, _ := fs.NetTCP6()                  //nolint:staticcheck // as above
	for _, line := range append(four, six...) {
		ip, ok := netip.AddrFromSlice(line.LocalAddr)
		if ok && line.St == 0x0A && slices.Contains(open, fmt.Sprintf("socket:[%d]", line.Inode)) { // it listens
			addresses = append(addresses, netip.AddrPortFrom(ip.Unmap(), uint16(line.LocalPort)))
		}
	}
	return addresses
}

// key returns a server's key. A key file that others can read is an error.
func (e *Entry) key() (string, error) {
	if e.KeyFile == "" {
		return os.Getenv(e.KeyEnv), nil
	}
	info, err := os.Stat(e.KeyFile)
	if err == nil && (info.Mode().Perm()&0o077 != 0 || !info.Mode().IsRegular()) {
		err = fmt.Errorf("the key in %s can be read by others: chmod 600 it", e.KeyFile)
	}
	if err != nil {
		return "", err
	}
	content, err := process.ReadLimited(e.KeyFile, 4<<10)
	return strings.TrimSpace(string(content)), err
}

// Below returns a process and its descendants, down to 16 generations.
func (f *Finder) Below(root int) map[process.Key]bool {
	links, _ := f.Table.Links() // without the processes that could not be read
	below := map[process.Key]bool{}
	for pid, link := range links {
		at := pid
		for depth := 0; at > 1 && at != root && depth < 16; depth++ {
			at = links[at].Parent
		}
		if at == root {
			below[process.Identity{PID: pid, StartTime: link.Start}.Key()] = true
		}
	}
	return below
}
