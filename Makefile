# bproc: see README.md. `make help` lists what can be made.

SHELL       := /bin/bash -o pipefail
.DEFAULT_GOAL := build

GO          ?= go
PREFIX      ?= /usr/local
DESTDIR     ?=
BUILD       ?= $(CURDIR)/build

TESTFLAGS   ?=
RUN         ?=
PKG         ?= ./...
ONLY        ?=
FUZZTIME    ?= 30s
# Of a package. A test that hangs is ended long before (test/limit, and the watchdog of
# test/cluster). The longest package takes six minutes on a busy machine, and twenty times
# that on an emulated one.
TEST_TIMEOUT ?= 3h
RACE_TIMEOUT ?= 6h

# What ignores a signal hands that on to what it starts (execve(2)), so also to the
# remote programs of tests; "make test" may be started by nohup(1), or in the
# background of a script.
SIGNALS     := env --default-signal

GOLANGCI    := github.com/golangci/golangci-lint/v2/cmd/golangci-lint
GOLANGCI_VERSION := v2.15.0

NFPM        := github.com/goreleaser/nfpm/v2/cmd/nfpm
NFPM_VERSION := v2.45.2

# FILE:PACKAGE of what building and testing need. A machine that has the files is
# left alone, whatever its packages are called.
NEEDED := \
	/usr/bin/gcc:gcc \
	/usr/include/stdio.h:libc6-dev \
	/usr/bin/gdb:gdb \
	/usr/bin/git:git \
	/usr/bin/make:make \
	/usr/bin/ps:procps \
	/usr/bin/python3:python3 \
	/usr/bin/setpriv:util-linux \
	/usr/bin/hostname:hostname \
	/usr/bin/strace:strace \
	/usr/bin/stress-ng:stress-ng \
	/sbin/ip:iproute2 \
	/sbin/setcap:libcap2-bin \
	/usr/bin/htop:htop \
	/usr/bin/less:less \
	/usr/bin/vi:vim-tiny \
	/usr/bin/tmux:tmux \
	/usr/bin/lsof:lsof \
	/usr/sbin/sshd:openssh-server \
	/usr/bin/ssh:openssh-client \
	/usr/bin/rsync:rsync \
	/usr/bin/fusermount3:fuse3 \
	/usr/bin/pstree:psmisc \
	/usr/bin/parallel:parallel \
	/usr/bin/pdsh:pdsh \
	/usr/bin/clush:clustershell \
	/usr/bin/ansible-playbook:ansible-core \
	/usr/bin/mpirun.openmpi:openmpi-bin \
	/usr/bin/mpicc.openmpi:libopenmpi-dev \
	/usr/bin/mpiexec.hydra:mpich \
	/usr/bin/systemctl:systemd \
	/usr/bin/dbus-daemon:dbus \
	/usr/lib/python3/dist-packages/psutil:python3-psutil \
	/usr/bin/redis-server:redis-server \
	/usr/sbin/nginx:nginx-light \
	/usr/bin/rpm:rpm \
	/usr/bin/fish:fish \
	/usr/bin/zsh:zsh \
	/usr/bin/systemd-analyze:systemd \
	/usr/bin/lintian:lintian \
	/etc/ssl/certs/ca-certificates.crt:ca-certificates

# The commands, by where they are installed. They are linked without libc, since
# clients are started often; bpslave needs it to make its process space. Bpcheck is
# "bpctl check": both belong on front ends and on nodes.
BIN  := bpsh bprsh bpstat bpctl bpcp bpjob bpns
SBIN := bpmaster bpprocfs
LIB  := bpkeeper bpgroups bpinit bpcheck bpjail
CGO  := bpslave

ifdef RACE # the race detector needs cgo
static-env := CGO_ENABLED=1
build-flags := -trimpath -race
else
static-env := CGO_ENABLED=0
build-flags := -trimpath
endif

# Where the kernel makes huge pages of whatever it can, a heap in them is several times as large, and
# stays so after work. It is a default of GODEBUG (package runtime), which //go:debug does not know.
ldflags := -X runtime.godebugDefault=disablethp=1
ifdef RELEASE # of packages
ldflags += -s -w -X bproc/cmd/internal/release.stamped=$(RELEASE)
endif
build-flags += -ldflags='$(ldflags)'

.PHONY: help
help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-9s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: deps
deps: ## install the Debian packages that tests need and that are missing
	@missing=; \
	for need in $(NEEDED); do [ -e "$${need%%:*}" ] || missing="$$missing $${need#*:}"; done; \
	[ -z "$$missing" ] && exit 0; \
	echo "installing$$missing"; \
	export DEBIAN_FRONTEND=noninteractive; \
	{ apt-get update && apt-get install --yes --no-install-recommends $$missing; } >$(BUILD).apt.log 2>&1 \
		|| { cat $(BUILD).apt.log; echo "cannot install$$missing; are you root?"; exit 1; }; \
	rm -f $(BUILD).apt.log

