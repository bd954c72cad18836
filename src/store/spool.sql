-- The agent's database, version 1. Numbers have the same meaning as in the coordinator's database
-- (schema.sql).

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

-- The progress of an op: begun, has an outcome (code is not NULL), and the coordinator has
-- acknowledged it (acked = 1).
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
