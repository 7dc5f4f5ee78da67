//! The built-in keywords, in spoken language. A phrase that contains another one of its list is
//! omitted as redundant.

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeywordLanguage {
    German,
    English,
}

impl KeywordLanguage {
    pub const ALL: [Self; 2] = [Self::German, Self::English];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::German => "de",
            Self::English => "en",
        }
    }

    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|language| language.as_str() == text)
    }
}

pub(super) fn deep(language: KeywordLanguage) -> impl Iterator<Item = &'static str> {
    split(match language {
        KeywordLanguage::German => GERMAN_DEEP,
        KeywordLanguage::English => ENGLISH_DEEP,
    })
}

pub(super) fn standard(language: KeywordLanguage) -> impl Iterator<Item = &'static str> {
    split(match language {
        KeywordLanguage::German => GERMAN_STANDARD,
        KeywordLanguage::English => ENGLISH_STANDARD,
    })
}

fn split(list: &'static str) -> impl Iterator<Item = &'static str> {
    list.split([',', '\n']).map(str::trim).filter(|keyword| !keyword.is_empty())
}

const ENGLISH_DEEP: &str = "
    think carefully, think hard, think it through, think this through, take your time
    in detail, more detail, more details, great detail, full detail, every detail, all the details
    detailed, in depth, thoroughly, step by step, deep dive
    explain everything, tell me everything, tell us everything, everything you know
    everything about, the full story, the whole story
    deep search, search the web, search the internet, search online, look online, check online
    look it up online, look that up online, look on the internet, google it, google that, google for
    do some research, research this, research that
    generate image, generate an image, generate a picture, create an image, create a picture
    make an image, make a picture, make me a picture, draw me, draw a picture, paint me
    paint a picture
";

const ENGLISH_STANDARD: &str = "
    remember, remembers, recall, remind me, last time, last session, last night, last week
    last month, yesterday, the other day, a while ago, earlier, previous, previously
    what happened, what did i, what did we, what did you, what did he, what did she, what did they
    search, searching, look up, look it up, look that up, look this up, find out
    rule, rules, how does, how did, how do i, how do we, how can i, explain, describe
    who is, who's, who was, who are, who were, where is, where are, where can i
    when was, when did, why did, why does
    tell me about, tell us about, tell me more, what do you know, what can you tell me
    have you heard, history of, story of, story behind, quest, quests
    my account, my appointment, my bill, my booking, my invoice, my order, my reservation
";

const GERMAN_DEEP: &str = "
    denk gut nach, denk mal gut nach, denk bitte gut nach, denke gut nach, denke bitte gut nach
    denkt gut nach, denken sie gut nach, denken sie bitte gut nach, gut nachdenken
    denk genau nach, denke genau nach, denken sie genau nach, genau nachdenken, denk scharf nach
    denk in ruhe nach, denken sie in ruhe nach, in ruhe nachdenken, in ruhe überlegen
    überleg gut, überleg mal gut, überleg dir gut, überleg dir das gut, überleg es dir gut
    überlege gut, überlege dir gut, überlegen sie gut, überlegen sie sich gut, gut überlegen
    überleg genau, überlege genau, überlegen sie genau
    nimm dir zeit, nimm dir ruhig zeit, nimm dir bitte zeit, nimm dir die zeit, nimm dir alle zeit
    nehmt euch zeit, nehmt euch ruhig zeit, nehmen sie sich zeit, nehmen sie sich ruhig zeit
    nehmen sie sich bitte zeit, nehmen sie sich die zeit, lass dir zeit, lass dir ruhig zeit
    lasst euch zeit, lassen sie sich zeit, lassen sie sich ruhig zeit
    ausführlich, ausführliche, ausführlichen, ausführlicher, ausführliches
    detailliert, detaillierte, detaillierten, detaillierter, im detail, bis ins detail
    bis ins kleinste detail, mehr details, alle details, alle einzelheiten, allen einzelheiten
    haarklein, gründlich, gründlicher, umfassend, umfassende, schritt für schritt
    erzähl mir alles, erzähle mir alles, erzählen sie mir alles, erzählt mir alles
    erzähl uns alles, erzähle uns alles, erzählen sie uns alles, erzählt uns alles
    erzähl alles, sag mir alles, sagen sie mir alles, erklär mir alles, erkläre mir alles
    erklären sie mir alles, alles was du weißt, alles was ihr wisst, alles was sie wissen
    alles über, die ganze geschichte
    such im internet, such mal im internet, such bitte im internet, suche im internet
    suche bitte im internet, suchen sie im internet, suchen sie bitte im internet
    im internet suchen, im internet nach, im internet nachschauen, im internet nachsehen
    im internet nachschlagen, im internet nachgucken, such im netz, suche im netz
    suchen sie im netz, im netz suchen, im netz nach, im netz nachschauen, such im web
    suche im web, im web suchen, durchsuch das internet, durchsuche das internet
    durchsuche das web, durchsuchen sie das internet, such online, suche online, online suchen
    online nach, online nachschauen, online nachsehen, google das, google mal, google nach
    googel, googeln, recherchier, recherchiere, recherchieren, recherchierst
    mal ein bild, mal mir ein bild, male ein bild, male mir, malen sie mir, ein bild malen
    zeichne, zeichnen sie mir, ein bild zeichnen, ein bild erstellen, ein bild erzeugen
    ein bild generieren, erstell ein bild, erstell mir ein bild, erstelle ein bild
    erstelle mir ein bild, erzeug ein bild, erzeuge ein bild, generier ein bild
    generiere ein bild
";

const GERMAN_STANDARD: &str = "
    erinnerst du dich, erinnert ihr euch, erinnern sie sich, erinnere dich, erinner dich
    erinnere mich, weißt du noch, wisst ihr noch, wissen sie noch
    letztes mal, letzte mal, letzten mal, letzte woche, letzter woche, letzten monat
    letzte sitzung, letzten sitzung, gestern, vorgestern, neulich, kürzlich, vorhin, damals
    zuletzt, früher, vor kurzem
    was ist passiert, was passiert ist, was ist geschehen, was geschehen ist, was geschah
    was habe ich, was hab ich, was hast du, was haben wir, was hatten wir
    such, suche, suchst, suchen, nachschlagen, nachzuschlagen, schlag nach, schlag mal nach
    schlag bitte nach, schlag das nach, schlag das mal nach, schlag es nach, schlage nach
    schlagen sie nach, schlagen sie bitte nach, schlagen sie das nach, schlägst du nach
    nachschauen, nachsehen, nachgucken, schau nach, schau mal nach, schau bitte nach
    schauen sie nach, schauen sie mal nach, schauen sie bitte nach, sieh nach, sieh mal nach
    sehen sie nach, sehen sie bitte nach, guck nach, guck mal nach, finde heraus, find heraus
    finden sie heraus, herausfinden
    regel, regeln, regelwerk, wie funktioniert, wie funktionieren, wie geht das, wie läuft
    wie kann ich, wie mache ich, erklär, erkläre, erklären, erklärst
    beschreib, beschreibe, beschreiben, beschreibst
    wer ist, wer war, wer sind, wer waren, wo ist, wo sind, wo finde ich, wo finden wir
    wann war, warum hat, erzähl, erzähle, erzählen, erzählst
    was weißt du, was wisst ihr, was wissen sie, kennst du, kennt ihr, kennen sie
    geschichte der, geschichte des, geschichte von, geschichte vom, geschichte hinter
    quest, quests, auftrag
    mein konto, mein termin, meinen termin, meine bestellung, meiner bestellung, meine buchung
    meine rechnung, meine reservierung
";