# Always done: only go knows what a command depends on, and it is quick when
# nothing has changed. The ghost's image carries a file capability, which only
# root can give.
.PHONY: build
build: ## build the commands into build/, an install tree
	@$(static-env) $(GO) build $(build-flags) -o $(BUILD)/bin/ $(addprefix ./cmd/,$(BIN))
	@$(static-env) $(GO) build $(build-flags) -o $(BUILD)/sbin/ $(addprefix ./cmd/,$(SBIN))
	@$(static-env) $(GO) build $(build-flags) -o $(BUILD)/lib/bproc/ $(addprefix ./cmd/,$(LIB))
	@CGO_ENABLED=1 $(GO) build $(build-flags) -o $(BUILD)/sbin/ $(addprefix ./cmd/,$(CGO))
	@if [ "$$(id -u)" = 0 ]; then $(BUILD)/lib/bproc/bpkeeper --install-ghost $(BUILD)/lib/bproc/ghost; \
	else echo 'not root: "make install" will make lib/bproc/ghost'; fi
	@if [ "$$(id -u)" = 0 ]; then setcap cap_sys_admin=ep $(BUILD)/bin/bpns; fi

.PHONY: completions
completions: build
	@$(GO) run ./packaging/completion/generate $(BUILD)

.PHONY: install
install: completions ## install into $(DESTDIR)$(PREFIX)
	@packaging/install $(BUILD) '$(DESTDIR)' $(PREFIX)
	@setcap cap_sys_admin=ep $(DESTDIR)$(PREFIX)/bin/bpns
	@$(DESTDIR)$(PREFIX)/lib/bproc/bpkeeper --install-ghost $(DESTDIR)$(PREFIX)/lib/bproc/ghost

# Needs no root: what only root can do is done where the packages are installed.
.PHONY: packages
packages: $(BUILD)/tools/nfpm-$(NFPM_VERSION) ## .deb and .rpm packages, into build/packages/
	@$(MAKE) --no-print-directory completions BUILD=$(BUILD)/packages/tree RELEASE=$$(packaging/version)
	@GO=$(GO) NFPM=$< packaging/build $(BUILD)/packages/tree $(BUILD)/packages
	@cd $(BUILD)/packages && ls *.deb *.rpm

.PHONY: demo
demo: deps build ## a front end and three nodes on this machine, and a shell there
	@BPROC_TREE=$(BUILD) $(GO) run ./test/cluster/demo

.PHONY: test
test: deps completions $(BUILD)/tools/nfpm-$(NFPM_VERSION) ## all tests; RUN=REGEXP and PKG=PACKAGES select; TESTFLAGS for go test
	@BPROC_TREE=$(BUILD) BPROC_NFPM=$(word 3,$^) $(SIGNALS) $(GO) test -json -count=1 -timeout $(TEST_TIMEOUT) $(if $(RUN),-run '$(RUN)') $(TESTFLAGS) $(PKG) | $(GO) run ./test/verdict

.PHONY: check
check: ## the tests that need no cluster, in about a minute
	@$(MAKE) --no-print-directory test PKG="$$($(GO) list ./... | grep -v '/test/cluster' | paste -sd ' ')"

# A race-enabled program waits for a second before it exits, unless told otherwise
# (go.dev/doc/articles/race_detector): that adds up where commands are what is tested.
.PHONY: race
race: deps $(BUILD)/tools/nfpm-$(NFPM_VERSION) ## all tests and the commands that they start under the race detector
	@$(MAKE) --no-print-directory completions RACE=1 BUILD=$(BUILD)/race
	@BPROC_TREE=$(BUILD)/race BPROC_NFPM=$(word 2,$^) GORACE=atexit_sleep_ms=0 $(SIGNALS) $(GO) test -json -race -count=1 -timeout $(RACE_TIMEOUT) $(if $(RUN),-run '$(RUN)') $(TESTFLAGS) ./... | $(GO) run ./test/verdict

KERNEL ?= 6.1
CGROUP ?= unified

.PHONY: vm
vm: deps build $(BUILD)/tools/nfpm-$(NFPM_VERSION) ## suites in virtual machines; KERNEL='5.10 6.1', CGROUP=hybrid, RUN=REGEXP: see test/vm/doc.go
	@$(GO) run ./test/vm -build $(BUILD) -kernel '$(KERNEL)' -cgroup $(CGROUP) -run '$(RUN)' -testrun '$(TESTRUN)' -testpkg '$(TESTPKG)' \
		-packages $$(printf '%s\n' $(NEEDED) | sed 's/.*://' | sort -u | paste -sd,)

SOAK ?= 2m

