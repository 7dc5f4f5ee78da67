//! Suggests known names that are similar to a misspelled one.

/// At most three, the most similar first.
pub(crate) fn nearest<'a>(meant: &str, known: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let meant = normalize(meant);
    let most = (meant.chars().count() + 1) / 3;
    let mut found: Vec<(usize, &str)> = known
        .filter_map(|name| {
            let other = normalize(name);
            let within = meant.len() >= 3 && (other.contains(&meant) || meant.contains(&other));
            let distance = strsim::levenshtein(&meant, &other);
            (distance <= most || within && other.len() >= 3).then_some((distance, name))
        })
        .collect();
    found.sort_unstable();
    found.into_iter().take(3).map(|(_, name)| name).collect()
}

/// `` `a`, `b` or `c` ``
pub(crate) fn join_names(names: &[&str]) -> String {
    let quoted: Vec<_> = names.iter().map(|name| format!("`{name}`")).collect();
    match quoted.split_last() {
        Some((last, [])) => last.clone(),
        Some((last, rest)) => format!("{} or {last}", rest.join(", ")),
        None => String::new(),
    }
}

/// Treats `getIssue`, `get_issue` and `GET-ISSUE` as equal.
fn normalize(name: &str) -> String {
    name.chars().filter(|char| char.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

#[cfg(test)]
mod tests;
