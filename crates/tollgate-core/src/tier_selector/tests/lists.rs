//! The lists together, and what stands in the built-in ones.

use super::*;
use crate::tier_selector::{builtin, fold};

fn check_builtin(tier: Tier, utterances: &[&str]) {
    let selector = TierSelector::new(&[&TierKeywords::default()]);
    for text in utterances {
        let choice = selector.choose(&utterance(text), LATER, &SelectorRules::default());
        assert_eq!(choice.tier, tier, "{text:?} is {choice}");
    }
}

#[test]
fn english_deep_words_are_heard() {
    check_builtin(
        Tier::Deep,
        &[
            "Think carefully before you answer.",
            "take your time, there's no hurry",
            "Could you explain that in more detail?",
            "I want a detailed answer",
            "Tell me everything about the guild",
            "Tell us the whole story!",
            "please SEARCH the WEB for it",
            "can you look it up online",
            "Generate an image of a dragon",
            "go through it step-by-step",
        ],
    );
}

#[test]
fn english_standard_words_are_heard() {
    check_builtin(
        Tier::Standard,
        &[
            "Do you remember me?",
            "what did we do last time",
            "Who’s the king?",
            "who is the king",
            "Look up the rules for grappling",
            "How does magic work?",
            "I have a quest for you",
            "when did the war end",
            "I'm calling about my order",
        ],
    );
}

#[test]
fn german_deep_words_are_heard() {
    check_builtin(
        Tier::Deep,
        &[
            "Denk gut nach, bevor du antwortest.",
            "Denken Sie bitte gut nach",
            "Da musst du in Ruhe nachdenken",
            "Nimm dir Zeit.",
            "Lassen Sie sich ruhig Zeit!",
            "Erzähl mir alles über die Gilde",
            "ERZÄHLE MIR ALLES ÜBER DIE GILDE",
            "Sag mir alles, was du weisst",
            "Erklär mir das bitte ausführlich",
            "eine ausfuehrliche Antwort, bitte",
            "Das will ich im Detail wissen",
            "Such im Internet nach dem Wetter",
            "Kannst du das im Internet nachschauen?",
            "Schau mal im Internet nach",
            "Recherchiere das",
            "Mal mir ein Bild von einem Drachen",
        ],
    );
}

#[test]
fn german_standard_words_are_heard() {
    check_builtin(
        Tier::Standard,
        &[
            "Erinnerst du dich an mich?",
            "Weißt du noch, wie er hieß?",
            "weisst du noch wie er hiess",
            "WEIẞT DU NOCH",
            "Was haben wir beim letzten Mal gemacht?",
            "letztes Mal warst du netter",
            "Schlag das bitte mal nach, das muss man nachschlagen",
            "Schlag nach!",
            "Wer war der alte König?",
            "Erzähl mir von der Stadt",
            "Wie funktioniert die Magie?",
            "Kennst du die Regeln?",
            "Es geht um meine Bestellung",
        ],
    );
}

#[test]
fn small_talk_in_both_languages_stays_fast() {
    check_builtin(
        Tier::Fast,
        &[
            "Hello, how are you today?",
            "I have a request and a question",
            "That is a nice hat.",
            "Yes please, two of them",
            "my research is boring",
            "Hallo, wie geht es dir?",
            "Ich habe eine Frage",
            "Komm gut nach Hause!",
            "Ich besuche dich morgen, versuch's mal",
            "Ja bitte, zwei davon",
            "Das ist regelmäßig so",
        ],
    );
}

#[test]
fn no_built_in_keyword_is_idle() {
    for language in KeywordLanguage::ALL {
        let folded = |keyword| fold::fold(keyword, TranscriptStage::Final);
        let deep: Vec<String> = builtin::deep(language).map(folded).collect();
        let standard: Vec<String> = builtin::standard(language).map(folded).collect();
        for (at, keyword) in deep.iter().enumerate() {
            let mut others = deep.iter().enumerate().filter(|(other, _)| *other != at);
            let shadow = others.find(|(_, other)| keyword.contains(other.as_str()));
            assert_eq!(shadow, None, "shadows {keyword:?}");
        }
        for (at, keyword) in standard.iter().enumerate() {
            let others = standard.iter().enumerate().filter(|(other, _)| *other != at);
            let shadow = others
                .map(|(_, other)| other)
                .chain(&deep)
                .find(|other| keyword.contains(other.as_str()));
            assert_eq!(shadow, None, "shadows {keyword:?}");
        }
    }
}

/// Which of `texts` are heard at all, with these lists.
fn check_lists(lists: &[&TierKeywords], texts: &[&str], expected: &str) {
    let selector = TierSelector::new(lists);
    let predicate = |text: &&&str| {
        selector.choose(&utterance(text), LATER, &SelectorRules::default()).tier != Tier::Fast
    };
    let predicate: Vec<&str> = texts.iter().filter(predicate).copied().collect();
    assert_eq!(predicate.join(" "), expected);
}

#[test]
fn an_agents_lists_come_on_top_of_the_others() {
    let texts = ["gestern", "yesterday", "here", "everywhere"];
    let own = |keyword: &str| TierKeywords {
        standard: vec![keyword.to_owned()],
        ..TierKeywords::default()
    };
    let here = own("here");
    let everywhere = own("everywhere");
    check_lists(&[], &texts, "gestern yesterday");
    check_lists(&[&everywhere], &texts, "gestern yesterday everywhere");
    check_lists(&[&everywhere, &here], &texts, "gestern yesterday here everywhere");
    let replaced = TierKeywords { builtin: BuiltinKeywords::Replaced, ..here.clone() };
    check_lists(&[&everywhere, &replaced], &texts, "here everywhere");
    let replaced = TierKeywords { builtin: BuiltinKeywords::Replaced, ..everywhere };
    check_lists(&[&replaced, &here], &texts, "here everywhere");
}

#[test]
fn languages_choose_among_the_built_in_lists() {
    let texts = ["gestern", "yesterday", "quest"];
    let only = |languages: &[KeywordLanguage]| TierKeywords {
        languages: languages.to_vec(),
        ..TierKeywords::default()
    };
    let german = only(&[KeywordLanguage::German]);
    let english = only(&[KeywordLanguage::English]);
    check_lists(&[&german], &texts, "gestern quest");
    check_lists(&[&english], &texts, "yesterday quest");
    check_lists(&[&english, &only(&[])], &texts, "yesterday quest");
    check_lists(&[&english, &german], &texts, "gestern quest");
    check_lists(
        &[&only(&[KeywordLanguage::English, KeywordLanguage::German])],
        &texts,
        "gestern yesterday quest",
    );
    let replaced = TierKeywords { builtin: BuiltinKeywords::Replaced, ..german };
    check_lists(&[&replaced], &texts, "");
}

#[test]
fn languages_have_their_usual_codes() {
    for language in KeywordLanguage::ALL {
        assert_eq!(KeywordLanguage::parse(language.as_str()), Some(language));
    }
    assert_eq!(KeywordLanguage::parse("de"), Some(KeywordLanguage::German));
    assert_eq!(KeywordLanguage::parse("fr"), None);
}
