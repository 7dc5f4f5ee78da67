# One command for each thing. `make test` is what CI runs.
.PHONY: run build worker test bench pgvector lint unit interop e2e-llm demo-voice setup

# nextest where it is installed; plain `cargo test` runs the same tests.
TESTS := $(shell cargo nextest --version >/dev/null 2>&1 && echo "nextest run" || echo "test --quiet")

# The worker is a workspace of its own (see Cargo.toml); its binary lies beside the gateway's.
TARGET := $(or $(CARGO_TARGET_DIR),target)
OF_WORKER := --manifest-path crates/tollgate-worker/Cargo.toml --target-dir $(TARGET) --locked

run: build
	$(TARGET)/release/tollgate serve

build: setup
	cargo build --release --locked -p tollgate
	cargo build --release $(OF_WORKER)

# For tests, and for `cargo run`.
worker:
	cargo build $(OF_WORKER)

test: setup lint unit interop

lint:
	cargo fmt --all --check
	cargo fmt --manifest-path crates/tollgate-worker/Cargo.toml --check
	cargo clippy --workspace --all-targets --locked -- -D warnings
	cargo clippy $(OF_WORKER) --all-targets -- -D warnings
	RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --document-private-items --locked --quiet
	RUSTDOCFLAGS="-D warnings" cargo doc $(OF_WORKER) --no-deps --document-private-items --quiet

# A PostgreSQL that has it, for tests: the system's has not.
pgvector:
	@scripts/setup-pgvector

unit: worker pgvector
	cargo $(TESTS) --workspace --locked
	cargo $(TESTS) $(OF_WORKER)

# Real SDKs, reference servers, the inspector and the conformance suite against the binary.
interop: worker
	cargo build --locked -p tollgate
	cargo build --locked -p tollgate-llm --example embed
	interop/run

# Every chat front before a real, tiny model; the first time it fetches 127 MB.
e2e-llm: worker
	cargo build --locked -p tollgate
	interop/run-llm

# A spoken conversation through the gateway, recorded and listened to; the first time it fetches 400 MB.
demo-voice:
	cargo build --locked -p tollgate
	interop/run-voice

bench: build
	cargo run --release --locked -p tollgate-bench

setup:
	@scripts/setup
