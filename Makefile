# Everything a contributor needs, by name. `make` alone lists it.

LINT_VERSION = v2.15.0
GO      ?= go
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo unknown)

.PHONY: help
help: ## list the targets
	@awk -F':.*## ' '/^[a-z-]+:.*## / { printf "  %-15s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: build
build: ## build ./vramscope
	$(GO) build -trimpath -buildvcs=auto -ldflags "-s -w -X vramscope/cli/command.version=$(VERSION) -X vramscope/cli/command.builder=make" -o vramscope .

.PHONY: demo
demo: ## run the simulated box
	$(GO) run . --demo

.PHONY: test
test: ## run the tests
	$(GO) test ./...

.PHONY: check
check: ## what to run before a commit: format, vet, lint, the tests that need no other program
	.ci/check

.PHONY: race
race: ## run the tests under the race detector
	$(GO) test -race ./...

.PHONY: lint
lint: ## vet and golangci-lint
	$(GO) vet ./...
	golangci-lint run

.PHONY: bench
bench: ## measure vramscope beside nvtop and others on the fake driver, and write docs/performance.md
	$(GO) run ./scripts/bench -write docs/performance.md

.PHONY: pictures
pictures: build ## draw the pictures in docs anew, from the real screen
	$(GO) build -o dist/screenshot ./scripts/screenshot
	dist/screenshot -size 120x40 -after 17s -o docs/screen.svg -- ./vramscope --demo --theme dark
	dist/screenshot -size 80x24 -after 15s -o docs/rescue.svg -- ./vramscope demo rescue --theme dark
	dist/screenshot -size 200x50 -after 17s -keys 'j j' -o docs/screen-200x50.svg -- ./vramscope --demo --theme dark
	dist/screenshot -size 80x24 -after 17s -light -o docs/screen-light.svg -- ./vramscope --demo --theme light
	dist/screenshot -size 80x24 -after 17s -keys 'j j F' -o docs/screen-flush.svg -- ./vramscope --demo --theme dark
	dist/screenshot -size 80x24 -after 17s -keys 'j j Enter' -o docs/screen-detail.svg -- ./vramscope --demo --theme dark
	dist/screenshot -size 100x30 -after 17s -keys 'j j j j j j Enter v' -o docs/screen-map.svg -- ./vramscope --demo --theme dark
	dist/screenshot -size 80x24 -after 17s -o docs/screen-ascii.svg -- ./vramscope --demo --theme dark --ascii
	dist/screenshot -size 120x40 -after 17s -o docs/screen-colorblind.svg -- ./vramscope --demo --theme colorblind
	dist/screenshot -size 120x40 -after 17s -o docs/screen-16-colours.svg -- ./vramscope --demo --theme terminal
	dist/screenshot -size 120x40 -after 17s -keys 'j j i' -o docs/screen-gpu.svg -- ./vramscope --demo --theme dark
	dist/screenshot -size 80x24 -after 6s -o docs/screen-no-probes.svg -- scripts/fake-gpu --gpus 16 --processes 2 --live -- ./vramscope --theme dark

.PHONY: preload
preload: ## build the library that vramscope run preloads and the stand-in runtime of what-if (PYTHON=…: one with ziglang)
	scripts/build-preload
	scripts/build-what-if

.PHONY: agent
agent: ## record the hashes of the Python probe after a change of its source
	UPDATE_GOLDEN=1 $(GO) test ./probe/agent -run TestSumsMatchTheFiles

.PHONY: golden
golden: ## rewrite the golden files from what the code draws now
	$(GO) test ./guard ./ui ./ui/graph ./ui/dialog ./fleet/screen ./cli ./cli/config ./cli/render ./cli/sources -update
	UPDATE_GOLDEN=1 $(GO) test ./internal/fakedriver -run TestKeysFollowTheState
	UPDATE_GOLDEN=1 $(GO) test . ./schema ./exporter

.PHONY: forecast-gates
forecast-gates: ## measure the twelve gates of the forecast (FIRST=SEED: of other series; GATES=REGEX: only these)
	$(GO) run ./internal/forecastlab/gates -first $(or $(FIRST),20000) -only '$(GATES)'

.PHONY: guard-table
guard-table: ## play the guard's stories and write docs/guard.md
	$(GO) run ./internal/guardlab/table -first 60000 -write docs/guard.md
