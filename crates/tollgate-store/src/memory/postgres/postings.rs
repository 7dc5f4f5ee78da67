//! The lists of what has a word.
//!
//! A word is a number made of the shelf, one of its drawers and the word itself; an inverted index
//! finds what has it. A drawer holds the next few thousand things of a shelf: from the newest
//! drawer back, the newest things with a word are found without reading the others, however many
//! there are. Nothing of a query's text reaches the database.

use std::collections::HashSet;

use tollgate_core::memory::MemoryQuery;

use super::partitions::PgPartition;
use super::pool::PgLease;
use super::rows::PgColumns;
use crate::memory::MemoryError;
use crate::memory::candidates::{MAX_CANDIDATES, NEWEST, PartitionStats, PostingLists};
use crate::number::size;

/// Things in a drawer. The more, the longer a common word takes; the fewer, a rare one.
const ROWS_PER_SEGMENT: i64 = 1 << 13;
const MAX_SEGMENTS: i64 = 1 << 16;
const BITS_OF_WORD: u32 = 28;
const WORD_MASK: i64 = (1 << BITS_OF_WORD) - 1;
const SEGMENT_BITS: u32 = 16;

/// How far the list of a speaker's entries is read: there has to be room for what is said of him.
const MAX_SPEAKER_ENTRIES: usize = MAX_CANDIDATES / 2;
/// Drawers that are searched for what has all of many common words.
const SEGMENTS_WITH_ALL_TERMS: i64 = 16;
/// Things with all words of a query.
const MOST_WITH_ALL: i64 = 200;
/// Of a session, so many of its newest entries are read when it is searched.
const READ_IN_SESSION: i64 = 8_192;

/// What has words that are looked for by the newest.
#[derive(Debug, Clone, Copy)]
pub(super) enum PgTextIndex {
    Entries,
    Facts,
}

/// A session that is searched.
#[derive(Debug, Clone, Copy)]
pub(super) struct SearchedSession {
    pub(super) session: i64,
    pub(super) entries: i64,
}

/// The words of a thing, as they are kept: the `ordinal` says how many there were before it.
pub(super) fn words(shelf: i32, ordinal: i64, terms: &[String]) -> String {
    let drawer = ordinal / ROWS_PER_SEGMENT;
    let words: Vec<String> =
        terms.iter().map(|term| key(shelf, drawer, hash(term)).to_string()).collect();
    format!("{{{}}}", words.join(","))
}

/// Those of things that are too few for drawers.
pub(super) fn plain_words(shelf: i32, terms: &[String]) -> Vec<i64> {
    terms.iter().map(|term| key(shelf, 0, hash(term))).collect()
}

fn key(shelf: i32, drawer: i64, word: i64) -> i64 {
    let place = (i64::from(shelf) << SEGMENT_BITS) | (drawer % MAX_SEGMENTS);
    (place << BITS_OF_WORD) | word
}

/// FNV-1a, in few bits. Two words that fall together give more to be ranked, not wrong hits. Kept in
/// databases: it never changes.
fn hash(term: &str) -> i64 {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for byte in term.bytes() {
        hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    }
    let folded = hash ^ (hash >> 32);
    i64::try_from(folded & WORD_MASK.unsigned_abs()).unwrap_or_default()
}

/// Who says something is another word than whom it is about: who speaks often would hide what is
/// said of him.
pub(super) fn said_by(term: &str) -> String {
    format!("{term}\0says")
}

fn hashes(query: &MemoryQuery) -> Vec<i64> {
    query.terms.iter().map(|term| hash(term)).collect()
}

/// The terms as words of texts, and then as words of speakers.
fn both_hashes(query: &MemoryQuery) -> Vec<i64> {
    let speakers = query.terms.iter().map(|term| hash(&said_by(term)));
    hashes(query).into_iter().chain(speakers).collect()
}

