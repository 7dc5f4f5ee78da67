-- What live sessions used. Tokens of audio are a part of the tokens of a row; milliseconds are of
-- audio in either direction, and of connections.
ALTER TABLE model_usage ADD COLUMN audio_input_tokens INTEGER NOT NULL DEFAULT 0;
ALTER TABLE model_usage ADD COLUMN audio_output_tokens INTEGER NOT NULL DEFAULT 0;
ALTER TABLE model_usage ADD COLUMN audio_cached_tokens INTEGER NOT NULL DEFAULT 0;
ALTER TABLE model_usage ADD COLUMN heard_ms INTEGER NOT NULL DEFAULT 0;
ALTER TABLE model_usage ADD COLUMN spoken_ms INTEGER NOT NULL DEFAULT 0;
ALTER TABLE model_usage ADD COLUMN live_ms INTEGER NOT NULL DEFAULT 0;
