use super::{CloseName, NameDistance, SoundKey};
use crate::memory::fold_text;

fn distance(given: &str, known: &str) -> Option<NameDistance> {
    CloseName::new(given)?.distance(&fold_text(known))
}

#[test]
fn what_sounds_alike_has_one_key() {
    for (one, other) in [
        ("Oswyn Pel", "Oswin Pell"),
        ("Catherine", "Katherine"),
        ("Kristof", "Christoph"),
        ("Sara", "Sarah"),
        ("Ann", "Anne"),
        ("Jon Smith", "John Smyth"),
        ("Aleksander", "Alexander"),
        ("Élise", "Elise"),
    ] {
        let key = |name| SoundKey::of(&fold_text(name)).sound;
        assert_eq!(key(one), key(other), "{one} {other}");
    }
}

#[test]
fn misspelt_and_misheard_names_are_close_and_others_are_not() {
    for (given, known, expected) in [
        ("Oswyn Pel", "Oswin Pell", true),
        ("Oswin Pal", "Oswin Pell", true),
        ("Osswinpell", "Oswin Pell", true),
        ("Oswyn", "Oswin Pell", true),
        ("Pel", "Oswin Pell", true),
        ("Mira Fos", "Mira Voss", true),
        ("Lady Elarra Moon", "Lady Elara Moon", true),
        ("Elarra", "Lady Elara Moon", true),
        ("Thronfield", "Thornfield", true),
        ("Tom", "Tim", false),
        ("Oswyn Pel", "Edwin Bell", false),
        ("Mira", "Marta", false),
        ("Elarra", "The Gilded Eel", false),
        ("Oswyn Pel and all of his many friends", "Oswin Pell", false),
        ("小明", "小红", false),
        ("???", "Tom", false),
    ] {
        assert_eq!(distance(given, known).is_some(), expected, "{given} {known}");
    }
    assert!(CloseName::new("").is_none());
    assert!(CloseName::new(&"ab ".repeat(200)).is_none());
    assert_eq!(distance("a", ""), None);
}

#[test]
fn the_closest_is_the_one_that_sounds_the_same_then_the_whole_name_then_the_spelling() {
    let mut known = ["Oswin Pell", "Oswyn Bell", "Captain Oswyn Pel", "Oswyn Pel the Younger"];
    known.sort_by_key(|name| distance("Oswyn Pell", name));
    assert_eq!(known, ["Oswin Pell", "Captain Oswyn Pel", "Oswyn Pel the Younger", "Oswyn Bell"]);
}

#[test]
fn any_text_can_be_compared() {
    let texts = ["", " ", "e", "h", "x", "xx", "ph", "🐉", "é", "a\u{301}", "ﬀ", "c", "ss h e"];
    for one in texts {
        for other in texts {
            let _ = distance(one, other);
        }
    }
    let name = CloseName::new("Oswin").unwrap();
    assert!(name.distance(&"oswin ".repeat(1_000)).is_some());
}
