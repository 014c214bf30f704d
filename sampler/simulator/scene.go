package simulator

import (
	"slices"
	"strconv"
	"time"

	"vramscope/internal/process"
	"vramscope/nvml"
)

type scene struct {
	roles     []role
	instances []instance // MIG, if any
	lost      bool       // the GPU is lost now and then
	corrected uint64     // memory errors corrected by ECC so far
}

// cast assigns a scene to each GPU. A smaller box gets the most instructive scenes.
func cast(gpus int) []scene {
	scenes := []scene{
		sawtoothScene(0), sawtoothScene(1), serverScene(), leakScene(),
		fragmentedScene(), migScene(), lostScene(), jaxScene(),
	}
	telling := []int{3, 0, 4, 6, 2, 7, 5, 1}[:gpus]
	slices.Sort(telling)
	chosen := make([]scene, 0, gpus)
	for _, i := range telling {
		chosen = append(chosen, scenes[i])
	}
	return chosen
}

var (
	root  = user{"root", 0}
	alice = user{"alice", 1001}
	bob   = user{"bob", 1002}
	carol = user{"carol", 1003}
	dave  = user{"dave", 1004}
	erin  = user{"erin", 1005}
	frank = user{"frank", 1006}
	gina  = user{"gina", 1007}
	hal   = user{"hal", 1008}
)

const (
	python     = "/opt/conda/bin/python3.11"
	pythonComm = "python3.11"
)

func script(who user, arguments ...string) role {
	return role{
		user:    who,
		command: append([]string{python}, arguments...),
		comm:    pythonComm,
		kind:    nvml.Compute,
		version: "2.6.0",
	}
}

func (r role) slurm(job, step int) role {
	r.job, r.parent = process.Job{Kind: "slurm", ID: strconv.Itoa(job)}, step
	return r
}

// container puts a role into a container of Docker, or into a pod of Kubernetes.
func (r role) container(kind, id string, shim, nsPID int) role {
	r.job, r.parent, r.nsPID = process.Job{Kind: kind, ID: id}, shim, nsPID
	return r
}

// running makes a process of the role run when the story begins, with this pid and age.
func (r role) running(pid int, age time.Duration) role {
	r.pid, r.age = pid, age
	return r
}

// costs sets the role's use of the host: resident memory in GiB, and per cent of a core.
func (r role) costs(gigabytes, cpu float64) role {
	r.host, r.cpu = gibibytes(gigabytes), cpu
	return r
}

// comes makes processes of the role start and end again and again.
func (r role) comes(first time.Duration, life, pause span) role {
	r.first, r.life, r.pause = first, life, pause
	return r
}
