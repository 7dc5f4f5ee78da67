//! Libraries as people write them, and what is picked from them.

use std::sync::Arc;

use super::{MusicLibrary, Track, library};
use crate::builtin::dice::DiceRandom;
use crate::builtin::document::{DocumentLineError, yaml};

const TRACKS: &str = "\
tracks:
  - { title: Drums, file: drums.ogg, moods: [battle, tense], length_s: 90 }
  - { title: Swords, url: \"https://music.example/swords.mp3\", moods: [Battle] }
  - { title: Owl, file: owl.ogg, moods: [tavern, merry] }
  - { title: Rain, file: rain.ogg, moods: calm }
moods:
  tavern: [the broken oar]
";

fn read(text: &str) -> Result<(MusicLibrary, Vec<DocumentLineError>), DocumentLineError> {
    yaml(text).and_then(|node| library(&node))
}

/// The title and the mood that are picked when chance always says this number.
fn pick(query: &str, last: Option<&Track>, chance: u32) -> Option<(Arc<Track>, String)> {
    let random: DiceRandom = Arc::new(move |sides| chance.min(sides));
    read(TRACKS).unwrap().0.pick(query, last, &random)
}

fn check(query: &str, chance: u32, expected: &str) {
    let picked = pick(query, None, chance);
    let picked = picked.map(|(track, mood)| format!("{} for {mood}", track.title));
    assert_eq!(picked.unwrap_or_default(), expected, "{query}");
}

#[test]
fn a_track_is_picked_by_its_mood() {
    check("battle", 1, "Drums for battle");
    check("battle", 2, "Swords for battle");
    check("BATTLE!", 2, "Swords for battle");
    check("a tense battle in the rain", 2, "Drums for battle");
    check("calm", 1, "Rain for calm");
}

#[test]
fn words_that_mean_the_same_and_mistyped_ones_do_as_well() {
    check("fight", 1, "Drums for battle");
    check("peaceful", 1, "Rain for calm");
    check("we enter the broken oar", 1, "Owl for tavern");
    check("batle", 1, "Drums for battle");
    check("taven", 1, "Owl for tavern");
    for nothing in ["opera", "", "🎲", "\u{0}", "*"] {
        check(nothing, 1, "");
    }
}

#[test]
fn no_track_is_played_twice_in_a_row_if_there_is_another() {
    let (drums, _) = pick("battle", None, 1).unwrap();
    let (second, _) = pick("battle", Some(&drums), 1).unwrap();
    assert_eq!(second.title, "Swords");
    let (rain, _) = pick("calm", None, 1).unwrap();
    assert_eq!(pick("calm", Some(&rain), 1).unwrap().0, rain);
}

#[test]
fn what_is_wrong_is_told_with_its_line_and_left_out() {
    let render = |text: &str| {
        let wrong = match read(text) {
            Ok((_, wrong)) => wrong,
            Err(wrong) => vec![wrong],
        };
        let render =
            wrong.into_iter().map(|it| format!("{}: {}", it.line.unwrap_or(0), it.problem));
        render.collect::<Vec<_>>().join("; ")
    };
    let good = "tracks:\n- { title: a, file: b, moods: [c] }\n";
    assert_eq!(render(good), "");
    for (more, expected) in [
        ("- { title: a, moods: [c] }", "3: a track has either `file` or `url`"),
        ("- { title: a, file: b, url: c, moods: [c] }", "3: a track has either `file` or `url`"),
        (
            "- { title: a, url: \"file:///x\", moods: [c] }",
            "3: `url` must begin with http:// or https://",
        ),
        ("- { title: a, file: b }", "3: `moods` is missing"),
        ("- { title: a, file: b, moods: [] }", "3: `moods` has 1 to 32 words"),
        ("- { file: b, moods: [c] }", "3: `title` is missing"),
        (
            "- { title: a, file: b, moods: [c], length_s: long }",
            "3: `length_s` must be a whole number",
        ),
        ("moods: { x: [y] }", "3: no track has the mood `x`"),
    ] {
        assert_eq!(render(&format!("{good}{more}\n")), expected, "{more}");
    }
    assert_eq!(render("tracks: []"), "1: it has no `tracks`");
    assert_eq!(
        render("tracks: [a]"),
        "1: a map is expected here, with the keys `title`, `file`, `url`, `moods`, `length_s`"
    );
}
