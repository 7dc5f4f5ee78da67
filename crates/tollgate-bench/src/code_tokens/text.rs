//! Words and figures of a made-up world, the same every time. Called by the world.

use serde_json::{Value, json};

/// A sentence with this beginning is what a text comes to: whoever sums it up has to have read it.
const POINT: &str = "In short, ";

const SUBJECTS: &[&str] = &[
    "the gateway",
    "the release",
    "the protocol",
    "the parser",
    "the dashboard",
    "the cluster",
    "the benchmark",
    "the framework",
    "the index",
    "the pipeline",
    "the sandbox",
    "the planner",
];
const VERBS: &[&str] = &[
    "handles",
    "replaces",
    "measures",
    "describes",
    "reduces",
    "exposes",
    "keeps",
    "routes",
    "explains",
    "caches",
    "checks",
    "schedules",
];
const OBJECTS: &[&str] = &[
    "long requests",
    "nested schemas",
    "cold starts",
    "token budgets",
    "audit records",
    "stale sessions",
    "tool listings",
    "failing nodes",
    "typed results",
    "shared drives",
    "open questions",
    "weekly reports",
];
const NAMES: &[&str] = &[
    "Amber", "Basalt", "Cedar", "Delta", "Ember", "Fjord", "Garnet", "Harbor", "Indigo", "Juniper",
    "Krypton", "Lagoon", "Meridian", "Nimbus", "Onyx", "Prairie",
];

/// Numbers that follow from what they are for.
#[derive(Debug, Clone, Copy)]
pub(super) struct TextSeed(u64);

impl TextSeed {
    pub(super) fn of(text: &str) -> Self {
        Self(0xcbf2_9ce4_8422_2325).with(text)
    }

    /// FNV-1a.
    pub(super) fn with(self, text: &str) -> Self {
        let step = |sum: u64, byte: u8| (sum ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        Self(text.bytes().fold(self.0, step))
    }

    pub(super) fn at(self, place: usize) -> Self {
        self.with("/").with(&place.to_string())
    }

    /// Below `most`. The lower bits of the sum alone are poor.
    pub(super) fn below(self, most: usize) -> usize {
        let mixed = (self.0 ^ (self.0 >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        usize::try_from((mixed ^ (mixed >> 32)) % most as u64).unwrap_or(0)
    }

    fn pick<'a>(self, words: &[&'a str]) -> &'a str {
        words[self.below(words.len())]
    }

    fn number(self) -> usize {
        1_000 + self.with("number").below(9_000)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ProseKind {
    /// Has three points, of which one may be deep inside.
    Page,
    /// Begins with its only point.
    Snippet,
}

/// So many bytes of it.
pub(super) fn prose(seed: TextSeed, bytes: usize, kind: ProseKind) -> String {
    let deepest = if seed.with("deep").below(3) == 0 { 3_200 } else { 1_000 };
    let points: &[usize] = match kind {
        ProseKind::Page => &[0, 450, deepest],
        ProseKind::Snippet => &[0],
    };
    let mut text = String::with_capacity(bytes + 200);
    let mut reported = 0;
    for at in 0.. {
        if text.len() >= bytes {
            break;
        }
        let seed = seed.at(at);
        if points.get(reported).is_some_and(|from| text.len() >= *from) {
            text.push_str(POINT);
            reported += 1;
        }
        let subject = seed.pick(SUBJECTS);
        let verb = seed.with("v").pick(VERBS);
        let object = seed.with("o").pick(OBJECTS);
        text.push_str(&format!("{subject} {verb} {object} in case {}. ", seed.number()));
    }
    text
}

/// All points of a text.
pub(super) fn points(text: &str) -> Vec<String> {
    let each = text.match_indices(POINT).map(|(at, _)| {
        let rest = &text[at..];
        rest[..rest.find(". ").unwrap_or(rest.len())].to_owned()
    });
    each.collect()
}

/// A value as a field of this name has it.
pub(super) fn value(field: &str, seed: TextSeed) -> Value {
    let seed = seed.with(field);
    let number = seed.number();
    let name = seed.pick(NAMES);
    let dated = || format!("2026-02-{:02}T{:02}:15:00Z", seed.below(28) + 1, seed.at(1).below(24));
    match field {
        "exists" | "healthy" | "is_logged_in" => json!(true),
        "score" | "points" | "num_comments" | "stargazers_count" | "size" | "size_bytes"
        | "karma" | "table_count" | "number" | "employee_count" | "duration" | "followers"
        | "limit" | "public_repos" | "day_limit" | "day_used" | "minute_limit" | "minute_used"
        | "usage" | "revenue" | "sold" | "average_order" | "headcount" | "average_salary"
        | "salary" | "percentile" => json!(number),
        "max_item_id" | "@" => json!(40_000_000 + number * 97 + seed.at(2).below(97)),
        "url" | "html_url" | "scheduling_url" | "linkedin_url" | "uri" => {
            json!(format!("https://{}.example/{number}", name.to_lowercase()))
        }
        "email" => json!(format!("{}.{number}@team.example", name.to_lowercase())),
        "created" | "created_at" | "modified" | "updated_at" | "modifiedTime" | "start" | "end"
        | "start_time" | "end_time" | "last_modified" | "published_at" | "date"
        | "current_datetime" => json!(dated()),
        "state" | "status" => json!(if seed.below(3) == 0 { "closed" } else { "open" }),
        "id" | "objectID" | "key" | "node_id" | "sha" | "request_id" => {
            json!(format!("{}{number}{}", &name[..2].to_lowercase(), seed.at(3).number()))
        }
        "full_name" => json!(format!(
            "{}/{}-{number}",
            name.to_lowercase(),
            seed.at(4).pick(NAMES).to_lowercase()
        )),
        "path" => json!(format!("src/{}_{number}.py", name.to_lowercase())),
        "domain" => json!(format!("{}{number}.example", name.to_lowercase())),
        "tag_name" => json!(format!("v{}.{number}", seed.below(9))),
        "type" | "mimeType" | "style_type" | "role" | "accessRole" => {
            json!(format!("KIND_{}", seed.below(4)))
        }
        "description" | "message" | "about" | "bio" => json!(format!(
            "{name} {} {} {number}",
            seed.at(5).pick(VERBS),
            seed.at(6).pick(OBJECTS)
        )),
        _ => json!(format!("{name} {} {number}", seed.at(7).pick(OBJECTS))),
    }
}
