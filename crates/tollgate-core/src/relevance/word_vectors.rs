//! Static word embeddings: a table from stems to vectors, a part of the program. Words of similar
//! meaning have vectors of similar direction.
//!
//! The table is read where it lies: looking up a word needs no memory and no preparation. It was
//! made by `scripts/word_vectors.py`.

use std::sync::LazyLock;

pub(super) const DIMENSIONS: usize = 96;

static BYTES: &[u8] = include_bytes!("word_vectors.bin");
static TABLE: LazyLock<WordTable> = LazyLock::new(|| WordTable::read(BYTES));

/// A direction in the space of meanings.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct MeaningVector {
    numbers: [i8; DIMENSIONS],
    length: f32,
}

/// A word of the table.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct WordVector {
    pub(super) vector: MeaningVector,
    importance: u8,
}

/// A weighted sum of vectors. In whole numbers, so that the order of addition does not matter.
#[derive(Debug, Clone)]
pub(super) struct VectorSum {
    numbers: Box<[i64; DIMENSIONS]>,
}

impl WordVector {
    /// Between 0 and 1: frequent words say little.
    pub(super) fn importance(&self) -> f32 {
        f32::from(self.importance) / f32::from(u8::MAX)
    }
}

struct WordTable {
    /// End of each word in `words`, in 32 bits, after one zero.
    offsets: &'static [u8],
    importance: &'static [u8],
    /// Sorted, one after the other.
    words: &'static [u8],
    numbers: &'static [u8],
}

/// The vector of a stem, if it is a frequent English word.
pub(super) fn find(stem: &str) -> Option<WordVector> {
    let place = TABLE.place(stem)?;
    let bytes = &TABLE.numbers[place * DIMENSIONS..][..DIMENSIONS];
    let mut numbers = [0; DIMENSIONS];
    for (number, byte) in numbers.iter_mut().zip(bytes) {
        *number = i8::from_le_bytes([*byte]);
    }
    Some(WordVector { vector: MeaningVector::of(numbers), importance: TABLE.importance[place] })
}

impl WordTable {
    fn read(bytes: &'static [u8]) -> Self {
        let number = |at: usize| u32_at(bytes, at);
        assert_eq!(number(1), DIMENSIONS, "the table has vectors of this size");
        let (_, rest) = bytes.split_at(12);
        let (offsets, rest) = rest.split_at(4 * (number(0) + 1));
        let (importance, rest) = rest.split_at(number(0));
        let (words, numbers) = rest.split_at(number(2));
        Self { offsets, importance, words, numbers }
    }

    fn word(&self, place: usize) -> &'static [u8] {
        &self.words[u32_at(self.offsets, place)..u32_at(self.offsets, place + 1)]
    }

    fn place(&self, word: &str) -> Option<usize> {
        let mut low = 0;
        let mut high = self.importance.len();
        while low < high {
            let middle = low.midpoint(high);
            match self.word(middle).cmp(word.as_bytes()) {
                std::cmp::Ordering::Less => low = middle + 1,
                std::cmp::Ordering::Equal => return Some(middle),
                std::cmp::Ordering::Greater => high = middle,
            }
        }
        None
    }
}

/// The number at this index of a list of numbers in 32 bits.
fn u32_at(bytes: &[u8], at: usize) -> usize {
    let bytes = bytes[4 * at..].first_chunk().expect("the table is complete");
    u32::from_le_bytes(*bytes) as usize
}

impl MeaningVector {
    fn of(numbers: [i8; DIMENSIONS]) -> Self {
        let length = (dot(&numbers, &numbers) as f32).sqrt().max(1.0);
        Self { numbers, length }
    }

    /// Cosine similarity: 1 is the same direction.
    pub(super) fn nearness(&self, other: &Self) -> f32 {
        dot(&self.numbers, &other.numbers) as f32 / (self.length * other.length)
    }
}

fn dot(one: &[i8; DIMENSIONS], two: &[i8; DIMENSIONS]) -> i32 {
    one.iter().zip(two).map(|(one, two)| i32::from(*one) * i32::from(*two)).sum()
}

