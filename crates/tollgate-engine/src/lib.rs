//! The engine: the gate through which every call passes, the registry of what there is to call,
//! and the backends that run it. Knows no HTTP front, no model provider, no config file.

pub mod backend;
pub mod builtin;
pub mod clock;
pub mod settings;
pub mod upstream;
