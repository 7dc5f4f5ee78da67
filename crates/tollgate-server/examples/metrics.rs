//! Prints `docs/metrics.md`: `cargo run -p tollgate-server --example metrics > docs/metrics.md`.
#![expect(clippy::print_stdout, reason = "printing is all it does")]

fn main() {
    print!("{}", tollgate_server::metrics::reference());
}
