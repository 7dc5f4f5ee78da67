//! Identity of facts for deduplication. The same for both databases.

use tollgate_core::digest::DigestBuilder;
use tollgate_core::memory::{FactSource, NewFact, SessionId};

/// Facts of one author are equal by text, ignoring case and whitespace; passages also by their
/// position.
pub(super) fn same(fact: &NewFact) -> [u8; 32] {
    let mut words = DigestBuilder::default();
    for word in fact.text.split_whitespace() {
        words = words.with(word.to_lowercase()).with(" ");
    }
    match (fact.source, &fact.session) {
        (FactSource::Stated, _) => words.finish(),
        (FactSource::Transcript { first, last }, session) => {
            let session = session.as_ref().map_or("", SessionId::as_str);
            words.with(format!("\0{}\0{}\0{session}", first.0, last.0)).finish()
        }
    }
}
