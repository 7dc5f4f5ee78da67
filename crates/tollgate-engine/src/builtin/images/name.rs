//! File names for generated images: words of the prompt and a unique number. Pure.

const MAX_NAME_BYTES: usize = 40;

/// Without an extension.
pub(super) fn of(prompt: &str, number: u64) -> String {
    let mut words = String::new();
    for letter in prompt.chars().flat_map(char::to_lowercase) {
        match letter {
            'a'..='z' | '0'..='9' => words.push(letter),
            _ if words.ends_with('-') || words.is_empty() => {}
            _ => words.push('-'),
        }
        if words.len() == MAX_NAME_BYTES {
            break;
        }
    }
    let words = words.trim_end_matches('-');
    let words = if words.is_empty() { "picture" } else { words };
    format!("images/{words}-{number:016x}")
}
