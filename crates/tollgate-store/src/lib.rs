//! What outlasts the process. The only crate that speaks SQL; it is called from threads that may
//! block.
