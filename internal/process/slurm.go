package process

import (
	"cmp"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"vramscope/internal/bounded"
	"vramscope/internal/panics"
)

// slurmJobs finds the numbers of jobs whose cgroups are named by their SLUID (Slurm 26.05): in the
// title of root's slurmstepd or, if that cannot be read (hidepid), by scontrol, which also knows the
// accounts of jobs. It does not use a process's environment, which its user can change.
//
//	<job>/step_<id>/slurm/cgroup.procs ── slurmstepd ── "slurmstepd: [88123.0]"
//
// Source: https://slurm.schedmd.com/cgroup_v2.html
type slurmJobs struct {
	cgroups  string // "/sys/fs/cgroup"
	kubelet  string // the socket of pods' allocations
	scontrol func(id string) slurmAnswer
	held     allocations

	mu      sync.Mutex
	numbers map[string]string      // by SLUID
	answers map[string]slurmAnswer // by the SLUID or number that scontrol was asked about
	asked   map[string]time.Time   // when scontrol was asked; zero: the job was wanted once, and scontrol not asked
	asking  bool                   // scontrol is running; only one runs at a time
	panic   *panics.Caught
}

// slurmAnswer is what scontrol says about a job; "" is unknown. There are no GPUs if scontrol does
// not say which ones of this machine the job has.
type slurmAnswer struct {
	number, account string
	uid             uint32
	gpus            []int // by index
}

const (
	scontrolTime  = 2 * time.Second
	scontrolSize  = 16 << 20        // an array has an entry of 5 to 10 KiB for each of its tasks, by default at most 1,001
	scontrolEvery = 5 * time.Minute // for a job that scontrol does not know
	maxSlurmJobs  = 4096            // the most jobs to remember
)

// slurmJob returns a job of Slurm with its number, as far as that can be found. It returns no job
// if a user other than root owns the cgroup, and so may have made it.
func (t *Table) slurmJob(job Job, cgroups string) Job {
	directory := slurmDirectory(job.ID, cgroups)
	if directory == "" { // cgroup v1, which no user may change
		job.Account = t.slurm.account(job.ID)
		return job
	}
	directory = t.slurm.cgroups + directory
	if uid, known := t.owner(directory).Value(); known && uid != 0 {
		return Job{}
	}
	if isSLUID(job.ID) {
		job.ID = cmp.Or(t.slurm.number(job.ID, func() string { return t.numberOfStepd(directory) }), job.ID)
	}
	job.Account = t.slurm.account(job.ID)
	return job
}

// slurmDirectory returns the path of a job's cgroup in the hierarchy of cgroup v2, or "" if the job
// has none there.
func slurmDirectory(id, cgroups string) string {
	for line := range strings.Lines(cgroups) {
		cgroup, ok := strings.CutPrefix(strings.TrimSuffix(line, "\n"), "0::")
		for _, name := range []string{"/" + id, "/job_" + id} {
			if at := strings.Index(cgroup+"/", name+"/"); ok && at >= 0 {
				return cgroup[:at+len(name)]
			}
		}
	}
	return ""
}

// number returns the number of a job, "" while it is not known.
func (s *slurmJobs) number(sluid string, stepd func() string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.panic.Again()
	if number := s.numbers[sluid]; number != "" {
		return number
	}
	s.forgetAll()
	if number := stepd(); number != "" {
		s.numbers[sluid] = number
		return number
	}
	s.askAside(sluid)
	return s.answers[sluid].number
}

// named returns a job with the number that has become known since its process was read, so that
// all processes of a job have its number from the same moment.
func (s *slurmJobs) named(job Job) Job {
	if job.Kind == "slurm" && isSLUID(job.ID) {
		s.mu.Lock()
		defer s.mu.Unlock()
		job.ID = cmp.Or(s.numbers[job.ID], s.answers[job.ID].number, job.ID)
	}
	return job
}

// account returns the account of a job, "" while it is unknown. It asks scontrol when the account
// is wanted for the second time: a program that looks once does not trouble Slurm's controller.
func (s *slurmJobs) account(id string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.panic.Again()
	s.forgetAll()
	if _, again := s.asked[id]; again {
		s.askAside(id)
	} else {
		s.asked[id] = time.Time{}
	}
	return s.answers[id].account
}

func (s *slurmJobs) forgetAll() {
	if len(s.numbers)+len(s.asked) >= maxSlurmJobs {
		clear(s.numbers)
		clear(s.answers)
		clear(s.asked)
	}
}

