use super::*;
use crate::tool::{FindingKind, InjectionPattern};

const A: ContentHash = ContentHash([1; 32]);
const B: ContentHash = ContentHash([2; 32]);

fn finding() -> Finding {
    Finding::new(FindingKind::Instruction(InjectionPattern::Secrecy), "/description")
}

fn policy(words: &str) -> TrustPolicy {
    let mut policy = TrustPolicy::default();
    for word in words.split_whitespace() {
        match word {
            "reviewed" => policy.pin = Pinning::Reviewed,
            "off" => policy.pin = Pinning::Off,
            "flag-change" => policy.on_change = OnChange::Flag,
            "quarantine-finding" => policy.on_finding = OnFinding::Quarantine,
            other => panic!("{other}"),
        }
    }
    policy
}

/// `seen A`, `accepted A`, `rejected B`, one after the other.
fn pin(words: &str) -> Option<Pin> {
    let mut pin = None;
    for deed in words.split(", ").filter(|deed| !deed.is_empty()) {
        let (what, hash) = deed.split_once(' ').unwrap();
        let hash = if hash == "A" { A } else { B };
        match what {
            "seen" => pin = Some(Pin::first_use(hash)),
            "accepted" => pin.get_or_insert_default().accept(hash),
            "rejected" => pin.get_or_insert_default().reject(hash),
            other => panic!("{other}"),
        }
    }
    pin
}

fn check(text: &str, remembered: &str, offered: &str, expected: &str) {
    let (hash, findings) = match offered {
        "A" => (A, vec![]),
        "B" => (B, vec![]),
        "A!" => (A, vec![finding()]),
        "B!" => (B, vec![finding()]),
        other => panic!("{other}"),
    };
    let offered_ = OfferedDefinition { hash, findings: &findings, room: FirstUseRoom::Left };
    let TrustJudgement { verdict, is_first_use } =
        judge(policy(text), pin(remembered).as_ref(), &offered_);
    let doubt = verdict.doubt().map_or("", TrustDoubt::as_str);
    let pinned = if is_first_use { "pinned" } else { "" };
    let words = [verdict.as_str(), doubt, pinned];
    let words: Vec<&str> = words.into_iter().filter(|word| !word.is_empty()).collect();
    assert_eq!(words.join(" "), expected, "{text} | {remembered} | {offered}");
}

#[test]
fn s_25_what_is_seen_first_is_trusted_and_a_change_is_withheld() {
    check("", "", "A", "served pinned");
    check("", "seen A", "A", "served");
    check("", "seen A", "B", "withheld changed");
    check("", "seen A, accepted B", "B", "served");
    check("", "seen A, accepted B", "A", "withheld changed");
    check("flag-change", "seen A", "B", "flagged changed");
    check("flag-change", "seen A", "A", "served");
}

#[test]
fn s_25_a_rejected_definition_stays_withheld_and_the_accepted_one_serves_again() {
    check("", "seen A, rejected B", "B", "withheld rejected");
    check("", "seen A, rejected B", "A", "served");
    check("", "rejected A", "B", "withheld changed");
    check("", "seen A, rejected A", "A", "withheld rejected");
    check("flag-change", "seen A, rejected A", "B", "withheld changed");
    check("off", "rejected A", "A", "withheld rejected");
    check("", "rejected A, accepted A", "A", "served");
    check("", "accepted A, rejected A", "A", "withheld rejected");
}

#[test]
fn what_must_be_reviewed_is_served_once_a_person_accepted_it() {
    check("reviewed", "", "A", "withheld new");
    check("reviewed", "seen A", "A", "withheld new");
    check("reviewed", "accepted A", "A", "served");
    check("reviewed", "accepted A", "B", "withheld changed");
    check("reviewed", "rejected B", "A", "withheld new");
    check("reviewed flag-change", "accepted A", "B", "withheld changed");
}

#[test]
fn without_pins_only_findings_and_rejections_count() {
    check("off", "", "A", "served");
    check("off", "seen A", "B", "served");
    check("off", "seen A", "B!", "flagged finding");
    check("off quarantine-finding", "", "A!", "withheld finding");
}

#[test]
fn s_24_findings_are_flagged_or_withheld_until_a_person_has_seen_them() {
    check("", "", "A!", "flagged finding pinned");
    check("", "seen A", "A!", "flagged finding");
    check("", "accepted A", "A!", "served");
    check("quarantine-finding", "", "A!", "withheld finding");
    check("quarantine-finding", "seen A", "A!", "withheld finding");
    check("quarantine-finding", "accepted A", "A!", "served");
    check("quarantine-finding flag-change", "seen A", "B!", "withheld finding");
    check("", "seen A", "B!", "withheld changed");
}

#[test]
fn a_text_that_was_merely_cut_is_no_finding() {
    let findings = [Finding::new(FindingKind::Cut, "/description")];
    let offered = OfferedDefinition { hash: A, findings: &findings, room: FirstUseRoom::Left };
    let judged = judge(policy("quarantine-finding"), None, &offered);
    assert_eq!(judged.verdict, TrustVerdict::Served);
}

#[test]
fn a_server_with_too_many_names_is_not_trusted_unseen() {
    let offered = OfferedDefinition { hash: A, findings: &[], room: FirstUseRoom::None };
    assert_eq!(
        judge(policy(""), None, &offered).verdict,
        TrustVerdict::Withheld(TrustDoubt::TooManyNew)
    );
    let known = pin("seen A");
    assert_eq!(judge(policy(""), known.as_ref(), &offered).verdict, TrustVerdict::Served);
}

#[test]
fn rejections_are_bounded() {
    let mut pin = Pin::default();
    for at in 0..=255_u8 {
        pin.reject(ContentHash([at; 32]));
        pin.reject(ContentHash([at; 32]));
    }
    assert_eq!(pin.rejected.len(), 64);
    assert_eq!(pin.rejected.last(), Some(&ContentHash([255; 32])));
}

#[test]
fn doubts_are_told_in_words() {
    let text = TrustDoubt::Finding(finding(), 2).to_string();
    assert_eq!(
        text,
        "it looks suspicious: `/description` asks to hide something from the user, and 2 more"
    );
}
