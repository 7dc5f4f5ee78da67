-- Facts are found by the entity that they are about, newest first.
CREATE INDEX facts_about ON facts (shelf, entity, at, id) WHERE entity IS NOT NULL;
