use super::{Intent, read};

fn check(utterance: &str, expected: &[&str]) {
    let intents: Vec<String> = read(utterance)
        .into_iter()
        .map(|intent| match intent {
            Intent::Roll(notation) => notation,
            Intent::Find { about, what } => format!("{about:?}: {what}"),
        })
        .collect();
    assert_eq!(intents, expected, "{utterance}");
}

#[test]
fn dice_are_heard_in_many_words() {
    check("roll 2d6+3", &["2d6+3"]);
    check("Roll 2D6 + 3, please", &["2d6+3"]);
    check("throw a d20!", &["1d20"]);
    check("Could you roll a d20 with advantage?", &["2d20kh1"]);
    check("roll a d20 at disadvantage", &["2d20kl1"]);
    check("roll 4d6kh3", &["4d6kh3"]);
    check("roll 2d8 minus 1", &["2d8-1"]);
    check("throw two dice", &["2d6"]);
    check("roll a die", &["1d6"]);
    check("roll for initiative", &["1d20"]);
    check("roll 2d6 and 1d20 and then d%", &["2d6", "1d20", "1d%"]);
    check("roll 1d6 and 1d6", &["1d6"]);
}

#[test]
fn what_only_looks_like_dice_is_left_alone() {
    for text in
        ["", "I did it", "add 3d", "dd20", "the 3d6x movie", "my dog", "a hard roll of bread"]
    {
        check(text, &[]);
    }
    check("roll on the wild magic table", &[]);
    check("99999d6", &[]);
}

#[test]
fn rules_and_memory_are_asked_for() {
    check("What does blinded do?", &["Rules: blinded"]);
    check("how does the grappling work", &["Rules: grappling"]);
    check("What are the rules for opportunity attacks?", &["Rules: opportunity attacks"]);
    check("what do you know about Heron?", &["Facts: Heron"]);
    check("Who is the king of Neverwinter?", &["Entities: king of Neverwinter"]);
    check("what happened in Waterdeep", &["Sessions: Waterdeep"]);
    check("Do you remember the dragon?", &["Facts: dragon"]);
    check("search for swords and shields", &["Facts: swords and shields"]);
}

#[test]
fn questions_about_the_world_are_looked_up_whole() {
    check("Where did Mira hide the key?", &["Facts: Where did Mira hide the key"]);
    check("How many bells hang in the tower?", &["Facts: How many bells hang in the tower"]);
    for text in ["What time is it now?", "where are you from?", "what is my name?", "why not?"] {
        check(text, &[]);
    }
}

#[test]
fn several_things_in_one_breath() {
    check(
        "roll 2d6 and tell me what does blinded do, then who is Heron?",
        &["2d6", "Rules: blinded", "Entities: Heron"],
    );
    check("I remember you. Roll d20.", &["1d20"]);
}

#[test]
fn talk_about_itself_is_no_search() {
    for text in
        ["who are you?", "what do you do", "what does it do?", "remember that I like cheese"]
    {
        check(text, &[]);
    }
}

#[test]
fn anything_is_read_without_harm() {
    for text in
        ["ſ what does ſ do", "what does  do", "rule ", "🎲 roll 🎲", "what does do", " and , then "]
    {
        read(text);
    }
    read(&"roll and ".repeat(10_000));
    let many: Vec<String> = (1..500).map(|sides| format!("d{sides}")).collect();
    assert_eq!(read(&format!("roll {}", many.join(" "))).len(), 8);
    read(&"what does ".repeat(10_000));
}