# "make test" has the same tests, for ten seconds each.
.PHONY: soak
soak: deps build ## random trees, forks at full rate, stress-ng: each for SOAK (2m); RUN=REGEXP selects
	@BPROC_TREE=$(BUILD) BPROC_SOAK=$(SOAK) $(SIGNALS) $(GO) test -json -count=1 -timeout $(TEST_TIMEOUT) -run '$(or $(RUN),TestSoak|TestRandomTrees|TestStressNG)' $(TESTFLAGS) ./test/cluster | $(GO) run ./test/verdict

LAUNCHES ?= 10000

# "make test" has the same test, with fewer.
.PHONY: launches
launches: deps build ## LAUNCHES (10000) by each of three kinds of launchers, with random kills
	@BPROC_TREE=$(BUILD) BPROC_LAUNCHES=$(LAUNCHES) $(SIGNALS) $(GO) test -json -count=1 -timeout $(TEST_TIMEOUT) -run '^TestLaunches$$' $(TESTFLAGS) ./test/cluster | $(GO) run ./test/verdict

.PHONY: sim
sim: ## simulated clusters until stopped, or SEEDS of them; from a random one on, or from FIRST=SEED
	@$(GO) test ./test/sim -count=1 -v -run TestCluster -timeout 0 -sim.all -sim.report 10s -sim.seeds $(or $(SEEDS),0) -sim.first $(or $(FIRST),$$(od -An -N4 -tu4 /dev/urandom))

CHAOS ?= 3m

.PHONY: chaos
chaos: deps build ## parts fail at random while commands and jobs run, for CHAOS (3m) with each of SEEDS; RUN=REGEXP selects
	@BPROC_TREE=$(BUILD) BPROC_CHAOS=$(CHAOS) BPROC_CHAOS_SEEDS='$(or $(SEEDS),$(shell date +%s))' $(SIGNALS) $(GO) test -v -count=1 -timeout $(TEST_TIMEOUT) -run '$(or $(RUN),TestChaos)' $(TESTFLAGS) ./test/cluster

# What jobs are measured beside.
CONTAINERS := \
	/usr/sbin/runc:runc \
	/usr/bin/podman:podman

.PHONY: bench
bench: build ## measure; ONLY=REGEXP selects by name
	@$(MAKE) --no-print-directory deps NEEDED='$(NEEDED) $(CONTAINERS)'
	@BPROC_TREE=$(BUILD) $(GO) run ./test/cluster/bench $(if $(ONLY),-only '$(ONLY)')

# The packages of rsh are unpacked, not installed: their server would be started.
$(BUILD)/rsh:
	@rm -rf $@.new && mkdir -p $@.new
	@cd $@.new && apt-get -qq -o APT::Sandbox::User=root download rsh-client rsh-server && for deb in *.deb; do dpkg-deb -x $$deb .; done
	@mv $@.new $@

.PHONY: rivals
rivals: deps build $(BUILD)/rsh ## measure beside ssh, rsh, pdsh, clush and hydra; ONLY=REGEXP selects
	@BPROC_TREE=$(BUILD) $(GO) run ./test/cluster/rivals -rsh $(BUILD)/rsh $(if $(ONLY),-only '$(ONLY)')

.PHONY: fuzz
fuzz: ## run each fuzz target for FUZZTIME (30s)
	@$(GO) list ./... | while read -r pkg; do \
		for target in $$($(GO) test -list '^Fuzz' "$$pkg" | grep '^Fuzz'); do \
			echo "$$pkg $$target"; \
			$(GO) test -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 100x "$$pkg" || exit 1; \
		done; \
	done

.PHONY: lint
lint: $(BUILD)/tools/golangci-lint-$(GOLANGCI_VERSION) ## static checks and formatting, for amd64 and arm64
	@$< fmt --diff
	@$< run
	@$(GO) vet ./...
	@GOARCH=arm64 CGO_ENABLED=0 $(GO) vet $$(GOARCH=arm64 CGO_ENABLED=0 $(GO) list ./...)
	@$(GO) mod tidy -diff

$(BUILD)/tools/golangci-lint-$(GOLANGCI_VERSION):
	@echo "building golangci-lint $(GOLANGCI_VERSION), once"
	@GOBIN=$(BUILD)/tools $(GO) install $(GOLANGCI)@$(GOLANGCI_VERSION)
	@mv $(BUILD)/tools/golangci-lint $@

$(BUILD)/tools/nfpm-$(NFPM_VERSION):
	@echo "building nfpm $(NFPM_VERSION), once"
	@GOBIN=$(BUILD)/tools $(GO) install $(NFPM)@$(NFPM_VERSION)
	@mv $(BUILD)/tools/nfpm $@

.PHONY: generate
generate: ## make the committed BPF objects again (needs clang)
	@$(GO) generate ./...

.PHONY: clean
clean: ## remove build/
	@rm -rf $(BUILD)
