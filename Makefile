# The few commands that a person types. `make help` lists them.
export PATH := $(CURDIR)/node_modules/.bin:$(PATH)
HOSTS ?= 4
STAGE ?= 5
PREFIX ?= /usr/local

help: ## this list
	@sed -n 's/^\([a-z0-9-]*\):.*## /\1\t/p' Makefile

# Under the machine's own, older Node, npm would leave out the packages of binaries that want a newer one, without a word.
NODE = $(shell node -p 'require("./package.json").devDependencies.node')
node_modules/.package-lock.json: package-lock.json
	npm exec --yes --loglevel=error --package=node@$(NODE) --package=npm@11.19.1 -- npm ci --no-fund --no-audit

setup: node_modules/.package-lock.json ## install what the checkout needs
demo: setup ## a meta cluster, a cluster made by REST, scaled, mended after a loss, deleted (STAGE=1..5, KEEP=1; MIRROR=https://… of built artifacts)
	$(if $(MIRROR),MIRROR='$(MIRROR)') node lab/main.ts demo --stage $(STAGE) $(if $(KEEP),--keep)
lint: setup ## format, lint, types, import rules, unused code, shell scripts
	biome check . && tsc --noEmit && tsc --noEmit -p dashboard && depcruise src lab test bench deploy docs dashboard && knip && node test/shell-lint.ts && node test/commit-subjects.ts
docs: setup ## generate reference pages, check all links, build the documentation site into site/
	node docs/site/generate.ts
	node docs/site/build.ts site
lab-up: setup ## start HOSTS=4 lab hosts
	node lab/main.ts up --hosts $(HOSTS)
lab-down: setup ## remove them, and those of the second lab that "make e2e" makes
	node lab/main.ts down
	LAB=2 node lab/main.ts down
test: setup ## everything but the long e2e and the benches
	node test/run.ts
faults: setup ## everything that can go wrong with the controller, and RANDOM=2500 plans of several things; PLAN= replays one, LIFE= runs one list of steps
	PLAN='$(PLAN)' LIFE='$(LIFE)' RANDOM='$(RANDOM)' SEED='$(SEED)' node test/faults/main.ts
newest: setup ## the tests of `make test` that ask an API server, with the newest Kubernetes instead of the oldest that we support
	MATRYOSHKA_API_SERVER=newest vitest run --project api
mutants: setup ## break the product in one place at a time: each time a named test must notice (MUTANT=part of a name, LIST=of-keys,of-etcd)
	MUTANT='$(MUTANT)' LIST='$(LIST)' node test/mutants/main.ts
fuzz: setup ## a minute of 1,000 requests a second without a valid token; generated requests to the REST API: no 5xx, and no answer beyond the rights of the caller (SEED=, REQUESTS=100000, FLOOD=60)
	SEED='$(SEED)' REQUESTS='$(REQUESTS)' EXAMPLES='$(EXAMPLES)' FLOOD='$(FLOOD)' node test/fuzz/main.ts
e2e: setup ## whole lives of clusters on lab hosts, with faults (LANES=3 files at once; F=parts of paths of files; T=name of a test; KEEP=1)
	node lab/history/build.ts
	F='$(F)' $(if $(T),T='$(T)') node test/e2e/main.ts
conformance-cluster: setup ## upstream's conformance and kubeadm suites on a cluster of 3 + 2, before and after changes (KEEP=1, FOCUS=regexp, PROCS=4, UPGRADE=1); CYCLONUS=1: network policies instead
	node test/conformance-cluster/main.ts
chart-cluster: setup ## the Helm chart in a cluster of plain kubeadm: install, upgrade, remove (KEEP=1)
	node test/chart-cluster/main.ts
bench: setup ## the runtime against controller-runtime (RUNS=3, MINUTES=5)
	node --expose-gc bench/runtime/main.ts
bench-fleet: setup ## precheck of 1,000 hosts; a cluster of 1,000; 1,000 clusters at once, 4,000 held (IDLE_MINUTES=10)
	node bench/precheck.ts
	node bench/fleet/main.ts
bench-create: setup ## ours against kubeadm by hand
	node bench/create.ts
bench-operations: setup ## creations by hand and by us, faults, a replacement, changes of etcd, cancelling, drift, at rest, a worker more (RUNS=3, TIMES=50, MINUTES=60, PARTS=small,apart,three,changes,drift,rest,add; BASELINE=1 keeps what was measured)
	node bench/operations/main.ts
bench-upkeep: setup ## clusters that last: an upgrade against kubeadm by hand and a renewal, both under load; rollbacks; expired certificates; a snapshot of 1 GiB; ten restores (PARTS=upgrade,rollback,renew,expired,snapshot,restore; BASELINE=1)
	$(if $(PARTS),PARTS='$(PARTS)') node bench/upkeep/main.ts
bench-addons: setup ## systems beside clusters: LocalServices of 100 nodes; Ingress against nginx (PARTS=localservice,workspace,ingress,installed,changes)
	$(if $(PARTS),PARTS='$(PARTS)') node bench/addons/main.ts
bench-people: setup ## the command line against bare node, and the web page with 5,000 clusters
	node bench/people/main.ts
screenshots: setup ## the pictures of the web page in docs/images
	node docs/site/screenshots.ts
install: setup ## the command line as PREFIX/bin/matryoshka and kubectl-matryoshka (PREFIX=/usr/local; needs Node 24 on the PATH)
	node deploy/bundle.ts dist
	rm -rf $(PREFIX)/lib/matryoshka && mkdir -p $(PREFIX)/lib/matryoshka $(PREFIX)/bin
	cp -R dist/matryoshka*.js dist/package.json dist/crds dist/deploy dist/ansible $(PREFIX)/lib/matryoshka
	ln -sf ../lib/matryoshka/matryoshka.js $(PREFIX)/bin/matryoshka
	ln -sf matryoshka $(PREFIX)/bin/kubectl-matryoshka

.PHONY: help setup demo lint docs lab-up lab-down test faults newest mutants fuzz e2e conformance-cluster chart-cluster bench bench-fleet bench-create bench-operations bench-upkeep bench-addons bench-people screenshots install
