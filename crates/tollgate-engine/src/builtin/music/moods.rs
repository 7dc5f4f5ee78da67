//! Synonyms for moods. A library may add its own.

/// The words of a row are synonyms.
const ALIKE: &[&[&str]] = &[
    &["battle", "fight", "fighting", "combat", "war", "action", "boss"],
    &["calm", "peaceful", "quiet", "relaxing", "relaxed", "serene", "gentle", "soothing", "rest"],
    &["dungeon", "cave", "crypt", "tomb", "underground", "cellar"],
    &["epic", "heroic", "triumphant", "victory", "glorious", "grand"],
    &["merry", "happy", "cheerful", "joyful", "festive", "party", "celebration", "upbeat"],
    &["mystery", "mysterious", "magic", "magical", "arcane", "wonder", "enchanted"],
    &["romantic", "romance", "love", "tender"],
    &["sad", "sorrow", "mourning", "melancholy", "funeral", "tragic", "grief"],
    &["scary", "horror", "spooky", "creepy", "dark", "haunted", "eerie", "fear"],
    &["tavern", "inn", "pub", "bar", "alehouse"],
    &["tense", "tension", "suspense", "danger", "stealth", "sneaking", "nervous"],
    &["travel", "journey", "road", "adventure", "exploration", "wilderness", "forest"],
    &["city", "town", "market", "village", "crowd"],
    &["sea", "ocean", "ship", "sailing", "pirates"],
];

/// Synonyms of a mood.
pub(super) fn alike(mood: &str) -> impl Iterator<Item = &'static str> {
    let rows = ALIKE.iter().filter(move |row| row.contains(&mood));
    rows.flat_map(|row| row.iter().copied())
}
