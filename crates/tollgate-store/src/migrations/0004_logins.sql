-- What servers gave for a person's consent. Another address under the same name is another server.
CREATE TABLE logins (
    server TEXT NOT NULL,
    resource TEXT NOT NULL,
    issuer TEXT,
    -- Tokens and the client they were given to, as JSON.
    credentials TEXT NOT NULL,
    PRIMARY KEY (server, resource)
) STRICT;
