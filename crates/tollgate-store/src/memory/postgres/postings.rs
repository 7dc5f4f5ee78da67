//! Inverted index (posting lists) of the memory in PostgreSQL.
//!
//! A term is a number made of the partition, one of its segments (called `drawer` in SQL) and the
//! hash of the word. A segment holds some thousand consecutive rows of a partition: searching from
//! the newest segment back finds the newest rows with a word without reading the others. No query
//! text reaches the database.

use std::collections::HashSet;

use tollgate_core::memory::MemoryQuery;

use super::partitions::PgPartition;
use super::pool::PgLease;
use super::rows::PgColumns;
use crate::memory::MemoryError;
use crate::memory::candidates::{MAX_CANDIDATES, NEWEST, PartitionStats, PostingLists};
use crate::number::size;

/// Rows per segment. More make common words slower, fewer make rare ones slower.
const ROWS_PER_SEGMENT: i64 = 1 << 13;
const MAX_SEGMENTS: i64 = 1 << 16;
const BITS_OF_WORD: u32 = 28;
const WORD_MASK: i64 = (1 << BITS_OF_WORD) - 1;
const SEGMENT_BITS: u32 = 16;

/// Maximum length read of a speaker's list, which leaves room for texts about the speaker.
const MAX_SPEAKER_ENTRIES: usize = MAX_CANDIDATES / 2;
/// Maximum segments searched for rows with all of several common words.
const SEGMENTS_WITH_ALL_TERMS: i64 = 16;
/// Maximum rows with all words of a query.
const MAX_ROWS_WITH_ALL_WORDS: i64 = 200;
/// Newest entries read when a session is searched.
const READ_IN_SESSION: i64 = 8_192;

/// An index searched from the newest row back.
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

/// The index terms of a row; `ordinal` is the number of rows before it.
pub(super) fn words(partition: i32, ordinal: i64, terms: &[String]) -> String {
    let segment = ordinal / ROWS_PER_SEGMENT;
    let words: Vec<String> =
        terms.iter().map(|term| key(partition, segment, hash(term)).to_string()).collect();
    format!("{{{}}}", words.join(","))
}

/// Index terms without segments, for small tables.
pub(super) fn plain_words(partition: i32, terms: &[String]) -> Vec<i64> {
    terms.iter().map(|term| key(partition, 0, hash(term))).collect()
}

fn key(partition: i32, segment: i64, word: i64) -> i64 {
    let place = (i64::from(partition) << SEGMENT_BITS) | (segment % MAX_SEGMENTS);
    (place << BITS_OF_WORD) | word
}

/// FNV-1a, truncated. Collisions give more candidates to rank, not wrong hits. Stored in databases:
/// must never change.
fn hash(term: &str) -> i64 {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for byte in term.bytes() {
        hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    }
    let folded = hash ^ (hash >> 32);
    i64::try_from(folded & WORD_MASK.unsigned_abs()).unwrap_or_default()
}

/// Speakers have their own terms: a frequent speaker would otherwise hide texts about them.
pub(super) fn speaker_term(term: &str) -> String {
    format!("{term}\0says")
}

fn hashes(query: &MemoryQuery) -> Vec<i64> {
    query.terms.iter().map(|term| hash(term)).collect()
}

/// The terms as words of texts, and then as words of speakers.
fn both_hashes(query: &MemoryQuery) -> Vec<i64> {
    let speakers = query.terms.iter().map(|term| hash(&speaker_term(term)));
    hashes(query).into_iter().chain(speakers).collect()
}

/// The newest rows with one word in one partition, both by index.
struct PostingHead {
    partition: usize,
    word: usize,
    newest: Vec<u64>,
}

