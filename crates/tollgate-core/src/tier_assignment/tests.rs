use super::*;
use crate::budget::Estimate;

mod rules;
mod simulation;
mod survival;

/// One tool with its window and its time. Judged after every sample and every step of time.
struct Stage {
    window: LatencyWindow,
    declared: DeclaredLatency,
    rules: TierRules,
    start: Instant,
    now: Instant,
    standing: TierAssignment,
    /// Seconds since the start, from, to.
    moves: Vec<(u64, Tier, Tier)>,
}

impl Stage {
    /// Declared as `200` (estimate), `/800` (maximum), `200/800` or nothing, in milliseconds.
    fn new(declared: &str) -> Self {
        Self::with(declared, TierRules::default())
    }

    fn with(declared: &str, rules: TierRules) -> Self {
        let (estimated, max) = declared.split_once('/').unwrap_or((declared, ""));
        let span = |text: &str| text.parse().ok().map(Duration::from_millis);
        let declared =
            DeclaredLatency { estimated: span(estimated).map(Estimate::Believed), max: span(max) };
        let window = LatencyWindow::new();
        let now = start();
        let standing =
            TierAssignment::new(&TierFacts { window: &window, declared, rules: &rules, now });
        Self { window, declared, rules, start: now, now, standing, moves: Vec::new() }
    }

    /// `200*5` answers after 200 ms five times, `x` fails, `o1501` is given up at 1500 ms,
    /// `+30s` and `+10m` let time pass.
    fn play(mut self, script: &str) -> Self {
        for word in script.split_whitespace() {
            if let Some(wait) = word.strip_prefix('+') {
                self.pass(span(wait));
                continue;
            }
            let (sample, times) = word.split_once('*').unwrap_or((word, "1"));
            for _ in 0..times.parse().unwrap() {
                self.call(sample_of(sample));
            }
        }
        self
    }

    fn call(&mut self, sample: Sample) {
        self.window.record(sample);
        self.judge();
    }

    fn pass(&mut self, span: Duration) {
        self.now += span;
        self.judge();
    }

    fn judge(&mut self) -> TierVerdict {
        let facts = TierFacts {
            window: &self.window,
            declared: self.declared,
            rules: &self.rules,
            now: self.now,
        };
        let before = self.tier();
        let verdict = self.standing.judge(&facts);
        match verdict {
            TierVerdict::Same => assert_eq!(self.tier(), before),
            TierVerdict::Moved { from, to } => {
                assert_eq!((from, to), (before, self.tier()));
                self.moves.push(((self.now - self.start).as_secs(), from, to));
            }
        }
        verdict
    }

    fn tier(&self) -> Tier {
        self.standing.assigned_tier().tier
    }

    fn describe(&self) -> String {
        self.standing.assigned_tier().to_string()
    }

    fn moved(&self) -> String {
        let shown = self.moves.iter().map(|(at, from, to)| format!("{at}s {from}>{to}"));
        shown.collect::<Vec<_>>().join(", ")
    }
}

fn sample_of(word: &str) -> Sample {
    let millis = |text: &str| Duration::from_millis(text.parse().unwrap());
    match word.as_bytes()[0] {
        b'x' => Sample { span: Duration::from_millis(2), ending: SampleEnding::Failed },
        b'o' => Sample { span: millis(&word[1..]), ending: SampleEnding::Overran },
        _ => Sample { span: millis(word), ending: SampleEnding::Answered },
    }
}

fn span(text: &str) -> Duration {
    let (number, unit) = text.split_at(text.len() - 1);
    let number: u64 = number.parse().unwrap();
    Duration::from_secs(if unit == "m" { 60 * number } else { number })
}

#[expect(clippy::disallowed_methods, reason = "any instant will do as the start of a script")]
fn start() -> Instant {
    Instant::now()
}

/// Where the tool stands at the end, in words.
#[track_caller]
fn check(declared: &str, script: &str, expected: &str) {
    assert_eq!(Stage::new(declared).play(script).describe(), expected, "{script}");
}

/// All changes of its tier on the way.
#[track_caller]
fn check_moves(declared: &str, script: &str, expected: &str) {
    assert_eq!(Stage::new(declared).play(script).moved(), expected, "{script}");
}
