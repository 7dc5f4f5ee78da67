//! Vectors as models give them to texts: in clusters, and within those spread in fewer directions
//! than there are numbers.

use super::random::SplitMix64;

pub(crate) const DIMENSIONS: usize = 256;
/// Passages of one cluster, and how many directions they are spread in.
const OF_A_TOPIC: usize = 200;
const DIRECTIONS: usize = 24;
/// How far: in each direction, in each number, and from a text to the question for it.
const SPREAD: f32 = 0.12;
const NOISE: f32 = 0.02;
const QUESTION_SPREAD: f32 = 0.012;

pub(crate) struct TopicEmbeddings {
    directions: Vec<Vec<f32>>,
}

impl TopicEmbeddings {
    pub(crate) fn new() -> Self {
        let directions =
            (0..DIRECTIONS).map(|at| unit(random_vector(&mut SplitMix64::new(&[11, at as u64]))));
        Self { directions: directions.collect() }
    }

    /// Of a passage, of so many.
    pub(crate) fn of(&self, passage: usize, all: usize) -> Vec<f32> {
        let mut random = SplitMix64::new(&[12, passage as u64]);
        let topic = random.below((all / OF_A_TOPIC).max(1));
        let mut vector = unit(random_vector(&mut SplitMix64::new(&[13, topic as u64])));
        for direction in &self.directions {
            let far = SPREAD * random.normal();
            add(&mut vector, direction, far);
        }
        add(&mut vector, &random_vector(&mut random), NOISE);
        unit(vector)
    }

    /// Of a question that such a passage answers.
    pub(crate) fn question_embedding(&self, passage: usize, all: usize) -> Vec<f32> {
        let mut vector = self.of(passage, all);
        add(
            &mut vector,
            &random_vector(&mut SplitMix64::new(&[14, passage as u64])),
            QUESTION_SPREAD,
        );
        unit(vector)
    }
}

/// The numbers of the nearest of `vectors`, which are `DIMENSIONS` numbers each, by an exact scan.
pub(crate) fn nearest(vectors: &[f32], to: &[f32], most: usize) -> Vec<usize> {
    let mut all: Vec<(f32, usize)> = vectors
        .chunks_exact(DIMENSIONS)
        .map(|vector| vector.iter().zip(to).map(|(one, two)| one * two).sum())
        .zip(0..)
        .collect();
    let most = most.min(all.len());
    if most < all.len() {
        all.select_nth_unstable_by(most, |one, two| two.0.total_cmp(&one.0));
    }
    all.truncate(most);
    all.into_iter().map(|(_, at)| at).collect()
}

fn random_vector(random: &mut SplitMix64) -> Vec<f32> {
    (0..DIMENSIONS).map(|_| random.normal()).collect()
}

fn add(vector: &mut [f32], more: &[f32], times: f32) {
    for (one, two) in vector.iter_mut().zip(more) {
        *one += times * two;
    }
}

fn unit(mut vector: Vec<f32>) -> Vec<f32> {
    let length = vector.iter().map(|it| it * it).sum::<f32>().sqrt();
    vector.iter_mut().for_each(|it| *it /= length);
    vector
}
