use super::{Directionless, Embedding};

fn check(numbers: &[f32], expected: Result<&[f32], Directionless>) {
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
    check(&[], Err(Directionless::Empty));
    check(&[0.0, -0.0], Err(Directionless::Zero));
    check(&[1.0, f32::NAN], Err(Directionless::NotFinite));
    check(&[f32::INFINITY, 1.0], Err(Directionless::NotFinite));
}

#[test]
fn nearness_is_the_cosine() {
    let of = |numbers: [f32; 2]| Embedding::of(numbers.to_vec()).unwrap();
    assert!((of([2.0, 0.0]).nearness(&of([5.0, 0.0])) - 1.0).abs() < 1e-6);
    assert!(of([2.0, 0.0]).nearness(&of([0.0, 5.0])).abs() < 1e-6);
    assert!((Embedding::nowhere(4).nearness(&Embedding::nowhere(4)) - 1.0).abs() < 1e-6);
}