impl VectorSum {
    pub(super) fn zero() -> Self {
        Self { numbers: Box::new([0; DIMENSIONS]) }
    }

    /// Weights have a precision of 1/4096.
    pub(super) fn add(&mut self, vector: &MeaningVector, weight: f32) {
        let weight = (weight * 4096.0).round() as i64;
        for (sum, number) in self.numbers.iter_mut().zip(vector.numbers) {
            *sum = sum.saturating_add(weight.saturating_mul(i64::from(number)));
        }
    }

    /// Its direction; `None` if nothing was added.
    pub(super) fn direction(&self) -> Option<MeaningVector> {
        let largest = self.numbers.iter().map(|number| number.unsigned_abs()).max();
        let largest = largest.filter(|largest| *largest > 0)?;
        let scale = f64::from(i8::MAX) / largest as f64;
        let numbers = std::array::from_fn(|at| (self.numbers[at] as f64 * scale).round() as i8);
        Some(MeaningVector::of(numbers))
    }
}

#[cfg(test)]
mod tests {
    use super::{BYTES, DIMENSIONS, MeaningVector, TABLE, VectorSum, WordVector, find};
    use crate::relevance::words::words;

    fn vector_of(word: &str) -> Option<WordVector> {
        let mut stem = String::new();
        words(word, &mut |it| it.clone_into(&mut stem));
        find(&stem)
    }

    #[test]
    fn the_table_is_sorted_and_complete() {
        let count = TABLE.importance.len();
        assert!(count > 15_000, "{count}");
        assert_eq!(TABLE.numbers.len(), count * DIMENSIONS);
        assert!((1..count).all(|at| TABLE.word(at - 1) < TABLE.word(at)));
        let found = |at| find(std::str::from_utf8(TABLE.word(at)).unwrap()).unwrap();
        assert!((0..count).all(|at| found(at).vector.length > 20.0));
        assert!(BYTES.len() < 3 << 20, "a part of each binary: {}", BYTES.len());
    }

    /// The script that makes the table repeats the rules of the tokenizer.
    #[test]
    fn words_are_cut_as_in_the_table() {
        let forms = "invoices bodies boxes searching planned called removed translation create \
                     analysis status classes houses dishes meeting agreed selling families \
                     payment deletion editing stopped pressed buses menus wireless";
        for word in forms.split_whitespace() {
            assert!(vector_of(word).is_some(), "{word}");
        }
        assert_eq!(vector_of("xqzzt"), None);
        assert_eq!(find(""), None);
    }

    #[test]
    fn similar_words_are_near() {
        let nearness = |one: &str, two: &str| {
            vector_of(one).unwrap().vector.nearness(&vector_of(two).unwrap().vector)
        };
        for (word, near, far) in [
            ("parcel", "shipment", "weather"),
            ("bill", "invoice", "guitar"),
            ("colleague", "employee", "recipe"),
            ("song", "music", "contract"),
        ] {
            assert!(nearness(word, near) > nearness(word, far) + 0.2, "{word}");
        }
        assert!(
            vector_of("year").unwrap().importance() < vector_of("parcel").unwrap().importance()
        );
    }

    #[test]
    fn a_sum_has_a_direction_whatever_its_order_and_size() {
        let words = ["parcel", "letter", "courier"].map(|it| vector_of(it).unwrap().vector);
        let sum = |order: [usize; 3], weight: f32| {
            let mut sum = VectorSum::zero();
            for at in order {
                sum.add(&words[at], weight);
            }
            sum.direction().unwrap()
        };
        assert_eq!(sum([0, 1, 2], 1.0), sum([2, 0, 1], 1.0));
        let huge = sum([0, 1, 2], 1e10);
        assert!(huge.nearness(&sum([0, 1, 2], 1.0)) > 0.999);
        let _: MeaningVector = sum([0, 1, 2], f32::INFINITY);
        assert!(sum([0, 0, 0], 1.0).nearness(&words[0]) > 0.99);
        assert_eq!(VectorSum::zero().direction(), None);
    }
}
