//! P17: how large the program is.

use std::fs;

use super::Bench;
use crate::table::{Limit, Row};
use crate::trouble::Trouble;

pub(super) fn measure(bench: &Bench) -> Result<Vec<Row>, Trouble> {
    let bytes = fs::metadata(&bench.gateway)?.len();
    let mebibytes = bytes as f64 / f64::from(1 << 20);
    let limit = Limit { most: 40.0, unit: "MiB", digits: 1 };
    Ok(vec![Row::limited("P17", "size of the program".to_owned(), mebibytes, limit)])
}
