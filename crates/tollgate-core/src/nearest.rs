//! Spelling suggestions for unknown names: "did you mean …".

/// Up to three of `known` that `wanted` may have meant, nearest first.
pub fn nearest<'k>(wanted: &str, known: impl IntoIterator<Item = &'k str>) -> Vec<&'k str> {
    const MAX_SUGGESTIONS: usize = 3;
    let wanted = fold(wanted);
    if wanted.is_empty() || wanted.len() > 256 {
        return Vec::new();
    }
    let limit = wanted.len().div_ceil(3).clamp(1, 8);
    let mut near: Vec<(usize, &str)> = known
        .into_iter()
        .filter_map(|name| Some((distance_of_names(&wanted, &fold(name), limit)?, name)))
        .collect();
    near.sort_unstable();
    near.dedup();
    near.into_iter().take(MAX_SUGGESTIONS).map(|(_, name)| name).collect()
}

/// The words of `known` with the smallest edit distance to `wanted`; usually one.
pub fn alike<'k>(wanted: &str, known: impl IntoIterator<Item = &'k str>) -> Vec<&'k str> {
    const MIN_WORD_CHARS: usize = 3;
    let wanted: Vec<char> = wanted.chars().collect();
    if !(MIN_WORD_CHARS..=64).contains(&wanted.len()) {
        return Vec::new();
    }
    let mut limit = wanted.len().div_ceil(4).min(3);
    let mut alike: Vec<&str> = Vec::new();
    let mut letters = Vec::new();
    for word in known {
        letters.clear();
        letters.extend(word.chars());
        let Some(far) = distance(&wanted, &letters, limit) else { continue };
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
fn fold(name: &str) -> Vec<char> {
    name.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

fn distance_of_names(wanted: &[char], name: &[char], limit: usize) -> Option<usize> {
    // The name lacks its server's prefix, or has one too many.
    let (short, long) = if wanted.len() < name.len() { (wanted, name) } else { (name, wanted) };
    if short.len() >= 3 && (long.ends_with(short) || long.starts_with(short)) {
        return Some(usize::from(short.len() != long.len()));
    }
    distance(wanted, name, limit)
}

/// Edit distance with transpositions (Damerau-Levenshtein); `None` once it exceeds `limit`.
fn distance(a: &[char], b: &[char], limit: usize) -> Option<usize> {
    if a.len().abs_diff(b.len()) > limit {
        return None;
    }
    let mut above: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for (at, x) in a.iter().enumerate() {
        let mut row = Vec::with_capacity(b.len() + 1);
        row.push(at + 1);
        for (column, y) in b.iter().enumerate() {
            let replaced = last[column] + usize::from(x != y);
            let mut cost = replaced.min(last[column + 1] + 1).min(row[column] + 1);
            if at > 0 && column > 0 && a[at - 1] == *y && b[column - 1] == *x {
                cost = cost.min(above[column - 1] + 1);
            }
            row.push(cost);
        }
        if row.iter().all(|cost| *cost > limit) {
            return None;
        }
        above = std::mem::replace(&mut last, row);
    }
    Some(last[b.len()]).filter(|cost| *cost <= limit)
}

#[cfg(test)]
mod tests {
    use super::{alike, nearest};

    #[test]
    fn typos_case_and_prefixes_find_the_name_that_was_meant() {
        let known = ["dice_roll", "dice_roll_table", "world_search", "memory_write"];
        for (wanted, expected) in [
            ("dice_rol", "dice_roll"),
            ("DiceRoll", "dice_roll"),
            ("dice-roll", "dice_roll"),
            ("roll", "dice_roll"),
            ("wrld_serch", "world_search"),
            ("wrold_saerhc", "world_search"),
            ("mcp_memory_write", "memory_write"),
        ] {
            assert_eq!(nearest(wanted, known).first(), Some(&expected), "{wanted}");
        }
        assert!(nearest("send_email", known).is_empty());
        assert!(nearest("", known).is_empty());
        assert!(nearest(&"x".repeat(10_000), known).is_empty());
        assert_eq!(nearest("dice", ["dice_a", "dice_b", "dice_c", "dice_d"]).len(), 3);
    }

    #[test]
    fn mistyped_words_are_taken_for_those_most_like_them() {
        let known = ["fireball", "firebolt", "invisible", "prone", "drone", "cat"];
        for (wanted, expected) in [
            ("firebal", &["fireball"][..]),
            ("firebolt", &["firebolt"]),
            ("invisable", &["invisible"]),
            ("rone", &["drone", "prone"]),
            ("prnoe", &["prone"]),
            ("elephant", &[]),
            ("ca", &[]),
            ("", &[]),
        ] {
            assert_eq!(alike(wanted, known), expected, "{wanted}");
        }
        assert!(alike(&"x".repeat(10_000), known).is_empty());
    }
}
