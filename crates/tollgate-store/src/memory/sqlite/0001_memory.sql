-- One (namespace, audience). Whatever is kept stands on one, and the words it is found by carry the
-- number of it: what stands on another shelf is not even looked at.
CREATE TABLE shelves (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    namespace TEXT NOT NULL,
    -- The agent that alone sees it; empty: every agent of the namespace does.
    owner TEXT NOT NULL,
    -- How much stands on it.
    sessions INTEGER NOT NULL DEFAULT 0,
    entries INTEGER NOT NULL DEFAULT 0,
    facts INTEGER NOT NULL DEFAULT 0,
    entities INTEGER NOT NULL DEFAULT 0,
    relations INTEGER NOT NULL DEFAULT 0,
    -- From which to which number; they lie between those of other shelves.
    first_entry INTEGER NOT NULL DEFAULT 0,
    last_entry INTEGER NOT NULL DEFAULT 0,
    first_fact INTEGER NOT NULL DEFAULT 0,
    last_fact INTEGER NOT NULL DEFAULT 0,
    UNIQUE (namespace, owner)
) STRICT;

-- Who wrote something on a shelf.
CREATE TABLE authors (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    shelf INTEGER NOT NULL,
    name TEXT NOT NULL,
    via TEXT NOT NULL,
    trust TEXT NOT NULL,
    UNIQUE (shelf, name, via, trust)
) STRICT;

-- L1: what was said. Times are milliseconds since 1970, here and below.
CREATE TABLE sessions (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    shelf INTEGER NOT NULL,
    name TEXT NOT NULL,
    entries INTEGER NOT NULL DEFAULT 0,
    began INTEGER NOT NULL,
    last INTEGER NOT NULL,
    first_entry INTEGER NOT NULL,
    last_entry INTEGER NOT NULL,
    -- The last entry that stands in a passage, and how many there are after it.
    read_to INTEGER NOT NULL DEFAULT 0,
    unread INTEGER NOT NULL DEFAULT 0,
    summary TEXT,
    summary_author INTEGER,
    UNIQUE (shelf, name)
) STRICT;
CREATE INDEX sessions_last ON sessions (shelf, last);
CREATE INDEX sessions_unread ON sessions (unread) WHERE unread > 0;
CREATE INDEX sessions_summary ON sessions (summary_author) WHERE summary_author IS NOT NULL;

CREATE TABLE entries (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    session INTEGER NOT NULL,
    author INTEGER NOT NULL,
    speaker TEXT NOT NULL,
    text TEXT NOT NULL,
    at INTEGER NOT NULL
) STRICT;
CREATE INDEX entries_session ON entries (session);
CREATE INDEX entries_author ON entries (author);

-- Only lists of numbers: the texts stand above, the words are made by us. Whatever is no ASCII is
-- part of a word for this tokenizer, and of ASCII we only write letters and digits.
CREATE VIRTUAL TABLE entry_words USING fts5 (
    words, content = '', contentless_delete = 1, detail = 'none', tokenize = 'ascii'
);

-- L2: facts, and passages of transcripts.
CREATE TABLE facts (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    shelf INTEGER NOT NULL,
    author INTEGER NOT NULL,
    text TEXT NOT NULL,
    -- SHA-256 of what makes it the same fact: its words, and for a passage where it stands.
    same BLOB NOT NULL,
    at INTEGER NOT NULL,
    session TEXT,
    entity TEXT,
    topic TEXT,
    -- The entries a passage was made of.
    first INTEGER,
    last INTEGER,
    UNIQUE (author, same)
) STRICT;
CREATE INDEX facts_at ON facts (shelf, at);
CREATE INDEX facts_heard_at ON facts (shelf, at) WHERE first IS NOT NULL;
CREATE INDEX facts_heard_in ON facts (shelf, session) WHERE first IS NOT NULL;

CREATE VIRTUAL TABLE fact_words USING fts5 (
    words, content = '', contentless_delete = 1, detail = 'none', tokenize = 'ascii'
);

-- Vectors of different lengths have nothing to do with each other, whatever the model is called.
CREATE TABLE models (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    name TEXT NOT NULL,
    dimensions INTEGER NOT NULL,
    UNIQUE (name, dimensions)
) STRICT;

-- Numbers are never given again: who holds sketches in memory sees by them what is new and gone.
CREATE TABLE vectors (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    fact INTEGER NOT NULL,
    model INTEGER NOT NULL,
    -- Of length 1; four bytes each, little endian.
    numbers BLOB NOT NULL,
    UNIQUE (fact, model)
) STRICT;

CREATE TABLE sketches (
    model INTEGER NOT NULL,
    vector INTEGER NOT NULL,
    shelf INTEGER NOT NULL,
    bits BLOB NOT NULL,
    PRIMARY KEY (model, vector)
) STRICT, WITHOUT ROWID;

-- L3: who and what there is.
CREATE TABLE entities (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    shelf INTEGER NOT NULL,
    author INTEGER NOT NULL,
    id TEXT NOT NULL,
    kind TEXT NOT NULL,
    name TEXT NOT NULL,
    -- The name as it is looked for.
    folded TEXT NOT NULL,
    -- JSON.
    attributes TEXT NOT NULL,
    changed INTEGER NOT NULL,
    UNIQUE (shelf, id)
) STRICT;
CREATE INDEX entities_name ON entities (shelf, folded);
CREATE INDEX entities_kind ON entities (shelf, kind, folded);
CREATE INDEX entities_author ON entities (author);

CREATE VIRTUAL TABLE entity_words USING fts5 (
    words, content = '', contentless_delete = 1, detail = 'none', tokenize = 'ascii'
);

-- By the ids of its ends: an agent's own relation may lead to what is shared.
CREATE TABLE relations (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    shelf INTEGER NOT NULL,
    author INTEGER NOT NULL,
    source TEXT NOT NULL,
    kind TEXT NOT NULL,
    target TEXT NOT NULL,
    attributes TEXT NOT NULL,
    session TEXT,
    confidence REAL NOT NULL,
    changed INTEGER NOT NULL,
    UNIQUE (shelf, source, kind, target)
) STRICT;
CREATE INDEX relations_source ON relations (shelf, source, confidence);
CREATE INDEX relations_target ON relations (shelf, target, confidence, source);
CREATE INDEX relations_author ON relations (author);
