//! Tool search: finds tools by description and answers with signatures that suffice to write a
//! call.

use std::fmt::Write as _;

use super::signature::SignatureWriter;
use super::type_detail::TypeDetail;
use super::{CodeModeApi, MetaTool, ShapeLookup};
use crate::relevance::{RelevanceDocument, RelevanceIndex, RelevanceQuery};

/// Maximum query words that are also searched for in pairs.
const MAX_PAIRED_WORDS: usize = 32;

impl CodeModeApi {
    /// Best match first, one line each, followed by the types they use.
    pub fn search(&self, query: &str, limit: Option<u64>, seen: ShapeLookup<'_>) -> String {
        let limit = limit.unwrap_or(MetaTool::USUAL_HITS).clamp(1, MetaTool::MAX_HITS);
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        let mut wanted = RelevanceQuery::new(query).by_meaning();
        wanted.hear(&compounds(query), 1.0);
        let found = self.index().best(&wanted, limit);
        if found.is_empty() {
            return "no tool matches these words; try other or fewer words, or see listToolFiles\n"
                .to_owned();
        }
        let mut writer = SignatureWriter::new(TypeDetail::Brief, seen);
        let mut out = String::new();
        for place in found {
            let entry = &self.entries[place];
            let signature = writer.signature(entry);
            let comment = signature.comment(entry.tool.description.as_deref());
            let call = signature.whole(&self.qualified_name(place));
            writeln!(out, "{call}{comment}").expect("a string takes all");
        }
        writer.classes.write_new(&mut out);
        out
    }

    fn index(&self) -> &RelevanceIndex {
        self.index.get_or_init(|| {
            let spelled: Vec<String> =
                (0..self.entries.len()).map(|at| self.qualified_name(at)).collect();
            let subjects =
                self.entries.iter().zip(&spelled).map(|(entry, spelled)| RelevanceDocument {
                    name: spelled,
                    title: entry.tool.definition.title.as_deref(),
                    description: entry.tool.description.as_deref(),
                    parameters: Some(&entry.tool.definition.input_schema),
                });
            RelevanceIndex::new(subjects)
        })
    }
}

/// Server names often join two words: `googlecalendar`. Each word is also searched for joined with
/// the next.
fn compounds(query: &str) -> String {
    let words: Vec<&str> = query.split_whitespace().take(MAX_PAIRED_WORDS).collect();
    words.windows(2).map(<[&str]>::concat).collect::<Vec<_>>().join(" ")
}
