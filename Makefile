# One command for each thing. `make test` is what CI runs.
.PHONY: run build test bench lint unit interop e2e-llm setup

# nextest where it is installed; plain `cargo test` runs the same tests.
TESTS := $(shell cargo nextest --version >/dev/null 2>&1 && echo "nextest run" || echo "test --quiet")

run: build
	target/release/tollgate serve

build: setup
	cargo build --release --locked -p tollgate

test: setup lint unit interop

lint:
	cargo fmt --all --check
	cargo clippy --workspace --all-targets --locked -- -D warnings
	RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --document-private-items --locked --quiet

unit:
	cargo $(TESTS) --workspace --locked

# Real SDKs, reference servers, the inspector and the conformance suite against the binary.
interop:
	cargo build --locked -p tollgate
	interop/run

# Every chat front before a real, tiny model; the first time it fetches 127 MB.
e2e-llm:
	cargo build --locked -p tollgate
	interop/run-llm

bench: build
	cargo run --release --locked -p tollgate-bench

setup:
	@scripts/setup
