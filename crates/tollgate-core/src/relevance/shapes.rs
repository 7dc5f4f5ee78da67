//! What a request is about by the shape of its words: `notes.txt` is a file, `TOLL-7` a ticket, 17
//! times 23 is to be calculated.

use std::sync::LazyLock;

use super::words::words;

/// Like a word that was said: the shape is certain.
const SHAPE_WEIGHT: f32 = 1.0;

/// A word in its context.
struct ShapedWord<'t> {
    text: &'t str,
    before: &'t str,
    after: &'t str,
}

/// Stems of tools' words.
type ToolStems = LazyLock<Vec<Box<str>>>;

static FILE: ToolStems = LazyLock::new(|| stems("file document"));
static PAGE: ToolStems = LazyLock::new(|| stems("web page url browser navigate"));
static TICKET: ToolStems = LazyLock::new(|| stems("ticket issue"));
static MAIL: ToolStems = LazyLock::new(|| stems("email mail contact invite"));
static MONEY: ToolStems = LazyLock::new(|| stems("payment money transfer price amount"));
static CLOCK: ToolStems = LazyLock::new(|| stems("event meeting alarm reminder"));
static NUMBERS: ToolStems = LazyLock::new(|| stems("calculate math evaluate expression"));

const SITE_ENDINGS: &[&str] = &["com", "de", "dev", "edu", "io", "net", "org"];
const CURRENCIES: &[&str] = &[
    "bucks", "chf", "dollar", "dollars", "eur", "euro", "euros", "francs", "gbp", "pounds", "usd",
];
const OPERATORS: &[&str] = &["*", "+", "-", "/", "divided", "minus", "plus", "times", "x", "×"];

/// Passes the words of tools that the shapes in a text stand for to `take`, each with its weight.
pub(super) fn meanings(text: &str, take: &mut dyn FnMut(&'static str, f32)) {
    let mut before = "";
    let mut texts = text.split_whitespace().map(trim_word).peekable();
    while let Some(text) = texts.next() {
        let after = texts.peek().copied().unwrap_or_default();
        if let Some(stems) = (ShapedWord { text, before, after }).stems() {
            stems.iter().for_each(|stem| take(stem, SHAPE_WEIGHT));
        }
        before = text;
    }
}

fn stems(text: &str) -> Vec<Box<str>> {
    let mut stems = Vec::new();
    words(text, &mut |word| stems.push(word.into()));
    stems
}

fn trim_word(word: &str) -> &str {
    word.trim_matches(|letter| "\"'`“”„‘’(),;:?!.".contains(letter))
}

impl ShapedWord<'_> {
    fn stems(&self) -> Option<&'static [Box<str>]> {
        let known = if self.is_page() {
            &PAGE
        } else if self.is_mail_address() {
            &MAIL
        } else if self.is_file_name() {
            &FILE
        } else if self.is_ticket() {
            &TICKET
        } else if self.is_money() {
            &MONEY
        } else if self.is_time_of_day() {
            &CLOCK
        } else if self.is_calculation() {
            &NUMBERS
        } else {
            return None;
        };
        Some(known)
    }

    fn is_page(&self) -> bool {
        let has_site_ending = || {
            let site = self.text.split('/').next().unwrap_or_default();
            let ending = site.rsplit_once('.').filter(|(name, _)| !name.is_empty());
            ending.is_some_and(|(_, ending)| SITE_ENDINGS.contains(&ending))
        };
        self.text.contains("://") || !self.text.contains('@') && has_site_ending()
    }

    fn is_mail_address(&self) -> bool {
        let parts = self.text.split_once('@');
        parts.is_some_and(|(name, site)| !name.is_empty() && site.contains('.'))
    }

    fn is_file_name(&self) -> bool {
        let parts = self.text.rsplit_once('.');
        parts.is_some_and(|(name, ending)| {
            name.chars().any(char::is_alphabetic)
                && (2..=5).contains(&ending.len())
                && ending.starts_with(|letter: char| letter.is_ascii_alphabetic())
                && ending.bytes().all(|byte| byte.is_ascii_alphanumeric())
        })
    }

    /// `TOLL-7`, `#12`.
    fn is_ticket(&self) -> bool {
        if let Some(number) = self.text.strip_prefix('#') {
            return is_number(number);
        }
        self.text.split_once('-').is_some_and(|(project, number)| {
            project.len() >= 2
                && project.bytes().all(|byte| byte.is_ascii_uppercase())
                && is_number(number)
        })
    }

    fn is_money(&self) -> bool {
        let bare = self.text.trim_matches(['$', '€', '£']);
        let has_sign = bare.len() < self.text.len();
        let is_amount = bare.starts_with(|digit: char| digit.is_ascii_digit());
        is_amount && (has_sign || CURRENCIES.contains(&&*self.after.to_lowercase()))
    }

    /// `9:30`, `5pm`.
    fn is_time_of_day(&self) -> bool {
        let text = self.text.to_ascii_lowercase();
        let hours = text.strip_suffix("am").or_else(|| text.strip_suffix("pm"));
        match text.split_once(':') {
            Some((hours, minutes)) => is_number(hours) && minutes.starts_with(is_digit),
            None => hours.is_some_and(is_number),
        }
    }

    fn is_calculation(&self) -> bool {
        let is_operand = |word: &str| word.starts_with(is_digit);
        let is_whole = || {
            self.text.contains(['*', '+'])
                && self.text.starts_with(|first| first == '(' || is_digit(first))
                && self.text.ends_with(is_digit)
                && self.text.chars().all(|it| it.is_ascii_digit() || "*+-/().".contains(it))
        };
        OPERATORS.contains(&self.text) && is_operand(self.before) && is_operand(self.after)
            || is_whole()
    }
}

fn is_digit(letter: char) -> bool {
    letter.is_ascii_digit()
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::meanings;

    fn check(text: &str, expected: Option<&str>) {
        let mut found = Vec::new();
        meanings(text, &mut |stem, _| found.push(stem));
        assert_eq!(found.first().copied(), expected, "{text}");
    }

    #[test]
    fn the_shape_of_a_word_tells_what_it_is() {
        for (text, expected) in [
            ("put this into 'notes.txt'.", "fil"),
            ("open example.com/news?", "web"),
            ("look at https://localhost:1/", "web"),
            ("write to ada@example.com!", "email"),
            ("give TOLL-7 to Martin", "ticket"),
            ("what was #12 about", "ticket"),
            ("send $80", "payment"),
            ("lend me 80 Euros", "payment"),
            ("we meet at 9:30", "event"),
            ("5pm is fine", "event"),
            ("what is 17 times 23", "calculat"),
            ("(3+4)*5", "calculat"),
        ] {
            check(text, Some(expected));
        }
    }

    #[test]
    fn other_words_have_no_shape() {
        for text in [
            "",
            "...",
            "-",
            "the 2nd of May.",
            "e.g. this",
            "well-known",
            "A-",
            "# 12",
            "1.5",
            "12",
            "24/7",
            "+49",
            "@",
        ] {
            check(text, None);
        }
        check(&"a-1 ".repeat(50_000), None);
    }
}