impl PgTextIndex {
    fn table(self) -> &'static str {
        match self {
            Self::Entries => "entries",
            Self::Facts => "facts",
        }
    }

    fn stock(self, shelf: &PgPartition) -> PartitionStats {
        match self {
            Self::Entries => shelf.entries,
            Self::Facts => shelf.facts,
        }
    }

    fn newest_drawer(self, shelf: &PgPartition) -> i64 {
        let ever = match self {
            Self::Entries => shelf.entries_ever,
            Self::Facts => shelf.facts_ever,
        };
        (ever - 1).max(0) / ROWS_PER_SEGMENT
    }

    /// The lists of each term on each shelf.
    pub(super) async fn lists(
        self,
        lease: &PgLease,
        shelves: &[PgPartition],
        query: &MemoryQuery,
    ) -> Result<PostingLists, MemoryError> {
        let mut lists = PostingLists::new(query.terms.len());
        shelves.iter().for_each(|shelf| lists.add_partition(self.stock(shelf)));
        let mut cut: Vec<HashSet<usize>> = vec![HashSet::new(); shelves.len()];
        for (shelf, word, newest) in self.heads(lease, shelves, query).await? {
            let term = word % query.terms.len();
            if word == term && newest.len() >= NEWEST {
                cut[shelf].insert(term);
            }
            lists.add(term, newest, self.stock(&shelves[shelf]));
        }
        for (shelf, cut) in shelves.iter().zip(cut) {
            // Where the list of one term is whole, whatever has all words is in it.
            if query.terms.len() > 1 && cut.len() == query.terms.len() {
                lists.with_all(self.with_all(lease, shelf, query).await?);
            }
        }
        Ok(lists)
    }

    /// The terms, as words that are looked for.
    fn hashes(self, query: &MemoryQuery) -> Vec<i64> {
        match self {
            Self::Entries => both_hashes(query),
            Self::Facts => hashes(query),
        }
    }

    /// The newest with each word on each shelf, by the places of both.
    async fn heads(
        self,
        lease: &PgLease,
        shelves: &[PgPartition],
        query: &MemoryQuery,
    ) -> Result<Vec<(usize, usize, Vec<u64>)>, MemoryError> {
        let select = format!(
            "SELECT s.place, t.place, ARRAY(
                 SELECT h.id FROM generate_series(s.newest, 0, -1) AS drawer
                 CROSS JOIN LATERAL (
                     SELECT id FROM {table} WHERE words @> ARRAY[{key}]
                     ORDER BY id + 0 DESC LIMIT t.most
                 ) h LIMIT t.most)
             FROM unnest($1::integer[], $2::bigint[]) WITH ORDINALITY AS s (id, newest, place),
                  unnest($3::bigint[], $4::bigint[]) WITH ORDINALITY AS t (word, most, place)",
            table = self.table(),
            key = KEY,
        );
        let ids: Vec<i32> = shelves.iter().map(|shelf| shelf.id).collect();
        let newest: Vec<i64> = shelves.iter().map(|shelf| self.newest_drawer(shelf)).collect();
        let words = self.hashes(query);
        let most =
            |word: usize| size(if word < query.terms.len() { NEWEST } else { MAX_SPEAKER_ENTRIES });
        let most: Vec<i64> = (0..words.len()).map(most).collect();
        let rows = lease.rows(&select, &[&ids, &newest, &words, &most]).await?;
        let mut heads = Vec::with_capacity(rows.len());
        for row in &rows {
            let mut columns = PgColumns::of(row);
            heads.push((place(&mut columns)?, place(&mut columns)?, columns.numbers()?));
        }
        Ok(heads)
    }

    /// The newest on a shelf that have every word of the query.
    async fn with_all(
        self,
        lease: &PgLease,
        shelf: &PgPartition,
        query: &MemoryQuery,
    ) -> Result<Vec<u64>, MemoryError> {
        let select = format!(
            "SELECT ARRAY(
                 SELECT h.id FROM generate_series($2::bigint, $3, -1) AS drawer
                 CROSS JOIN LATERAL (
                     SELECT id FROM {table}
                     WHERE words @> ARRAY(SELECT {key} FROM unnest($4::bigint[]) AS t (word))
                     ORDER BY id + 0 DESC LIMIT $5
                 ) h LIMIT $5)
             FROM (SELECT $1::integer AS id) AS s",
            table = self.table(),
            key = KEY,
        );
        let newest = self.newest_drawer(shelf);
        let oldest = (newest - SEGMENTS_WITH_ALL_TERMS + 1).max(0);
        let words = hashes(query);
        let values: [super::pool::SqlParam<'_>; 5] =
            [&shelf.id, &newest, &oldest, &words, &MOST_WITH_ALL];
        match lease.row(&select, &values).await? {
            Some(row) => PgColumns::of(&row).numbers(),
            None => Ok(Vec::new()),
        }
    }
}

