//! Hash chain of the audit ledger: each hash covers the previous hash and every field, so that
//! changed, missing or reordered rows are detected.

use tollgate_core::digest::DigestBuilder;

use super::AuditEntry;
use crate::number::{micros, millis, to_unsigned};

pub(super) type ChainHash = [u8; 32];

/// Must change whenever the fields or their order do.
const FORMAT: &[u8] = b"tollgate audit 1";
const ABSENT: u8 = 0;
const PRESENT: u8 = 1;

pub(super) fn hash<T: AsRef<str>>(
    before: &ChainHash,
    sequence: u64,
    entry: &AuditEntry<T>,
) -> ChainHash {
    let mut fields = ChainedFields(Vec::with_capacity(512));
    fields.0.extend_from_slice(FORMAT);
    fields.0.extend_from_slice(before);
    fields.number(Some(sequence));
    fields.number(Some(to_unsigned(millis(entry.at))));
    for text in [&entry.kind, &entry.principal, &entry.outcome] {
        fields.bytes(Some(text.as_ref().as_bytes()));
    }
    for text in [&entry.agent, &entry.method, &entry.name, &entry.server, &entry.tool] {
        fields.text(text.as_ref());
    }
    fields.bytes(entry.arguments_hash.as_ref().map(<[u8; 32]>::as_slice));
    for text in [&entry.arguments, &entry.tier, &entry.call, &entry.detail] {
        fields.text(text.as_ref());
    }
    fields.number(entry.catalog_version);
    fields.number(entry.duration.map(|span| to_unsigned(micros(span))));
    fields.number(entry.bytes);
    fields.number(entry.cached.map(u64::from));
    // Rows from before programs existed lack this field, and keep their hash.
    if entry.within.is_some() {
        fields.text(entry.within.as_ref());
    }
    DigestBuilder::default().with(fields.0).finish()
}

/// Fields are length-prefixed, so that different rows never have equal bytes.
struct ChainedFields(Vec<u8>);

impl ChainedFields {
    fn bytes(&mut self, field: Option<&[u8]>) {
        let Some(bytes) = field else { return self.0.push(ABSENT) };
        self.0.push(PRESENT);
        self.0.extend_from_slice(&(bytes.len() as u64).to_le_bytes());
        self.0.extend_from_slice(bytes);
    }

    fn text<T: AsRef<str>>(&mut self, field: Option<&T>) {
        self.bytes(field.map(|text| text.as_ref().as_bytes()));
    }

    fn number(&mut self, field: Option<u64>) {
        self.bytes(field.map(u64::to_le_bytes).as_ref().map(<[u8; 8]>::as_slice));
    }
}
