-- One (namespace, audience). Whatever is kept stands on one, and the words it is found by carry its
-- number. Texts that are compared are compared by their bytes, whatever the database's own order is.
CREATE TABLE shelves (
    id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    namespace text COLLATE "C" NOT NULL,
    -- The agent that alone sees it; empty: every agent of the namespace does.
    owner text COLLATE "C" NOT NULL,
    -- How much stands on it.
    sessions bigint NOT NULL DEFAULT 0,
    entries bigint NOT NULL DEFAULT 0,
    facts bigint NOT NULL DEFAULT 0,
    entities bigint NOT NULL DEFAULT 0,
    relations bigint NOT NULL DEFAULT 0,
    -- How much ever did: that says in which drawer the words of the next one go.
    entries_ever bigint NOT NULL DEFAULT 0,
    facts_ever bigint NOT NULL DEFAULT 0,
    -- From which to which number; they lie between those of other shelves.
    first_entry bigint NOT NULL DEFAULT 0,
    last_entry bigint NOT NULL DEFAULT 0,
    first_fact bigint NOT NULL DEFAULT 0,
    last_fact bigint NOT NULL DEFAULT 0,
    UNIQUE (namespace, owner)
) WITH (fillfactor = 50);

-- Who wrote something on a shelf.
CREATE TABLE authors (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    shelf integer NOT NULL,
    name text COLLATE "C" NOT NULL,
    via text COLLATE "C" NOT NULL,
    trust text COLLATE "C" NOT NULL,
    UNIQUE (shelf, name, via, trust)
);

-- L1: what was said. Times are milliseconds since 1970, here and below.
CREATE TABLE sessions (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    shelf integer NOT NULL,
    name text COLLATE "C" NOT NULL,
    entries bigint NOT NULL,
    began bigint NOT NULL,
    last bigint NOT NULL,
    -- The last entry that stands in a passage, and how many there are after it.
    read_to bigint NOT NULL DEFAULT 0,
    unread bigint NOT NULL,
    summary text,
    summary_author bigint,
    UNIQUE (shelf, name)
) WITH (fillfactor = 70);
CREATE INDEX sessions_last ON sessions (shelf, last, id);
CREATE INDEX sessions_unread ON sessions (unread) WHERE unread > 0;
CREATE INDEX sessions_summary ON sessions (summary_author) WHERE summary_author IS NOT NULL;

-- The words of a text are numbers made of its shelf, a drawer of the shelf and the word: see
-- postings.rs. They go into the index at once: a list of those that wait for it would be read by
-- every search.
CREATE TABLE entries (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    session bigint NOT NULL,
    author bigint NOT NULL,
    speaker text NOT NULL,
    text text NOT NULL,
    at bigint NOT NULL,
    words bigint[] NOT NULL
);
ALTER TABLE entries ALTER words SET STATISTICS 0;
CREATE INDEX entries_session ON entries (session, id);
CREATE INDEX entries_author ON entries (author);
CREATE INDEX entries_words ON entries USING gin (words) WITH (fastupdate = off);

-- L2: facts, and passages of transcripts.
CREATE TABLE facts (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    shelf integer NOT NULL,
    author bigint NOT NULL,
    text text NOT NULL,
    -- SHA-256 of what makes it the same fact.
    same bytea NOT NULL,
    at bigint NOT NULL,
    session text COLLATE "C",
    entity text COLLATE "C",
    topic text,
    -- The entries a passage was made of.
    first bigint,
    last bigint,
    words bigint[] NOT NULL,
    UNIQUE (author, same)
);
ALTER TABLE facts ALTER words SET STATISTICS 0;
CREATE INDEX facts_at ON facts (shelf, at, id);
CREATE INDEX facts_heard ON facts (shelf, session) WHERE first IS NOT NULL;
CREATE INDEX facts_words ON facts USING gin (words) WITH (fastupdate = off);

-- Vectors of different lengths have nothing to do with each other, whatever the model is called.
CREATE TABLE models (
    id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name text COLLATE "C" NOT NULL,
    dimensions integer NOT NULL,
    UNIQUE (name, dimensions)
);

-- Numbers are never given again, and rise in the order in which they are seen: who holds sketches in
-- memory sees by them what is new and what is gone.
CREATE TABLE vectors (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    fact bigint NOT NULL,
    model integer NOT NULL,
    shelf integer NOT NULL,
    -- Of length 1. Where there is pgvector, each model has an index of its own over these.
    numbers real[] NOT NULL,
    sketch bytea NOT NULL,
    UNIQUE (fact, model)
);
ALTER TABLE vectors ALTER numbers SET STORAGE EXTERNAL, ALTER numbers SET STATISTICS 0;
CREATE INDEX vectors_of_model ON vectors (model, id);
CREATE INDEX vectors_of_shelf ON vectors (model, shelf);

-- L3: who and what there is.
CREATE TABLE entities (
    number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    shelf integer NOT NULL,
    author bigint NOT NULL,
    id text COLLATE "C" NOT NULL,
    kind text COLLATE "C" NOT NULL,
    name text COLLATE "C" NOT NULL,
    -- The name as it is looked for.
    folded text COLLATE "C" NOT NULL,
    -- JSON.
    attributes text NOT NULL,
    changed bigint NOT NULL,
    words bigint[] NOT NULL,
    UNIQUE (shelf, id)
);
ALTER TABLE entities ALTER words SET STATISTICS 0;
CREATE INDEX entities_name ON entities (shelf, folded, number);
CREATE INDEX entities_kind ON entities (shelf, kind, folded, number);
CREATE INDEX entities_author ON entities (author);
CREATE INDEX entities_words ON entities USING gin (words) WITH (fastupdate = off);

-- By the ids of its ends: an agent's own relation may lead to what is shared.
CREATE TABLE relations (
    number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    shelf integer NOT NULL,
    author bigint NOT NULL,
    source text COLLATE "C" NOT NULL,
    kind text COLLATE "C" NOT NULL,
    target text COLLATE "C" NOT NULL,
    attributes text NOT NULL,
    session text COLLATE "C",
    confidence real NOT NULL,
    changed bigint NOT NULL,
    UNIQUE (shelf, source, kind, target)
);
CREATE INDEX relations_source ON relations (shelf, source, confidence);
CREATE INDEX relations_target ON relations (shelf, target, confidence);
CREATE INDEX relations_author ON relations (author);