/// The word of a shelf's drawer, as [`key`] makes it.
const KEY: &str = "(s.id::bigint << 44) | ((drawer % 65536) << 28) | t.word";

/// The newest entries of a session with each term, by its place.
pub(super) async fn in_session(
    lease: &PgLease,
    shelf: &PgPartition,
    query: &MemoryQuery,
    inside: SearchedSession,
) -> Result<Vec<(usize, Vec<u64>)>, MemoryError> {
    // Most are short enough to be read; in a long one, much of what has a word belongs to it.
    let (select, last) = if inside.entries <= READ_IN_SESSION {
        (READ_ONE_SESSION, READ_IN_SESSION)
    } else {
        (SEARCH_ONE_SESSION, PgTextIndex::Entries.newest_drawer(shelf))
    };
    let (words, most) = (both_hashes(query), size(NEWEST));
    let values: [super::pool::SqlParam<'_>; 5] = [&inside.session, &words, &most, &last, &shelf.id];
    let mut lists = Vec::new();
    for row in lease.rows(select, &values).await? {
        let mut columns = PgColumns::of(&row);
        let (word, mut newest) = (place(&mut columns)?, columns.numbers()?);
        if word >= query.terms.len() {
            newest.truncate(MAX_SPEAKER_ENTRIES);
        }
        lists.push((word % query.terms.len(), newest));
    }
    Ok(lists)
}

const READ_ONE_SESSION: &str = "
    SELECT t.place, (array_agg(e.id ORDER BY e.id DESC))[1:($3::bigint)::integer]
    FROM (
        SELECT id, words FROM entries WHERE session = $1 AND $5::integer > 0
        ORDER BY id DESC LIMIT $4
    ) e
    CROSS JOIN LATERAL unnest(e.words) AS had (word)
    JOIN unnest($2::bigint[]) WITH ORDINALITY AS t (word, place) ON t.word = had.word & 268435455
    GROUP BY t.place";

const SEARCH_ONE_SESSION: &str = "
    SELECT t.place, ARRAY(
        SELECT h.id FROM generate_series($4::bigint, 0, -1) AS drawer
        CROSS JOIN LATERAL (
            SELECT id FROM entries
            WHERE words @> ARRAY[($5::integer::bigint << 44) | ((drawer % 65536) << 28) | t.word]
                AND session = $1
            ORDER BY id + 0 DESC LIMIT $3
        ) h LIMIT $3)
    FROM unnest($2::bigint[]) WITH ORDINALITY AS t (word, place)";

/// Places count from one.
fn place(columns: &mut PgColumns<'_>) -> Result<usize, MemoryError> {
    let place: i64 = columns.value()?;
    Ok(usize::try_from(place - 1).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::{WORD_MASK, hash, key, words};

    #[test]
    fn words_are_kept_as_they_always_were() {
        assert_eq!((hash(""), hash("dragon")), (265_338_817, 208_511_740));
        let terms = ["dragon".to_owned()];
        let first = (1 << 44) + 208_511_740_i64;
        assert_eq!(words(1, 0, &terms), format!("{{{first}}}"));
        assert_eq!(words(1, 8_192, &terms), format!("{{{}}}", first + (1 << 28)));
        assert_eq!(words(1, 0, &[]), "{}");
    }

    #[test]
    fn shelves_drawers_and_words_do_not_meet() {
        assert_eq!(key(3, 5, WORD_MASK) & WORD_MASK, WORD_MASK);
        assert_ne!(key(3, 5, 1), key(3, 6, 1));
        assert_ne!(key(3, 65_535, 1), key(4, 0, 1));
        assert_eq!(key(3, 65_536, 1), key(3, 0, 1), "after very many, the first again");
    }
}
