# Everything a contributor needs, by name. `make` alone lists it.

GO      ?= go
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo unknown)

.PHONY: help
help: ## list the targets
	@awk -F':.*## ' '/^[a-z-]+:.*## / { printf "  %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: build
build: ## build ./vramscope
	$(GO) build -trimpath -ldflags "-s -w -X vramscope/cli.version=$(VERSION)" -o vramscope .

.PHONY: demo
demo: ## run the simulated box
	$(GO) run . --demo

.PHONY: test
test: ## run the tests
	$(GO) test ./...

.PHONY: race
race: ## run the tests under the race detector
	$(GO) test -race ./...

.PHONY: lint
lint: ## vet and golangci-lint
	$(GO) vet ./...
	golangci-lint run

.PHONY: bench
bench: ## measure whole-process budgets on the fake driver, beside nvtop where it is installed
	$(GO) run ./scripts/bench

.PHONY: golden
golden: ## rewrite the golden files from what the code draws now
	UPDATE_GOLDEN=1 $(GO) test ./ui/... ./cli/...
