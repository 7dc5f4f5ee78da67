//! Spelling suggestions for unknown names: "did you mean …". The edit distance counts a swap of two
//! neighbours as one.
//!
//! There can be ten thousand known names, and a caller chooses the unknown one: the comparison has
//! to be cheap, and to stop once the distance exceeds a limit. `strsim` does neither.

use rapidfuzz::distance::osa;

/// Up to three of `known` that `wanted` may have meant, nearest first.
pub fn nearest<'k>(requested: &str, known: impl IntoIterator<Item = &'k str>) -> Vec<&'k str> {
    const MAX_SUGGESTIONS: usize = 3;
    let requested = fold(requested);
    let letters = requested.chars().count();
    if !(1..=256).contains(&letters) {
        return Vec::new();
    }
    let limit = osa::Args::default().score_cutoff(letters.div_ceil(3).clamp(1, 8));
    let comparator = osa::BatchComparator::new(requested.chars());
    let distance = |name: &str| {
        let name = fold(name);
        distance_by_prefix(&requested, &name)
            .or_else(|| comparator.distance_with_args(name.chars(), &limit))
    };
    let mut near: Vec<(usize, &str)> =
        known.into_iter().filter_map(|name| Some((distance(name)?, name))).collect();
    near.sort_unstable();
    near.dedup();
    near.into_iter().take(MAX_SUGGESTIONS).map(|(_, name)| name).collect()
}

/// The words of `known` with the smallest edit distance to `wanted`; usually one.
pub fn alike<'k>(requested: &str, known: impl IntoIterator<Item = &'k str>) -> Vec<&'k str> {
    const MIN_WORD_CHARS: usize = 3;
    let letters = requested.chars().count();
    if !(MIN_WORD_CHARS..=64).contains(&letters) {
        return Vec::new();
    }
    let comparator = osa::BatchComparator::new(requested.chars());
    let mut limit = letters.div_ceil(4).min(3);
    let mut alike: Vec<&str> = Vec::new();
    for word in known {
        let cutoff = osa::Args::default().score_cutoff(limit);
        let Some(far) = comparator.distance_with_args(word.chars(), &cutoff) else { continue };
        if far < limit {
            alike.clear();
            limit = far;
        }
        alike.push(word);
    }
    alike.sort_unstable();
    alike
}

/// Ignores case and separators, which models get wrong most often.
fn fold(name: &str) -> String {
    name.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

/// For a name that lacks its server's prefix, or has one too many.
fn distance_by_prefix(requested: &str, name: &str) -> Option<usize> {
    let (short, long) =
        if requested.len() < name.len() { (requested, name) } else { (name, requested) };
    let is_part = short.chars().count() >= 3 && (long.ends_with(short) || long.starts_with(short));
    is_part.then(|| usize::from(short.len() != long.len()))
}

#[cfg(test)]
mod tests {
    use super::{alike, nearest};

    #[test]
    fn typos_case_and_prefixes_find_the_name_that_was_meant() {
        let known = ["dice_roll", "dice_roll_table", "world_search", "memory_write"];
        for (requested, expected) in [
            ("dice_rol", "dice_roll"),
            ("DiceRoll", "dice_roll"),
            ("dice-roll", "dice_roll"),
            ("roll", "dice_roll"),
            ("wrld_serch", "world_search"),
            ("wrold_saerhc", "world_search"),
            ("mcp_memory_write", "memory_write"),
        ] {
            assert_eq!(nearest(requested, known).first(), Some(&expected), "{requested}");
        }
        assert!(nearest("send_email", known).is_empty());
        assert!(nearest("", known).is_empty());
        assert!(nearest(&"x".repeat(10_000), known).is_empty());
        assert_eq!(nearest("dice", ["dice_a", "dice_b", "dice_c", "dice_d"]).len(), 3);
    }

    #[test]
    fn mistyped_words_are_taken_for_those_most_like_them() {
        let known = ["fireball", "firebolt", "invisible", "prone", "drone", "cat"];
        for (requested, expected) in [
            ("firebal", &["fireball"][..]),
            ("firebolt", &["firebolt"]),
            ("invisable", &["invisible"]),
            ("rone", &["drone", "prone"]),
            ("prnoe", &["prone"]),
            ("elephant", &[]),
            ("ca", &[]),
            ("", &[]),
        ] {
            assert_eq!(alike(requested, known), expected, "{requested}");
        }
        assert!(alike(&"x".repeat(10_000), known).is_empty());
    }
}
