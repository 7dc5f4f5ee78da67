# One command for each thing. `make test` is what CI runs.
.PHONY: run build install ui examples worker test prefetch bench soak pgvector binary lint unit interop page quick e2e-llm demo-voice deny fuzz sbom coverage \
	setup setup-build setup-test

# What is built once gains nothing from being prepared for the next change, or for a debugger.
ifdef CI
export CARGO_INCREMENTAL := 0
export CARGO_PROFILE_DEV_DEBUG := 0
endif

# nextest where it is installed; plain `cargo test` runs the same tests.
TESTS := $(shell cargo nextest --version >/dev/null 2>&1 && echo "nextest run" || echo "test --quiet")

# The worker is a workspace of its own (see Cargo.toml); its binary lies beside the gateway's.
TARGET := $(or $(CARGO_TARGET_DIR),target)
OF_WORKER := --manifest-path crates/tollgate-worker/Cargo.toml --target-dir $(TARGET) --locked

# Model checks: on their own for the same reason.
OF_MODEL := --manifest-path crates/tollgate-model/Cargo.toml --target-dir $(TARGET)/model --locked

# What test runners leave for scripts/test-report.
export TOLLGATE_TEST_REPORT := $(abspath $(TARGET))/test-report

# An example of a server, outside of the workspace as well.
OF_TIDES := --manifest-path examples/tides-rust/Cargo.toml --target-dir $(TARGET) --locked

run: build
	$(TARGET)/release/tollgate serve

build: setup-build ui
	cargo build --release --locked -p tollgate
	cargo build --release $(OF_WORKER)

# The admin page, for the next build of the gateway to take in.
ui: setup-build
	ui/build

# What `make build` left, into PREFIX: programs, man page, completions, a systemd unit.
PREFIX ?= /usr/local
install:
	packaging/install $(TARGET)/release "$(PREFIX)" "$(DESTDIR)"

# For tests, and for `cargo run`.
worker:
	cargo build $(OF_WORKER)

# Ends with the tests that passed only when repeated, and those that this machine cannot run.
test: setup-test prefetch ui lint unit interop page
	@scripts/test-report

# Packages of the interop tests are fetched while the compiler works. `interop/run` waits for this, and repeats what failed.
prefetch: setup-test
	@mkdir -p $(TARGET)
	@nohup interop/setup >$(TARGET)/interop-setup.log 2>&1 </dev/null &

# Lints and unit tests of what changed, for the time between two edits; `make quick BASE=HEAD~3` compares with another commit.
quick:
	@scripts/quick $(BASE)

lint: setup-build deny
	cargo fmt --all --check
	cargo fmt --manifest-path crates/tollgate-worker/Cargo.toml --check
	cargo fmt --manifest-path examples/tides-rust/Cargo.toml --check
	cargo fmt --manifest-path crates/tollgate-model/Cargo.toml --check
	cargo fmt --manifest-path fuzz/Cargo.toml --check
	cargo clippy --workspace --all-targets --locked -- -D warnings
	cargo clippy $(OF_WORKER) --all-targets -- -D warnings
	cargo clippy $(OF_TIDES) -- -D warnings
	RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --document-private-items --locked --quiet
	RUSTDOCFLAGS="-D warnings" cargo doc $(OF_WORKER) --no-deps --document-private-items --quiet

# Licences, sources and versions of dependencies, against deny.toml. Once they are downloaded it needs no network;
# `make deny CHECKS=advisories` looks for known holes and does.
CHECKS ?= licenses bans sources
OFFLINE := $(if $(filter advisories,$(CHECKS)),,--offline)
STRICT := -D unmatched-skip -D license-not-encountered -D license-exception-not-encountered
deny:
	@cargo fetch --quiet --locked
	@cargo fetch --quiet --locked --manifest-path crates/tollgate-worker/Cargo.toml
	@deny=$$(scripts/setup-deny) && $$deny $(OFFLINE) check --hide-inclusion-graph $(STRICT) $(CHECKS) && \
	$$deny $(OFFLINE) --manifest-path crates/tollgate-worker/Cargo.toml check --hide-inclusion-graph $(STRICT) $(CHECKS)

# A PostgreSQL that has it, for tests: the system's has not.
pgvector:
	@scripts/setup-pgvector

# The gateway as tests run it, with examples. Built as the tests are: another choice of packages would be another choice of
# features, and build every library once more.
binary: ui worker
	cargo test --workspace --locked --no-run --quiet

unit: setup-test worker pgvector
	@rm -rf $(TOLLGATE_TEST_REPORT) target/nextest && mkdir -p $(TOLLGATE_TEST_REPORT)
	cargo $(TESTS) --workspace --locked
	cargo $(TESTS) $(OF_WORKER)
	cargo $(TESTS) $(OF_MODEL)

# Real SDKs, reference servers, the inspector and the conformance suite against the binary.
interop: setup-test binary examples
	interop/run

# The admin page in a real browser, before the binary.
page: setup-test binary
	ui/test

# Programs that tests and documents run.
examples:
	cargo build $(OF_TIDES)

# Every chat front before a real, tiny model; the first time it fetches 127 MB.
e2e-llm: setup-test binary
	interop/run-llm

# A spoken conversation through the gateway, recorded and listened to; the first time it fetches 400 MB.
demo-voice: setup-test binary
	interop/run-voice

# Each fuzz target under libFuzzer: `make fuzz SECONDS=600 TARGETS="json dice"`. The tests replay what it saved.
SECONDS ?= 60
fuzz:
	fuzz/run --seconds $(SECONDS) $(TARGETS)

# Lines that the Rust tests reach, per crate; see docs/testing.md.
coverage: setup-test pgvector
	@scripts/coverage

# What a release is made of: CycloneDX, from the lock files.
sbom:
	@mkdir -p $(TARGET)
	scripts/sbom $(TARGET)/sbom.cdx.json

# Measures the memory in PostgreSQL too.
bench: setup-test build
	cargo run --release --locked -p tollgate-bench

# What takes longer than tests may: load, attack and faults, ten minutes or as many as are given (MINUTES=480), as a table of
# figures with targets; then the long forms of tests, whatever the table says. Fails when a figure misses its target or a test fails.
MINUTES ?= 10
# The profile picks those that have a long form; plain `cargo test` runs all.
LONG_TESTS := $(if $(findstring nextest,$(TESTS)),$(TESTS) --profile soak,$(TESTS))
soak: setup-test build
	@status=0; \
	cargo run --release --locked -p tollgate-bench -- soak --minutes $(MINUTES) || status=1; \
	TOLLGATE_SOAK=1 cargo $(LONG_TESTS) --workspace --locked || status=1; \
	exit $$status

# Packages that a Debian machine lacks: to build, or to run the tests as well.
setup-build:
	@scripts/setup build

setup-test:
	@scripts/setup test

setup: setup-test
