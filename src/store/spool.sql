-- The agent's database, version 1. Numbers as in the coordinator's (schema.sql).

CREATE TABLE agent (
  identity TEXT NOT NULL
);

CREATE TABLE runs (
  run          INTEGER PRIMARY KEY,
  job          TEXT    NOT NULL,
  started      INTEGER NOT NULL,
  aic_deadline INTEGER NOT NULL,
  p2p_deadline INTEGER NOT NULL,
  kill_grace   INTEGER NOT NULL
);

CREATE TABLE ranks (
  run    INTEGER NOT NULL REFERENCES runs (run) ON DELETE CASCADE,
  rank   INTEGER NOT NULL,
  device INTEGER NOT NULL,
  ops    INTEGER NOT NULL,
  PRIMARY KEY (run, rank)
) WITHOUT ROWID;

-- What an op has come to: it was begun, it has an outcome (code is not NULL), that is acknowledged.
CREATE TABLE ops (
  run      INTEGER NOT NULL,
  rank     INTEGER NOT NULL,
  op       INTEGER NOT NULL,
  begun    INTEGER,
  code     INTEGER,
  started  INTEGER,
  finished INTEGER,
  detail   TEXT,
  acked    INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (run, rank, op),
  FOREIGN KEY (run, rank) REFERENCES ranks (run, rank) ON DELETE CASCADE
) WITHOUT ROWID;
