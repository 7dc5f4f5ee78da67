//! Which known names come near to one that is not known: "did you mean …".

/// Up to three of `known` that `wanted` may have meant, nearest first.
pub fn nearest<'k>(wanted: &str, known: impl IntoIterator<Item = &'k str>) -> Vec<&'k str> {
    const MOST: usize = 3;
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
    near.into_iter().take(MOST).map(|(_, name)| name).collect()
}

/// Case and separators are what models get wrong most often; they cost nothing.
fn fold(name: &str) -> Vec<char> {
    name.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

fn distance_of_names(wanted: &[char], name: &[char], limit: usize) -> Option<usize> {
    // A name without its server's prefix, or with one too many.
    let (short, long) = if wanted.len() < name.len() { (wanted, name) } else { (name, wanted) };
    if short.len() >= 3 && (long.ends_with(short) || long.starts_with(short)) {
        return Some(usize::from(short.len() != long.len()));
    }
    distance(wanted, name, limit)
}

/// Levenshtein's distance, or `None` once it is sure to exceed `limit`.
fn distance(a: &[char], b: &[char], limit: usize) -> Option<usize> {
    if a.len().abs_diff(b.len()) > limit {
        return None;
    }
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (at, x) in a.iter().enumerate() {
        let mut diagonal = row[0];
        row[0] = at + 1;
        for (column, y) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(x != y);
            diagonal = row[column + 1];
            row[column + 1] = replaced.min(diagonal + 1).min(row[column] + 1);
        }
        if row.iter().all(|cost| *cost > limit) {
            return None;
        }
    }
    Some(row[b.len()]).filter(|cost| *cost <= limit)
}

#[cfg(test)]
mod tests {
    use super::nearest;

    #[test]
    fn typos_case_and_prefixes_find_the_name_that_was_meant() {
        let known = ["dice_roll", "dice_roll_table", "world_search", "memory_write"];
        for (wanted, expected) in [
            ("dice_rol", "dice_roll"),
            ("DiceRoll", "dice_roll"),
            ("dice-roll", "dice_roll"),
            ("roll", "dice_roll"),
            ("wrld_serch", "world_search"),
            ("mcp_memory_write", "memory_write"),
        ] {
            assert_eq!(nearest(wanted, known).first(), Some(&expected), "{wanted}");
        }
        assert!(nearest("send_email", known).is_empty());
        assert!(nearest("", known).is_empty());
        assert!(nearest(&"x".repeat(10_000), known).is_empty());
        assert_eq!(nearest("dice", ["dice_a", "dice_b", "dice_c", "dice_d"]).len(), 3);
    }
}
