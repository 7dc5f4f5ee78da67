use super::stem;

fn stem_text(word: &str) -> String {
    let mut word = word.to_owned();
    stem(&mut word);
    word
}

const FORMS: &[&str] = &[
    "dragon dragons",
    "city cities",
    "torch torches",
    "box boxes",
    "witness witnesses",
    "hero heroes",
    "shoe shoes",
    "knife knives",
    "wolf wolves",
    "woman women",
    "search searches searching searched",
    "open opens opening opened",
    "walk walks walking walked",
    "run runs running",
    "plan plans planning planned",
    "bake bakes baking baked",
    "hope hopes hoping hoped",
    "hop hops hopping hopped",
    "name names naming named",
    "arrive arrives arriving arrived",
    "believe believed believing",
    "dance dances danced dancing",
    "create creates creating created",
    "treat treats treating treated",
    "cheat cheated cheating",
    "locate located locating",
    "manage managed managing",
    "change changed changing",
    "hang hanging hanged",
    "charge charged charging",
    "avenge avenged avenging",
    "argue argued arguing",
    "rescue rescued rescuing",
    "close closed closing",
    "promise promised promising",
    "curse cursed cursing",
    "miss missed missing",
    "press pressed pressing",
    "handle handled handling",
    "struggle struggles struggled struggling",
    "hire hired hiring",
    "admire admired admiring",
    "repair repaired repairing",
    "share shared sharing",
    "prepare prepared preparing",
    "hear hears hearing",
    "capture captured capturing",
    "explore explored exploring",
    "gather gathered gathering",
    "imagine imagined imagining",
    "train trained training",
    "come comes coming",
    "become becoming",
    "assume assumed assuming",
    "decide decided deciding",
    "avoid avoided avoiding",
    "include included including",
    "invade invaded invading",
    "load loaded loading",
    "make making",
    "take taking",
    "speak speaking",
    "look looked looking",
    "smoke smoked smoking",
    "escape escaped escaping",
    "develop developed developing",
    "describe described describing",
    "climb climbed climbing",
    "invite invited inviting",
    "visit visited visiting",
    "wait waited waiting",
    "execute executed executing",
    "shout shouted shouting",
    "carry carries carried carrying",
    "bury buried burying",
    "see sees seeing",
    "play played playing",
    "show showed showing",
    "fix fixed fixing",
    "call called calling",
    "sniff sniffed sniffing",
    "bleed bleeding",
    "gaze gazed gazing",
];

#[test]
fn the_forms_of_a_word_meet() {
    for forms in FORMS {
        let mut stems: Vec<String> = forms.split(' ').map(stem_text).collect();
        stems.dedup();
        assert_eq!(stems.len(), 1, "{forms}: {stems:?}");
    }
}

#[test]
fn names_stay_apart() {
    for names in [
        "jan jane jana",
        "louis louise luis",
        "luca lucas luka lukas",
        "carlo carlos",
        "nicola nicolas nicole",
        "simon simone",
        "andrea andreas andre",
        "ann anne anna",
        "mari marie maria mario marius",
        "denis denise",
        "justin justine",
        "adel adele",
        "thom thomas",
        "elia elias eli",
        "jared jar",
        "fred freda alfred",
        "king kin",
        "spring string",
        "marc marcus marco marcos",
        "tobi tobias",
        "silas sila",
        "chris christ",
        "elara elaras elaria",
        "bran brand brandis",
        "reed red",
        "evening even",
    ] {
        let names: Vec<&str> = names.split(' ').collect();
        let mut stems: Vec<String> = names.iter().map(|it| stem_text(it)).collect();
        stems.sort();
        stems.dedup();
        assert_eq!(stems.len(), names.len(), "{names:?}: {stems:?}");
    }
}

#[test]
fn what_is_no_plain_word_stays() {
    for word in ["", "s", "is", "bus", "gas", "class", "status", "analysis", "2d6s", "éing", "ring"]
    {
        assert_eq!(stem_text(word), word);
    }
}
