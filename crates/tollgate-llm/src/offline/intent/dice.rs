//! Parses dice rolls in plain text: `2d6+3`, `a d20 with advantage`, `two dice`.

/// One notation per roll. `text` is in lower case.
pub(super) fn notations(text: &str) -> Vec<String> {
    let words: Vec<&str> = text.split_whitespace().map(bare).filter(|it| !it.is_empty()).collect();
    let rolls = words.iter().any(|word| matches!(*word, "roll" | "throw" | "rolls" | "throws"));
    let mut found = Vec::new();
    for (at, word) in words.iter().enumerate() {
        if is_notation(word) {
            found.push(with_rest(word, &words[at + 1..]));
        }
    }
    if found.is_empty() && rolls && !words.contains(&"table") {
        found.extend(in_words(&words));
    }
    if let [only] = &mut found[..]
        && only == "1d20"
    {
        *only = d20_notation(&words).to_owned();
    }
    found
}

fn bare(word: &str) -> &str {
    word.trim_matches(|c: char| ",.?!:;\"'`()".contains(c))
}

/// `d20`, `2d6`, `4d6kh3`, `d%+1`: with a plausible number of dice and sides.
fn is_notation(word: &str) -> bool {
    let Some((count, rest)) = word.split_once('d') else { return false };
    let count_fits = count.len() <= 4 && count.bytes().all(|byte| byte.is_ascii_digit());
    let begins = rest.starts_with(|c: char| c.is_ascii_digit() || c == '%');
    let known = |byte: u8| byte.is_ascii_digit() || b"dkhlre!+-*<>=%".contains(&byte);
    count_fits && begins && word.len() <= 64 && rest.bytes().all(known)
}

/// Appends modifiers in separate words: `2d6 + 3`, `2d6 plus 3`.
fn with_rest(word: &str, next: &[&str]) -> String {
    let mut text = if word.starts_with('d') { format!("1{word}") } else { word.to_owned() };
    for pair in next.chunks(2) {
        let [sign, number] = pair else { break };
        let sign = match *sign {
            "+" | "plus" => '+',
            "-" | "minus" => '-',
            _ => break,
        };
        if number.is_empty() || !number.bytes().all(|byte| byte.is_ascii_digit()) {
            break;
        }
        text.push(sign);
        text.push_str(number);
    }
    text
}

/// `two dice` are six-sided; an unspecified roll is a `d20`.
fn in_words(words: &[&str]) -> Option<String> {
    const COUNTS: [&str; 6] = ["one", "two", "three", "four", "five", "six"];
    let Some(at) = words.iter().position(|word| matches!(*word, "die" | "dice")) else {
        return words.first().filter(|word| **word == "roll").map(|_| "1d20".to_owned());
    };
    let usual = if words[at] == "die" { 1 } else { 2 };
    let before = at.checked_sub(1).map_or("", |at| words[at]);
    let stated = COUNTS.iter().position(|word| *word == before).map(|at| at + 1);
    let count = stated.or_else(|| before.parse().ok().filter(|count| (1..=100).contains(count)));
    Some(format!("{}d6", count.unwrap_or(usual)))
}

fn d20_notation(words: &[&str]) -> &'static str {
    if words.contains(&"disadvantage") {
        "2d20kl1"
    } else if words.contains(&"advantage") {
        "2d20kh1"
    } else {
        "1d20"
    }
}