impl PgTextIndex {
    fn table(self) -> &'static str {
        match self {
            Self::Entries => "entries",
            Self::Facts => "facts",
        }
    }

    fn stats(self, partition: &PgPartition) -> PartitionStats {
        match self {
            Self::Entries => partition.entries,
            Self::Facts => partition.facts,
        }
    }

    fn newest_segment(self, partition: &PgPartition) -> i64 {
        let ever = match self {
            Self::Entries => partition.entries_ever,
            Self::Facts => partition.facts_ever,
        };
        (ever - 1).max(0) / ROWS_PER_SEGMENT
    }

    /// The lists of each term in each partition.
    pub(super) async fn lists(
        self,
        lease: &PgLease,
        shelves: &[PgPartition],
        query: &MemoryQuery,
    ) -> Result<PostingLists, MemoryError> {
        let mut lists = PostingLists::new(query.terms.len());
        shelves.iter().for_each(|partition| lists.add_partition(self.stats(partition)));
        let mut cut: Vec<HashSet<usize>> = vec![HashSet::new(); shelves.len()];
        for PostingHead { partition, word, newest } in self.heads(lease, shelves, query).await? {
            let term = word % query.terms.len();
            if word == term && newest.len() >= NEWEST {
                cut[partition].insert(term);
            }
            lists.add(term, newest, self.stats(&shelves[partition]));
        }
        for (partition, cut) in shelves.iter().zip(cut) {
            // If one list is complete, it contains every row with all words.
            if query.terms.len() > 1 && cut.len() == query.terms.len() {
                lists.with_all(self.with_all(lease, partition, query).await?);
            }
        }
        Ok(lists)
    }

    /// The hashes of the terms.
    fn hashes(self, query: &MemoryQuery) -> Vec<i64> {
        match self {
            Self::Entries => both_hashes(query),
            Self::Facts => hashes(query),
        }
    }

    /// The newest rows with each word in each partition.
    async fn heads(
        self,
        lease: &PgLease,
        shelves: &[PgPartition],
        query: &MemoryQuery,
    ) -> Result<Vec<PostingHead>, MemoryError> {
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
        let ids: Vec<i32> = shelves.iter().map(|partition| partition.id).collect();
        let newest: Vec<i64> =
            shelves.iter().map(|partition| self.newest_segment(partition)).collect();
        let words = self.hashes(query);
        let most =
            |word: usize| size(if word < query.terms.len() { NEWEST } else { MAX_SPEAKER_ENTRIES });
        let most: Vec<i64> = (0..words.len()).map(most).collect();
        let rows = lease.rows(&select, &[&ids, &newest, &words, &most]).await?;
        let mut heads = Vec::with_capacity(rows.len());
        for row in &rows {
            let mut columns = PgColumns::of(row);
            heads.push(PostingHead {
                partition: place(&mut columns)?,
                word: place(&mut columns)?,
                newest: columns.numbers()?,
            });
        }
        Ok(heads)
    }

    /// The newest rows of a partition with every word of the query.
    async fn with_all(
        self,
        lease: &PgLease,
        partition: &PgPartition,
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
        let newest = self.newest_segment(partition);
        let oldest = (newest - SEGMENTS_WITH_ALL_TERMS + 1).max(0);
        let words = hashes(query);
        let values: [super::pool::SqlParam<'_>; 5] =
            [&partition.id, &newest, &oldest, &words, &MAX_ROWS_WITH_ALL_WORDS];
        match lease.row(&select, &values).await? {
            Some(row) => PgColumns::of(&row).numbers(),
            None => Ok(Vec::new()),
        }
    }
}

/// The term of a partition's segment, as [`key`] computes it.
const KEY: &str = "(s.id::bigint << 44) | ((drawer % 65536) << 28) | t.word";

/// The newest entries of a session with each term, by its index.
pub(super) async fn in_session(
    lease: &PgLease,
    partition: &PgPartition,
    query: &MemoryQuery,
    inside: SearchedSession,
) -> Result<Vec<(usize, Vec<u64>)>, MemoryError> {
    // Most sessions are short enough to be read; in a long one, many rows with a word belong to it.
    let (select, last) = if inside.entries <= READ_IN_SESSION {
        (READ_ONE_SESSION, READ_IN_SESSION)
    } else {
        (SEARCH_ONE_SESSION, PgTextIndex::Entries.newest_segment(partition))
    };
    let words = both_hashes(query);
    let most = size(NEWEST);
    let values: [super::pool::SqlParam<'_>; 5] =
        [&inside.session, &words, &most, &last, &partition.id];
    let mut lists = Vec::new();
    for row in lease.rows(select, &values).await? {
        let mut columns = PgColumns::of(&row);
        let word = place(&mut columns)?;
        let mut newest = columns.numbers()?;
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

/// Indices are 1-based in SQL.
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
