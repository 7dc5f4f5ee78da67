//! Random configs and requests. There are few names, so that filters hit and miss about equally
//! often.

use super::oracle::{Fact, GlobalLevel};

/// SplitMix64: the same everywhere for the same seed.
pub(super) struct Dice(pub(super) u64);

impl Dice {
    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    pub(super) fn below(&mut self, limit: usize) -> usize {
        usize::try_from(self.next() % limit as u64).unwrap()
    }

    pub(super) fn one_in(&mut self, count: usize) -> bool {
        self.below(count) == 0
    }

    pub(super) fn pick<'t, T>(&mut self, all: &'t [T]) -> &'t T {
        &all[self.below(all.len())]
    }

    /// Usually somebody says nothing.
    pub(super) fn perhaps<T>(&mut self, make: impl FnOnce(&mut Self) -> T) -> Option<T> {
        (!self.one_in(3)).then(|| make(self))
    }
}

pub(super) const SERVERS: &[&str] = &["al", "al_2", "be-ta", "gamma"];
const OWN: &[&str] =
    &["find", "find_all", "get", "get_one", "put", "drop", "a", "ab", "abc", "Find2"];
const ESTIMATES: &[Option<u64>] =
    &[None, Some(1), Some(500), Some(501), Some(1500), Some(1501), Some(9000)];

/// Tools of two to four servers, some under names that another has already.
pub(super) fn facts(dice: &mut Dice, shipped: &[Fact]) -> Vec<Fact> {
    let mut all = shipped.to_vec();
    let count = 2 + dice.below(SERVERS.len() - 1);
    for server in &SERVERS[..count] {
        for own in OWN {
            let exposed = match dice.below(9) {
                // In every world at least one name is wanted twice.
                _ if *own == OWN[0] => (*own).to_owned(),
                0 | 1 => (*own).to_owned(),
                2 => format!("{}_{own}", server.replace('-', "_")),
                _ => continue,
            };
            let is_shadowed = all.iter().any(|it| it.exposed == exposed);
            all.push(Fact {
                server: (*server).to_owned(),
                own: exposed.clone(),
                exposed,
                estimate: *dice.pick(ESTIMATES),
                is_shadowed,
            });
        }
    }
    all
}

/// A glob that was made of some tool's name, or of nothing.
pub(super) fn glob(dice: &mut Dice, facts: &[Fact]) -> String {
    let name = dice.pick(facts).exposed.clone();
    let half = 1 + dice.below(name.len());
    match dice.below(9) {
        0..=2 => name,
        3 => format!("{}*", &name[..half]),
        4 => format!("*{}", &name[half - 1..]),
        5 => format!("{}?{}", &name[..half - 1], &name[half..]),
        6 => format!("*{}*", &name[half - 1..half]),
        7 => "*".to_owned(),
        _ => "no_such_*".to_owned(),
    }
}

pub(super) fn globs(dice: &mut Dice, facts: &[Fact]) -> Vec<String> {
    if dice.one_in(3) {
        return vec!["*".to_owned()];
    }
    let count = dice.below(6);
    (0..count).map(|_| glob(dice, facts)).collect()
}

pub(super) fn random_global_level(dice: &mut Dice, facts: &[Fact]) -> GlobalLevel {
    let everything = || vec!["*".to_owned()];
    GlobalLevel {
        is_off: dice.one_in(20),
        allow: dice
            .perhaps(|dice| globs(dice, facts))
            .filter(|it| it.len() > 2)
            .unwrap_or_else(everything),
        deny: dice
            .perhaps(|dice| vec![glob(dice, facts)])
            .filter(|it| it[0] != "*")
            .unwrap_or_default(),
        here_allow: everything(),
        here_deny: if dice.one_in(2) { vec![dice.pick(facts).exposed.clone()] } else { Vec::new() },
    }
}

const INCLUDES: &[&str] = &[
    "x-tollgate-include-servers",
    "x-bf-mcp-include-clients",
    "x-tollgate-include-tools",
    "x-bf-mcp-include-tools",
];
const EXCLUDES: &[&str] = &["x-tollgate-exclude-servers", "x-tollgate-exclude-tools"];
/// Each has to be refused.
const WRONG: &[(&str, &str)] = &[
    ("x_tollgate_include_tools", "*"),
    ("x-tollgate-exclude_tools", "find"),
    ("x-tollgate-include", "*"),
    ("x-bf-mcp-exclude-clients", "al"),
    ("x-tollgate-exclude-tools", "find;get"),
    ("x-tollgate-include-tools", "find get"),
    ("x-tollgate-include-servers", "\"al\""),
    ("x-tollgate-exclude-servers", "!al"),
];

/// The filters of a request, as somebody may write them.
pub(super) fn headers(dice: &mut Dice, facts: &[Fact]) -> Vec<(String, String)> {
    let mut sent = vec![("accept".to_owned(), "*/*; q=1, a/b".to_owned())];
    let mut add = |dice: &mut Dice, name: &str| {
        let value = list(dice, facts, name);
        sent.push((change_case(dice, name), value));
    };
    for name in INCLUDES.iter().chain(EXCLUDES) {
        if dice.one_in(5) {
            add(dice, name);
        }
    }
    for (names, rarity) in [(EXCLUDES, 8), (INCLUDES, 40)] {
        let again = *dice.pick(names);
        if dice.one_in(rarity) {
            add(dice, again);
        }
    }
    if dice.one_in(40) {
        let (name, value) = dice.pick(WRONG);
        sent.push((change_case(dice, name), (*value).to_owned()));
    }
    sent
}

/// Names of headers have no case.
fn change_case(dice: &mut Dice, name: &str) -> String {
    let turned = |letter: char| if dice.one_in(4) { letter.to_ascii_uppercase() } else { letter };
    name.chars().map(turned).collect()
}

fn list(dice: &mut Dice, facts: &[Fact], header: &str) -> String {
    let count = dice.below(6);
    let mut items: Vec<String> = (0..count).map(|_| item(dice, facts, header)).collect();
    if dice.one_in(4) {
        items.insert(dice.below(items.len() + 1), (*dice.pick(&["", " ", "\t"])).to_owned());
    }
    let padded =
        |item: String| format!("{}{item}{}", dice.pick(&["", " "]), dice.pick(&["", "\t "]));
    items.into_iter().map(padded).collect::<Vec<_>>().join(",")
}

fn item(dice: &mut Dice, facts: &[Fact], header: &str) -> String {
    let fact = dice.pick(facts);
    match (header.ends_with("tools"), dice.below(6)) {
        (true, 0) => format!("{}/{}", fact.server, fact.own),
        (true, 1) => format!("{}-{}", fact.server, fact.own),
        (true, 2) => format!("{}{}*", fact.server, dice.pick(&["/", "-"])),
        (true, _) => glob(dice, facts),
        (false, 0) => "*".to_owned(),
        (false, 1) => format!("{}*", &fact.server[..1]),
        (false, 2) => "al?2".to_owned(),
        (false, _) => fact.server.clone(),
    }
}
