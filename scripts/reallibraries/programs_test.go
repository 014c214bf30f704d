//go:build linux && cgo

package reallibraries

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"vramscope/internal/needs"
	"vramscope/internal/quantity"
	"vramscope/schema"
)

// programs are the programs of programs_job.py, with their descriptions in the table.
var programs = [][2]string{
	{"trainer", "Trainer of transformers, AdamW"},
	{"trainer_adafactor", "the same, Adafactor"},
	{"lora", "the same, LoRA by peft"},
	{"lightning", "Lightning"},
	{"diffusion", "a UNet of diffusers"},
	{"vision", "ResNet-18 of torchvision"},
	{"fsdp2", "FSDP 2, two ranks over gloo, as the parameters of a layer are gathered"},
	{"fsdp1", "FSDP 1, the same"},
	{"eight_bit", "Adam8bit of bitsandbytes"},
	{"compiled", "`torch.compile`, aot_eager"},
	{"inductor", "`torch.compile`, Inductor with Triton"},
	{"notebook", "cells of IPython, one of which has failed"},
	{"gan", "a GAN with two optimizers"},
	{"tied", "GPT-2 of transformers, with tied embeddings"},
	{"averages", "averaged weights (EMA)"},
}

// TestPrograms runs programs_job.py: for each program the classes sum to what PyTorch has allocated,
// and at least 95 % of the bytes are named.
func TestPrograms(t *testing.T) {
	needs.Tool(t, "python3")
	beyondCore(t)
	vramscope := needs.Vramscope(t)
	libraries := append(releases(t, "accelerate"), releases(t, "triton")...)
	for _, site := range releases(t, "torch") {
		b := newWhatIfBox(t, vramscope, site)
		b.environment = append(b.environment, "VRAMSCOPE="+vramscope, "PYTHONPATH="+strings.Join(append([]string{site}, libraries...), ":"))
		var table string
		for _, program := range programs {
			t.Run(program[0], func(t *testing.T) {
				b.t = t
				table += b.look(program[0], program[1])
			})
		}
		if path := os.Getenv("VRAMSCOPE_REAL_TABLE"); path != "" {
			head := fmt.Sprintf(programsLegend, filepath.Base(site)) + strings.Join(programClasses, " | ") + " | named | longest hold, ms |\n" + strings.Repeat("|---", len(programClasses)+5) + "|\n"
			if err := os.WriteFile(filepath.Join(filepath.Dir(path), "holds.md"), []byte(head+table), 0o644); err != nil {
				t.Error(err)
			}
		}
	}
}

// look returns a program's row of the table.
func (b *whatIfBox) look(program, words string) string {
	b.t.Helper()
	row := struct {
		schema.Holds
		Allocated quantity.Bytes `json:"memory_allocated"`
		Hold      float64        `json:"hold_ms"`
	}{}
	said := b.answer(b.vramscope, "run", "--", "python3", "programs_job.py", program)
	_, said, _ = bytes.Cut(append([]byte("\n"), said...), []byte("\n{\"pid\"")) // skips what the library prints
	if err := json.NewDecoder(io.MultiReader(strings.NewReader(`{"pid"`), bytes.NewReader(said))).Decode(&row); err != nil || len(row.Devices) != 1 {
		b.t.Fatalf("%v in %s", err, said)
	}
	of := map[string]quantity.Bytes{}
	for _, c := range row.Devices[0].Classes {
		of[c.Class] += c.Bytes
		of["all"] += c.Bytes
	}
	if of["all"]-of["pending"] != row.Allocated || row.Devices[0].AllocatedBytes != of["all"] || row.Moving || !row.Exact || of["unnamed"]*20 > of["all"] {
		b.t.Errorf("allocated %d, and the answer %s", row.Allocated, said)
	}
	if program == "notebook" && !strings.Contains(fmt.Sprint(row.Notes), "predictions in failing, kept by sys.last_traceback") {
		b.t.Errorf("notes: %q", row.Notes)
	}
	text := fmt.Sprintf("| %s | %d | %d |", words, row.Allocated, of["pending"])
	for _, class := range programClasses {
		text += fmt.Sprintf(" %d |", of[class])
	}
	b.t.Logf("%v, held the GIL for %.1f ms at most", of, row.Hold)
	return text + fmt.Sprintf(" %.2f %% | %.1f |\n", 100-100*float64(of["unnamed"])/float64(of["all"]), row.Hold)
}

var programClasses = []string{"parameters", "gradients", "optimizer_state", "buffers", "activations", "variables", "workspaces", "unnamed"}

const programsLegend = `# What holds the memory of programs, measured

What ` + "`vramscope holds`" + ` says, in bytes, of programs by libraries that people train with, in the middle of a step: those of ` + "`scripts/reallibraries/programs_job.py`" + `
on the fake driver, with %s. Written by ` + "`scripts/real-libraries --torch 2.15.0 --accelerate 1.15.0 --triton 3.9.0 --table`" + `, which fails unless the classes sum to
` + "`torch.cuda.memory_allocated()`" + ` and what is pending, to the byte, and 95 %% is named. *Longest hold* is the most CPU time that the probe's thread took between two of
its pauses: no longer can it have held the GIL. The parameters that FSDP has gathered count as parameters while a layer has them; FSDP 2's buffer
of the all-gather, which lives until the next one, counts as activations.

| program | allocated | pending | `
