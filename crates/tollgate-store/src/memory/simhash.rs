//! SimHash: short binary sketches of vectors, held in memory.
//!
//! Sketches select candidates for near neighbours; the vectors themselves give the exact
//! similarity. Pure, and shared by databases without a vector index.

use std::collections::{HashMap, HashSet};

/// One bit per hyperplane: the side on which the vector lies. The Hamming distance of two sketches
/// is about proportional to the angle between the vectors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct SimHash([u64; WORDS]);

/// All sketches of one model.
#[derive(Debug, Default)]
pub(super) struct SimHashIndex {
    shelves: HashMap<i64, SimHashPartition>,
    last: u64,
}

/// Stored contiguously, in insertion order.
#[derive(Debug, Default)]
struct SimHashPartition {
    vectors: Vec<u64>,
    sketches: Vec<SimHash>,
}

const WORDS: usize = 8;
const BITS: usize = 64 * WORDS;

impl SimHash {
    /// Stored in files: must give the same sketch in every version.
    pub(super) fn of(vector: &[f32]) -> Self {
        let width = vector.len().next_power_of_two();
        let mut bits = Self([0; WORDS]);
        let mut at = 0;
        for round in 0_u64.. {
            let mut turned = vec![0.0; width];
            turned[..vector.len()].copy_from_slice(vector);
            turn(&mut turned, 2 * round);
            turn(&mut turned, 2 * round + 1);
            for side in turned {
                if at == BITS {
                    return bits;
                }
                bits.0[at / 64] |= u64::from(side > 0.0) << (at % 64);
                at += 1;
            }
        }
        bits
    }

    pub(super) fn bytes(self) -> [u8; BITS / 8] {
        let mut bytes = [0; BITS / 8];
        for (word, place) in self.0.iter().zip(bytes.chunks_exact_mut(8)) {
            place.copy_from_slice(&word.to_le_bytes());
        }
        bytes
    }

    /// `None` if the length is wrong.
    pub(super) fn read(bytes: &[u8]) -> Option<Self> {
        let (words, rest) = bytes.as_chunks::<8>();
        let words: [[u8; 8]; WORDS] = words.try_into().ok().filter(|_| rest.is_empty())?;
        Some(Self(words.map(u64::from_le_bytes)))
    }

    fn away(&self, other: &Self) -> usize {
        let bits = self.0.iter().zip(&other.0).map(|(one, two)| (one ^ two).count_ones());
        usize::try_from(bits.sum::<u32>()).unwrap_or(BITS)
    }
}

impl SimHashIndex {
    pub(super) fn add(&mut self, vector: u64, partition: i64, sketch: SimHash) {
        let partition = self.shelves.entry(partition).or_default();
        partition.vectors.push(vector);
        partition.sketches.push(sketch);
        self.last = self.last.max(vector);
    }

    /// The highest vector id ever added: loading continues after it.
    pub(super) fn last(&self) -> u64 {
        self.last
    }

    /// Approximately the `most` nearest in these partitions, unordered.
    pub(super) fn nearest(&self, shelves: &[i64], to: &SimHash, most: usize) -> Vec<u64> {
        let shelves: Vec<&SimHashPartition> =
            shelves.iter().filter_map(|it| self.shelves.get(it)).collect();
        let mut counts = [0_usize; BITS + 1];
        let mut away = Vec::with_capacity(shelves.iter().map(|it| it.vectors.len()).sum());
        for sketch in shelves.iter().flat_map(|it| &it.sketches) {
            let distance = to.away(sketch);
            counts[distance] += 1;
            away.push(distance);
        }
        let (limit, mut room) = farthest(&counts, most);
        let vectors = shelves.iter().flat_map(|it| &it.vectors);
        let near = vectors.zip(away).filter(|(_, away)| {
            let is_last = *away == limit && room > 0;
            room -= usize::from(is_last);
            *away < limit || is_last
        });
        near.map(|(vector, _)| *vector).collect()
    }

    /// Removes deleted vectors.
    pub(super) fn remove(&mut self, gone: &HashSet<u64>) {
        for partition in self.shelves.values_mut() {
            let retained: Vec<bool> =
                partition.vectors.iter().map(|it| !gone.contains(it)).collect();
            let mut keep = retained.iter();
            partition.vectors.retain(|_| keep.next().copied().unwrap_or(true));
            let mut keep = retained.iter();
            partition.sketches.retain(|_| keep.next().copied().unwrap_or(true));
        }
    }
}

/// The distance of the last of the `most` nearest, and how many at that distance are among them.
fn farthest(counts: &[usize], most: usize) -> (usize, usize) {
    let mut room = most;
    for (distance, count) in counts.iter().enumerate() {
        if *count >= room {
            return (distance, room);
        }
        room -= count;
    }
    (BITS, room)
}

/// Random sign flips followed by a Walsh-Hadamard transform: afterwards each number depends on the
/// whole vector.
fn turn(numbers: &mut [f32], seed: u64) {
    let mut state = seed;
    for block in numbers.chunks_mut(64) {
        let signs = splitmix64(&mut state);
        for (at, number) in block.iter_mut().enumerate() {
            if signs >> at & 1 == 1 {
                *number = -*number;
            }
        }
    }
    let mut width = 1;
    while width < numbers.len() {
        for pair in numbers.chunks_exact_mut(2 * width) {
            let (left, right) = pair.split_at_mut(width);
            for (one, two) in left.iter_mut().zip(right) {
                (*one, *two) = (*one + *two, *one - *two);
            }
        }
        width *= 2;
    }
}

/// SplitMix64: fixed pseudorandom bits, which must never change.
fn splitmix64(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut bits = *state;
    bits = (bits ^ bits >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ bits >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ bits >> 31
}

/// Cosine similarity of two vectors of length 1; `None` for different dimensions.
pub(super) fn cosine(one: &[f32], two: &[f32]) -> Option<f32> {
    (one.len() == two.len()).then(|| one.iter().zip(two).map(|(one, two)| one * two).sum())
}

/// Normalized to length 1; `None` for the zero vector, and if it contains NaN or infinity.
pub(super) fn unit(vector: &[f32]) -> Option<Vec<f32>> {
    let length = vector.iter().map(|it| f64::from(*it).powi(2)).sum::<f64>().sqrt();
    #[expect(clippy::cast_possible_truncation, reason = "as exact as the numbers are")]
    let of = |it: &f32| (f64::from(*it) / length) as f32;
    (length.is_finite() && length > 0.0).then(|| vector.iter().map(of).collect())
}

#[cfg(test)]
mod tests;
