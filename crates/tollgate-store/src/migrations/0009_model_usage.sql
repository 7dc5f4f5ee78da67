-- What models were used for, summed up by day (since 1970, UTC), key, agent and model. The agent is
-- empty if a model was asked directly.
CREATE TABLE model_usage (
    day INTEGER NOT NULL,
    key TEXT NOT NULL,
    agent TEXT NOT NULL,
    model TEXT NOT NULL,
    requests INTEGER NOT NULL,
    input_tokens INTEGER NOT NULL,
    output_tokens INTEGER NOT NULL,
    cache_read_tokens INTEGER NOT NULL,
    cache_written_tokens INTEGER NOT NULL,
    cost_nano_usd INTEGER NOT NULL,
    unpriced_requests INTEGER NOT NULL,
    PRIMARY KEY (day, key, agent, model)
) STRICT, WITHOUT ROWID;
-- Limits of a key that was created by command, one in each line; nothing: those of every key.
ALTER TABLE keys ADD COLUMN model_limits TEXT;