// askAside asks scontrol in the background about a job, unless the answer is known, scontrol is
// running, or it was asked about this job less than scontrolEvery ago.
func (s *slurmJobs) askAside(id string) {
	if _, known := s.answers[id]; !known && !s.asking && time.Since(s.asked[id]) >= scontrolEvery {
		s.asking, s.asked[id] = true, time.Now()
		go s.ask(id)
	}
}

// ask asks scontrol. A later reading of the facts finds the answer.
func (s *slurmJobs) ask(id string) {
	answer, caught := panics.Of(func() slurmAnswer { return s.scontrol(id) })
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asking, s.panic = false, caught
	if answer.number != "" {
		s.answers[id] = answer
	}
}

// numberOfStepd returns the job's number, from the title of the slurmstepd in its cgroup. The
// slurmstepd must be root's, in a directory of root's, into which no user can move a process.
func (t *Table) numberOfStepd(directory string) string {
	isRoots := func(directory string) bool {
		uid, known := t.owner(directory).Value()
		return known && uid == 0
	}
	entries, err := os.ReadDir(directory)
	if err != nil || !isRoots(directory) {
		return ""
	}
	for _, entry := range entries {
		stepd := directory + "/" + entry.Name() + "/slurm"
		if !strings.HasPrefix(entry.Name(), "step_") || !isRoots(stepd) {
			continue
		}
		pids, _ := ReadLimited(stepd+"/cgroup.procs", commandSize) // "" if it has ended
		for pid := range strings.FieldsSeq(string(pids)) {
			dir := t.root + "/" + pid
			program, err := os.Readlink(dir + "/exe")
			if name, _, _ := strings.Cut(path.Base(program), " (deleted)"); err == nil && name != "slurmstepd" {
				continue // without root's rights the link cannot be read
			}
			if _, err := strconv.Atoi(pid); err != nil || !isRoots(dir) {
				continue
			}
			var buf [commandSize]byte
			if number := parseStepdTitle(readCommand(dir+"/cmdline", buf[:])); number != "" {
				return number
			}
		}
	}
	return ""
}

// parseStepdTitle returns the job's number in "slurmstepd: [88123.0]", "[88123.batch]" or
// "[88123.0 stepmgr]".
func parseStepdTitle(command []string) string {
	if len(command) == 0 {
		return ""
	}
	title, ok := strings.CutPrefix(strings.TrimRight(command[0], " "), "slurmstepd: [")
	title, closed := strings.CutSuffix(title, "]")
	number, step, isStep := strings.Cut(title, ".")
	if step, _, _ = strings.Cut(step, " "); !ok || !closed || !isStep || word(step) == "" {
		return ""
	}
	return digits(number)
}

// askScontrol runs the scontrol in this program's PATH.
func askScontrol(id string) slurmAnswer {
	scontrol, err := exec.LookPath("scontrol")
	if err != nil {
		return slurmAnswer{}
	}
	command := bounded.Command{Path: scontrol, Arguments: []string{"--json", "show", "job", id},
		Environ: os.Environ(), Time: scontrolTime, Limit: scontrolSize}
	output, err := command.Output(context.Background())
	if err != nil {
		return slurmAnswer{}
	}
	return parseSlurmJob(output, id)
}

// parseSlurmJob finds a job among those of an array. In JSON, what Slurm says cannot be mixed up
// with what a user wrote: in the plain format a job's name may contain " Account=other". Source:
// https://slurm.schedmd.com/rest_api.html, job_info
func parseSlurmJob(output []byte, id string) slurmAnswer {
	var document struct {
		Jobs []struct {
			Number  uint32   `json:"job_id"`
			Account string   `json:"account"`
			UID     *uint32  `json:"user_id"`
			GRES    []string `json:"gres_detail"` // for each of its nodes
		} `json:"jobs"`
	}
	if json.Unmarshal(output, &document) != nil {
		return slurmAnswer{}
	}
	for _, job := range document.Jobs {
		if number := strconv.FormatUint(uint64(job.Number), 10); job.Number != 0 && (number == id || isSLUID(id)) {
			answer := slurmAnswer{number: number, account: job.Account}
			// If the nodes have different GPUs, this machine's cannot be distinguished from the others'.
			if job.UID != nil && len(job.GRES) > 0 && len(slices.Compact(job.GRES)) == 1 {
				answer.uid, answer.gpus = *job.UID, parseGRES(job.GRES[0])
			}
			return answer
		}
	}
	return slurmAnswer{}
}
