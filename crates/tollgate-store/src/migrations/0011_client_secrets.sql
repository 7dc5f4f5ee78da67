-- Credentials of browsers. Neither the secret nor the key that it was requested with is stored: the
-- second hash is of both together, so nobody can try weak keys against it.
CREATE TABLE client_secrets (
    fingerprint BLOB PRIMARY KEY,
    binding BLOB NOT NULL,
    -- What it allows, as JSON.
    terms TEXT NOT NULL,
    -- Milliseconds since 1970.
    until INTEGER NOT NULL,
    uses INTEGER NOT NULL DEFAULT 0,
    -- NULL: until it expires.
    max_uses INTEGER
) STRICT;

-- Calls that the gateway created or accepted at a provider, and whose they are.
CREATE TABLE live_calls (
    id TEXT PRIMARY KEY,
    principal TEXT NOT NULL,
    model TEXT NOT NULL,
    -- Milliseconds since 1970.
    began INTEGER NOT NULL
) STRICT;
