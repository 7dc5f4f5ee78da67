use super::*;

/// Some vector of length 1, always the same one for a seed.
fn vector(seed: u64, dimensions: usize) -> Vec<f32> {
    let mut state = seed.wrapping_mul(0x1234_5678_9abc_def1);
    let mut number = || {
        // The sum of a few evenly spread ones is about normal.
        (0..4).map(|_| (splitmix64(&mut state) >> 40) as f32 / (1 << 24) as f32 - 0.5).sum::<f32>()
    };
    unit(&(0..dimensions).map(|_| number()).collect::<Vec<_>>()).unwrap()
}

/// Between two, nearer to the first the smaller `by` is.
fn moved(one: &[f32], two: &[f32], by: f32) -> Vec<f32> {
    let sum: Vec<f32> = one.iter().zip(two).map(|(one, two)| one + by * two).collect();
    unit(&sum).unwrap()
}

#[test]
fn bits_differ_by_the_angle() {
    for dimensions in [64, 256, 384, 1_000, 1_536] {
        let one = vector(1, dimensions);
        let mut before = 0;
        for by in [0.0, 0.2, 0.6, 1.5, 5.0] {
            let other = moved(&one, &vector(2, dimensions), by);
            let away = SimHash::of(&one).away(&SimHash::of(&other));
            assert!(by == 0.0 || away > before, "{dimensions} {by}: {away} after {before}");
            before = away;
        }
        let opposite: Vec<f32> = one.iter().map(|it| -it).collect();
        assert!(SimHash::of(&one).away(&SimHash::of(&opposite)) > BITS - 8, "{dimensions}");
    }
}

#[test]
fn sketches_stay_the_same_and_can_be_kept() {
    let sketch = SimHash::of(&[0.6, 0.0, -0.8]);
    assert_eq!(SimHash::read(&sketch.bytes()), Some(sketch));
    assert_eq!(SimHash::read(&sketch.bytes()[1..]), None);
    assert_eq!(SimHash::read(&[0; 65]), None);
    let hex: String = sketch.bytes()[..8].iter().map(|it| format!("{it:02x}")).collect();
    assert_eq!(hex, "14d2e705848220a5");
}

#[test]
fn the_nearest_are_among_what_is_found() {
    let mut sketches = SimHashIndex::default();
    let requested = vector(7, 256);
    let near = 400;
    let vectors: Vec<Vec<f32>> = (0..5_000)
        .map(|seed| match seed % 250 {
            0 => moved(&requested, &vector(seed + 100, 256), 1.0),
            _ => vector(seed + 100, 256),
        })
        .collect();
    for (at, vector) in (1..).zip(&vectors) {
        sketches.add(at, 1, SimHash::of(vector));
    }
    let found = sketches.nearest(&[1], &SimHash::of(&requested), near);
    for (at, vector) in (1..).zip(&vectors) {
        let is_near = cosine(vector, &requested).unwrap() > 0.6;
        assert!(!is_near || found.contains(&at), "{at}");
    }
    assert!(found.len() <= near);
    assert_eq!(sketches.last(), 5_000);
}

#[test]
fn other_shelves_and_what_is_gone_are_never_found() {
    let mut sketches = SimHashIndex::default();
    let sketch = SimHash::of(&vector(1, 64));
    for vector in 1..=6 {
        sketches.add(vector, if vector % 2 == 0 { 2 } else { 1 }, sketch);
    }
    assert_eq!(sketches.nearest(&[1], &sketch, 10), [1, 3, 5]);
    sketches.remove(&HashSet::from([3, 4]));
    assert_eq!(sketches.nearest(&[1], &sketch, 10), [1, 5]);
    assert_eq!(sketches.nearest(&[2, 1], &sketch, 10), [2, 6, 1, 5]);
    assert_eq!(sketches.nearest(&[3], &sketch, 10), [0_u64; 0]);
    assert_eq!(sketches.nearest(&[1, 2], &sketch, 1), [1]);
    assert_eq!(sketches.last(), 6);
}

#[test]
fn vectors_without_a_direction_are_none() {
    for bad in [&[0.0, 0.0][..], &[f32::NAN, 1.0], &[f32::INFINITY, 1.0], &[]] {
        assert_eq!(unit(bad), None, "{bad:?}");
    }
    assert_eq!(unit(&[3.0, -4.0]), Some(vec![0.6, -0.8]));
    assert_eq!(cosine(&[1.0], &[1.0, 0.0]), None);
}
