//! P17: how large the program is, with the worker that lies beside it.

use std::path::Path;
use std::{fs, io};

use super::Bench;
use crate::table::{Limit, Row};
use crate::trouble::Trouble;

const MEBIBYTE: f64 = (1 << 20) as f64;

pub(super) fn measure(bench: &Bench) -> Result<Vec<Row>, Trouble> {
    let size = |path: &Path| Ok::<_, io::Error>(fs::metadata(path)?.len() as f64 / MEBIBYTE);
    let gateway = size(&bench.gateway)?;
    let worker = size(&bench.worker())?;
    let limit = Limit { most: 40.0, unit: "MiB", digits: 1 };
    let both = Row::limited("P17", "size of the programs".to_owned(), gateway + worker, limit);
    Ok(vec![both.explained(&format!("the gateway {gateway:.1}, its worker {worker:.1}"))])
}
