//! P17: how large the program is, with the worker that lies beside it.

use std::path::Path;
use std::{fs, io};

use super::BenchContext;
use crate::error::BenchError;
use crate::table::{FigureLimit, FigureRow};

const MEBIBYTE: f64 = (1 << 20) as f64;

pub(super) fn measure(bench: &BenchContext) -> Result<Vec<FigureRow>, BenchError> {
    let size = |path: &Path| Ok::<_, io::Error>(fs::metadata(path)?.len() as f64 / MEBIBYTE);
    let gateway = size(&bench.gateway)?;
    let worker = size(&bench.worker())?;
    let limit = FigureLimit { most: 64.0, unit: "MiB", digits: 1 };
    let both =
        FigureRow::at_most("P17", "size of the programs".to_owned(), gateway + worker, limit);
    Ok(vec![both.with_note(&format!("the gateway {gateway:.1}, its worker {worker:.1}"))])
}
