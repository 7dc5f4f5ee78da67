use async_trait::async_trait;
use parking_lot::Mutex;

use super::{
    EmbedError, Embedder, Embedding, EmbeddingPurpose, EmbeddingVectorError, embed_passages,
};

/// Refuses texts with `bad` in them, and is away for those with `away`.
struct Picky {
    requests: Mutex<Vec<usize>>,
}

#[async_trait]
impl Embedder for Picky {
    fn model(&self) -> &str {
        "picky"
    }

    async fn embed(
        &self,
        texts: &[String],
        _purpose: EmbeddingPurpose,
    ) -> Result<Vec<Embedding>, EmbedError> {
        self.requests.lock().push(texts.len());
        let has = |word: &str| texts.iter().any(|text| text.contains(word));
        match () {
            () if has("away") => Err(EmbedError::away("gone")),
            () if has("bad") => Err(EmbedError::Refused("no".to_owned())),
            () if has("odd") => Err(EmbedError::Unusable("what".to_owned())),
            () => {
                let made = texts.iter().map(|text| Embedding::of(vec![text.len() as f32, 0.0]));
                Ok(made.map(|made| made.unwrap()).collect())
            }
        }
    }
}

async fn passages(texts: &[&str]) -> (Result<String, EmbedError>, Vec<usize>) {
    let embedder = Picky { requests: Mutex::default() };
    let texts: Vec<String> = texts.iter().map(|text| (*text).to_owned()).collect();
    let made = embed_passages(&embedder, &texts).await;
    let nowhere = Embedding::nowhere(2);
    let shown = |it: &Embedding| if *it == nowhere { '-' } else { 'x' };
    (made.map(|made| made.iter().map(shown).collect()), embedder.requests.into_inner())
}

#[tokio::test]
async fn a_passage_that_is_refused_does_not_hold_up_the_others() {
    let well = |shown: &str| Ok(shown.to_owned());
    assert_eq!(passages(&[]).await, (well(""), vec![0]));
    assert_eq!(passages(&["a", "b"]).await, (well("xx"), vec![2]));
    let (made, requests) = passages(&["a", "bad", "c", "d", "e", "odd"]).await;
    assert_eq!((made, requests), (well("x-xxx-"), vec![6, 1, 3, 1, 2, 1, 1, 3, 1, 2, 1, 1]));
    assert_eq!(passages(&["bad"]).await.0, well("-"));
}

#[tokio::test]
async fn nothing_is_made_up_for_a_model_that_is_away() {
    assert_eq!(passages(&["a", "away"]).await, (Err(EmbedError::away("gone")), vec![2]));
    let (made, _) = passages(&["bad", "away"]).await;
    assert_eq!(made, Err(EmbedError::away("gone")));
}

fn check(numbers: &[f32], expected: Result<&[f32], EmbeddingVectorError>) {
    let made = Embedding::of(numbers.to_vec());
    match (&made, expected) {
        (Ok(made), Ok(expected)) => {
            let close = |(one, two): (&f32, &f32)| (one - two).abs() < 1e-6;
            assert_eq!(made.dimensions(), expected.len(), "{numbers:?}");
            assert!(made.numbers().iter().zip(expected).all(close), "{numbers:?} gave {made:?}");
        }
        (made, expected) => {
            assert_eq!(made.as_ref().map(Embedding::numbers), expected.as_ref().map(|it| *it));
        }
    }
}

#[test]
fn whatever_a_model_gives_is_brought_to_length_one() {
    check(&[3.0, 4.0], Ok(&[0.6, 0.8]));
    check(&[-0.001, 0.0], Ok(&[-1.0, 0.0]));
    check(&[f32::MAX, f32::MAX], Ok(&[0.707_106_77, 0.707_106_77]));
    check(&[f32::MIN_POSITIVE, 0.0], Ok(&[1.0, 0.0]));
}

#[test]
fn numbers_that_point_nowhere_are_refused() {
    check(&[], Err(EmbeddingVectorError::Empty));
    check(&[0.0, -0.0], Err(EmbeddingVectorError::Zero));
    check(&[1.0, f32::NAN], Err(EmbeddingVectorError::NotFinite));
    check(&[f32::INFINITY, 1.0], Err(EmbeddingVectorError::NotFinite));
}

#[test]
fn nearness_is_the_cosine() {
    let of = |numbers: [f32; 2]| Embedding::of(numbers.to_vec()).unwrap();
    assert!((of([2.0, 0.0]).nearness(&of([5.0, 0.0])) - 1.0).abs() < 1e-6);
    assert!(of([2.0, 0.0]).nearness(&of([0.0, 5.0])).abs() < 1e-6);
    assert!((Embedding::nowhere(4).nearness(&Embedding::nowhere(4)) - 1.0).abs() < 1e-6);
}
