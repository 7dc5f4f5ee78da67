//! Relations between entities.

use super::Provenance;

#[test]
fn a_confidence_reads_back_as_it_was_written() {
    for written in [0.0, 0.1, 0.3, 0.9, 0.95, 1.0] {
        let provenance = Provenance { session: None, confidence: written as f32 };
        assert_eq!(provenance.decimal_confidence(), written);
    }
}
