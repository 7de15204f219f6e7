# What developers and the gate run. `make` alone lists the targets.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.NOTPARALLEL:

# The pinned linter, built from its own module so that its dependencies stay out of the program's.
LINT := go tool -modfile=tools/go.mod golangci-lint
# The race detector needs a C compiler; without one the tests run without it, and .ci/needs says so.
RACE := $(shell command -v "$$(go env CC)" >/dev/null && echo -race)
# The suites that start real servers; all other packages are tested by themselves.
SUITES := ./integration/...
UNITS = $$(go list ./... | grep -v /integration)
FUZZTIME ?= 30s

.PHONY: help
help: ## List the targets
	@grep -hE '^[a-z]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  %-9s %s\n", $$1, $$2}'

.PHONY: build
build: ## Build the program as ./redfence
	go build -o redfence ./cmd/redfence

.PHONY: test
test: needs lint race suites ## The gate: lint, all tests with the race detector, real servers and clients

.PHONY: long
long: ## Everything: all clients, long faults, fuzzing, benchmarks; writes docs/results
	@REDFENCE_LONG=1 .ci/needs
	.ci/long

.PHONY: needs
needs: # Install as root, or name, what the suites use beyond Go
	@.ci/needs

.PHONY: lint
lint: ## Vet, style, spelling, import directions
	go vet ./...
	go vet -tags clockskew,planted ./raftstore # builds of tests: the wall clock can be stepped, bugs are planted
	go vet -tags tokenless ./fencing # what the benchmark compares with
	$(LINT) run ./...

.PHONY: fmt
fmt: ## Format the code as lint wants it
	$(LINT) fmt ./...

.PHONY: race
race: ## Unit tests and fuzz seeds of all packages, with the race detector
	go test $(RACE) -timeout 15m $(UNITS)
	go test -timeout 10m -run '^TestSchedulesFindPlantedBugs' ./quorum # too slow with it

.PHONY: suites
suites: ## Suites with real servers: differential, behaviour, clients, faults
	go test -timeout 20m $(SUITES)

.PHONY: clients
clients: ## Only the suites of real client libraries
	go test -timeout 20m -v -run '^TestClient' ./integration

.PHONY: matrix
matrix: ## All clients, on the backend REDFENCE_CLIENTS_ON (raft); writes docs/clients.md and its results
	REDFENCE_LONG=1 go test -timeout 20m -v -run '^TestClient|^TestNamedMaster|^TestSamplePrograms' ./integration | \
		go run ./integration/matrix/record docs/results/clients.json
	go test ./integration -run TestDocOfClients -update

.PHONY: fuzz
fuzz: ## Fuzz every target for FUZZTIME (30s)
	@for pkg in $$(go list ./...); do \
		for target in $$(go test -list '^Fuzz' $$pkg | grep '^Fuzz' || true); do \
			echo "== $$pkg $$target"; \
			go test -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) $$pkg; \
		done; \
	done

.PHONY: bench
bench: ## Compare with redis-server, with redsync over 3 and 5 of them, with etcd, without tokens, and in front of a Redis, side by side
	cd integration/bench && go run . && go run . -nodes 3 && go run . -nodes 5 -clients 1,64 && \
		go run . -etcd && go run . -etcd -log-store bolt && go run . -fence && go run . -fence -nodes 3 && \
		go run . -pass && go run . -pass -clients 1 -link 0s,15us,130us,390us

.PHONY: docs
docs: ## Write the generated parts of docs/
	go test ./cmd/redfence -run TestConfigurationDoc -update
	go test ./integration -run TestDocOfClients -update
