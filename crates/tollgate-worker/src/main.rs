//! The worker: reads one program, runs it, ends. Started by the gateway only.

fn main() {}
