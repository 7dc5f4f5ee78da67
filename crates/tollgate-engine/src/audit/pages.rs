//! Paged reading of the audit trail over one connection, opened on first use and reopened after
//! errors. Independent of the writer.

use tollgate_store::Error;
use tollgate_store::audit::{Audit, AuditPage, AuditQuery, AuditReader};

pub struct AuditPageReader {
    /// `None` if nothing is kept.
    trail: Option<Audit>,
    reader: Option<AuditReader>,
}

impl AuditPageReader {
    pub(super) fn new(trail: Option<Audit>) -> Self {
        Self { trail, reader: None }
    }

    /// Rows of the trail; empty if nothing is kept.
    pub async fn page(&mut self, query: AuditQuery) -> Result<AuditPage, Error> {
        let Some(trail) = self.trail.clone() else {
            return Ok(AuditPage { rows: Vec::new(), next: None, last: 0 });
        };
        let reader = self.reader.take();
        let read = tokio::task::spawn_blocking(move || {
            let reader = reader.map_or_else(|| trail.reader(), Ok)?;
            Ok((reader.page(&query)?, reader))
        });
        let read = read.await.unwrap_or_else(|panic| Err(Error::Failed(panic.to_string())));
        let (page, reader) = read?;
        self.reader = Some(reader);
        Ok(page)
    }
}
