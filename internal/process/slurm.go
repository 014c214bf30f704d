package process

import (
	"context"
	"os"
	"os/exec"
	"path"
	"strconv"
	"strings"
	"sync"
	"time"

	"vramscope/internal/bounded"
	"vramscope/internal/panics"
)

// slurmJobs finds the numbers of jobs whose cgroups are named by their SLUID, as Slurm 26.05
// names them. The number comes from root's side: the title of the job's slurmstepd or,
// where that cannot be read (hidepid), Slurm's own scontrol. A process's environment is
// its user's and is not trusted.
//
//	<job>/step_<id>/slurm/cgroup.procs ── slurmstepd ── "slurmstepd: [88123.0]"
//
// Source: https://slurm.schedmd.com/cgroup_v2.html
type slurmJobs struct {
	cgroups  string // "/sys/fs/cgroup"
	scontrol func(sluid string) string

	mu      sync.Mutex
	numbers map[string]string    // by SLUID
	asked   map[string]time.Time // scontrol, by SLUID
	asking  bool                 // scontrol; one at a time
	panic   *panics.Caught
}

const (
	scontrolTime  = 2 * time.Second
	scontrolSize  = 64 << 10
	scontrolEvery = 5 * time.Minute // for a job that it does not know
	maxSlurmJobs  = 4096            // that are remembered
)

func newSlurmJobs() *slurmJobs {
	return &slurmJobs{cgroups: "/sys/fs/cgroup", scontrol: askScontrol, numbers: make(map[string]string), asked: make(map[string]time.Time)}
}

// slurmJob is a job of Slurm with its number, as far as that can be found; no job where its
// cgroup is another user's than root's, who may have made it.
func (t *Table) slurmJob(job Job, cgroups string) Job {
	directory := slurmDirectory(job.ID, cgroups)
	if directory == "" {
		return job // cgroup v1, which no user may change
	}
	directory = t.slurm.cgroups + directory
	if uid, known := t.owner(directory).Value(); known && uid != 0 {
		return Job{}
	}
	if isSLUID(job.ID) {
		if number := t.slurm.number(job.ID, func() string { return t.numberOfStepd(directory) }); number != "" {
			job.ID = number
		}
	}
	return job
}

// slurmDirectory is the path of a job's cgroup in the hierarchy of cgroup v2, "" where it
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

// number is the number of a job, "" while it is not known.
func (s *slurmJobs) number(sluid string, stepd func() string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.panic.Again()
	if number := s.numbers[sluid]; number != "" {
		return number
	}
	if len(s.numbers)+len(s.asked) >= maxSlurmJobs {
		clear(s.numbers)
		clear(s.asked)
	}
	if number := stepd(); number != "" {
		s.numbers[sluid] = number
		return number
	}
	if asked, ok := s.asked[sluid]; !s.asking && (!ok || time.Since(asked) >= scontrolEvery) {
		s.asking, s.asked[sluid] = true, time.Now()
		go s.ask(sluid)
	}
	return ""
}

// ask asks scontrol, whose answer a later reading of the facts finds.
func (s *slurmJobs) ask(sluid string) {
	number, caught := s.answer(sluid)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asking, s.panic = false, caught
	if number != "" {
		s.numbers[sluid] = number
	}
}

func (s *slurmJobs) answer(sluid string) (number string, caught *panics.Caught) {
	defer func() { caught = panics.Catch(recover()) }()
	return s.scontrol(sluid), nil
}

// numberOfStepd is the job's number by the title of a slurmstepd in its cgroup: of a
// process of root, in a directory of root into which no user can move one.
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
		pids, _ := ReadLimited(stepd+"/cgroup.procs", commandSize) // "" where it has ended
		for pid := range strings.FieldsSeq(string(pids)) {
			dir := t.root + "/" + pid
			program, err := os.Readlink(dir + "/exe")
			if name, _, _ := strings.Cut(path.Base(program), " (deleted)"); err == nil && name != "slurmstepd" {
				continue // only root may read the link
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

// parseStepdTitle is the job's number in "slurmstepd: [88123.0]", "[88123.batch]" or
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

// askScontrol asks the scontrol of this program's PATH.
func askScontrol(sluid string) string {
	scontrol, err := exec.LookPath("scontrol")
	if err != nil {
		return ""
	}
	command := bounded.Command{Path: scontrol, Arguments: []string{"--oneliner", "show", "job", sluid},
		Environ: os.Environ(), Time: scontrolTime, Limit: scontrolSize}
	output, err := command.Output(context.Background())
	if err != nil {
		return ""
	}
	return parseJobID(string(output))
}

// parseJobID is the number in "JobId=88123 JobName=train …".
func parseJobID(output string) string {
	number, ok := strings.CutPrefix(output, "JobId=")
	number, _, _ = strings.Cut(number, " ")
	if !ok {
		return ""
	}
	return digits(number)
}
