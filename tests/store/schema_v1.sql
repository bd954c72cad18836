-- The coordinator's database as version 1 created it; migration_test.cc opens such a file. It must
-- not change.

CREATE TABLE jobs (
  job           TEXT    NOT NULL PRIMARY KEY,
  name          TEXT    NOT NULL,
  namespace     TEXT    NOT NULL,
  framework     TEXT    NOT NULL,
  state         TEXT    NOT NULL,
  master_addr   TEXT    NOT NULL,
  shared_tor_ip TEXT    NOT NULL,
  ranks         INTEGER NOT NULL,
  nodes         INTEGER NOT NULL,
  has_trainer   INTEGER NOT NULL,
  created       INTEGER NOT NULL,
  updated       INTEGER NOT NULL,
  ended         INTEGER NOT NULL,
  last_run      INTEGER NOT NULL,
  last_reply    INTEGER NOT NULL,
  owing_until   INTEGER NOT NULL
) WITHOUT ROWID;

-- Recently deleted jobs, for job signal subscribers that were disconnected at the deletion. hccl is
-- the rank table in the form that subscribers get.
CREATE TABLE deleted_jobs (
  job           TEXT    NOT NULL PRIMARY KEY,
  name          TEXT    NOT NULL,
  namespace     TEXT    NOT NULL,
  framework     TEXT    NOT NULL,
  state         TEXT    NOT NULL,
  master_addr   TEXT    NOT NULL,
  shared_tor_ip TEXT    NOT NULL,
  created       INTEGER NOT NULL,
  deleted       INTEGER NOT NULL,
  hccl          TEXT    NOT NULL
);

-- The content last taken from each file of the jobs directory. print is its fingerprint; owner is 1
-- if the job is deleted with the file. The row exists as long as the file.
CREATE TABLE job_files (
  job   TEXT    NOT NULL PRIMARY KEY,
  print TEXT    NOT NULL,
  owner INTEGER NOT NULL
) WITHOUT ROWID;

-- A job's rank table as applied, and the warnings about it.
CREATE TABLE rank_tables (
  job      TEXT NOT NULL PRIMARY KEY REFERENCES jobs (job) ON DELETE CASCADE,
  warnings TEXT NOT NULL,
  text     TEXT NOT NULL
);

CREATE TABLE job_nodes (
  job      TEXT    NOT NULL REFERENCES jobs (job) ON DELETE CASCADE,
  position INTEGER NOT NULL,
  node     TEXT    NOT NULL,
  aliases  TEXT    NOT NULL,
  PRIMARY KEY (job, position)
) WITHOUT ROWID;

CREATE TABLE ranks (
  job    TEXT    NOT NULL REFERENCES jobs (job) ON DELETE CASCADE,
  rank   INTEGER NOT NULL,
  node   TEXT    NOT NULL,
  device INTEGER NOT NULL,
  PRIMARY KEY (job, rank)
) WITHOUT ROWID;

-- A run number is never reused, even if the newest run is deleted from this table.
CREATE TABLE runs (
  run          INTEGER PRIMARY KEY AUTOINCREMENT,
  job          TEXT    NOT NULL,
  state        TEXT    NOT NULL,
  executor     TEXT    NOT NULL,
  ops          INTEGER NOT NULL,
  ranks        INTEGER NOT NULL,
  expected     INTEGER NOT NULL,
  cancelled    INTEGER NOT NULL,
  created      INTEGER NOT NULL,
  notify_after INTEGER NOT NULL,
  start_by     INTEGER NOT NULL,
  started      INTEGER NOT NULL,
  deadline     INTEGER NOT NULL,
  ended        INTEGER NOT NULL,
  -- Counted once, when the run is closed; NULL until then.
  answered_ranks       INTEGER,
  faulty_ranks         INTEGER,
  ok                   INTEGER,
  not_run              INTEGER,
  faulty               INTEGER,
  timeout              INTEGER,
  voltage_not_restored INTEGER,
  message      TEXT    NOT NULL
);
CREATE INDEX runs_job ON runs (job, run);
CREATE INDEX runs_open ON runs (run) WHERE state <> 'closed';

-- The ranks of a run on one node.
CREATE TABLE run_parts (
  run      INTEGER NOT NULL REFERENCES runs (run) ON DELETE CASCADE,
  part     INTEGER NOT NULL,
  node     TEXT    NOT NULL,
  agent    TEXT    NOT NULL,
  identity TEXT    NOT NULL,
  state    TEXT    NOT NULL,
  PRIMARY KEY (run, part)
) WITHOUT ROWID;

-- The run's own copy of ranks and devices.
CREATE TABLE run_ranks (
  run      INTEGER NOT NULL REFERENCES runs (run) ON DELETE CASCADE,
  rank     INTEGER NOT NULL,
  part     INTEGER NOT NULL,
  node     TEXT    NOT NULL,
  device   INTEGER NOT NULL,
  ops      INTEGER NOT NULL,
  begun    INTEGER NOT NULL,
  deadline INTEGER NOT NULL,
  PRIMARY KEY (run, rank)
) WITHOUT ROWID;
CREATE INDEX run_ranks_device ON run_ranks (node, device, run);

-- One answered op of one rank. A row never changes.
CREATE TABLE outcomes (
  run      INTEGER NOT NULL REFERENCES runs (run) ON DELETE CASCADE,
  rank     INTEGER NOT NULL,
  op       INTEGER NOT NULL,
  code     INTEGER NOT NULL,
  started  INTEGER NOT NULL,
  finished INTEGER NOT NULL,
  detail   TEXT    NOT NULL,
  PRIMARY KEY (run, rank, op)
) WITHOUT ROWID;
CREATE INDEX outcomes_suspect ON outcomes (run, rank) WHERE code IN (2, 4);

-- Machines with an agent.
CREATE TABLE nodes (
  node      TEXT    NOT NULL PRIMARY KEY,
  attached  INTEGER NOT NULL,
  since     INTEGER NOT NULL,
  identity  TEXT    NOT NULL,
  version   TEXT    NOT NULL,
  host_name TEXT    NOT NULL,
  fqdn      TEXT    NOT NULL,
  driver    TEXT    NOT NULL,
  addresses TEXT    NOT NULL
) WITHOUT ROWID;

-- The devices of the agents, and the run that holds each. position is NULL for a device that no
-- agent has reported (a subscriber run holds it); run is NULL for a free device.
CREATE TABLE devices (
  node     TEXT    NOT NULL,
  device   INTEGER NOT NULL,
  position INTEGER,
  kind     TEXT    NOT NULL,
  detail   TEXT    NOT NULL,
  run      INTEGER,
  PRIMARY KEY (node, device)
) WITHOUT ROWID;

-- The event log, for operators. time is UTC text.
CREATE TABLE events (
  event INTEGER PRIMARY KEY,
  time  TEXT    NOT NULL,
  kind  TEXT    NOT NULL,
  job   TEXT,
  run   INTEGER,
  node  TEXT,
  text  TEXT    NOT NULL
);
CREATE INDEX events_run ON events (run) WHERE run IS NOT NULL;

-- Every answered op.
CREATE VIEW results AS
SELECT o.run, r.job, k.node, o.rank, k.device,
       CASE o.op WHEN 0 THEN 'aic' ELSE 'p2p' END AS op,
       CASE o.code WHEN 0 THEN 'ok' WHEN 1 THEN 'not_run' WHEN 2 THEN 'faulty' WHEN 3 THEN 'timeout'
                   ELSE 'voltage_not_restored' END AS outcome,
       o.code, o.detail,
       strftime('%Y-%m-%dT%H:%M:%fZ', nullif(o.started, 0) / 1000.0, 'unixepoch') AS started,
       strftime('%Y-%m-%dT%H:%M:%fZ', nullif(o.finished, 0) / 1000.0, 'unixepoch') AS finished,
       CASE WHEN o.started > 0 AND o.finished > 0 THEN (o.finished - o.started) / 1000.0 END
         AS seconds
FROM outcomes AS o
JOIN runs AS r ON r.run = o.run
JOIN run_ranks AS k ON k.run = o.run AND k.rank = o.rank;

-- The newest result of each node, device and op. It steps from device to device through the index
-- run_ranks_device, so its time depends on the number of devices, not on the number of runs.
CREATE VIEW latest AS
WITH RECURSIVE
  seen_nodes (node) AS (
    SELECT min(node) FROM run_ranks
    UNION ALL
    SELECT (SELECT min(k.node) FROM run_ranks AS k WHERE k.node > n.node)
    FROM seen_nodes AS n WHERE n.node IS NOT NULL
  ),
  seen (node, device) AS (
    SELECT n.node, (SELECT min(k.device) FROM run_ranks AS k WHERE k.node = n.node)
    FROM seen_nodes AS n WHERE n.node IS NOT NULL
    UNION ALL
    SELECT s.node, (SELECT min(k.device) FROM run_ranks AS k
                    WHERE k.node = s.node AND k.device > s.device)
    FROM seen AS s WHERE s.device IS NOT NULL
  ),
  ops (op, name) AS (SELECT 0, 'aic' UNION ALL SELECT 1, 'p2p'),
  newest (node, device, op, name, run) AS (
    SELECT s.node, s.device, p.op, p.name,
           (SELECT k.run FROM run_ranks AS k
            JOIN outcomes AS o ON o.run = k.run AND o.rank = k.rank AND o.op = p.op
            WHERE k.node = s.node AND k.device = s.device ORDER BY k.run DESC LIMIT 1)
    FROM seen AS s CROSS JOIN ops AS p WHERE s.device IS NOT NULL
  )
SELECT r.*
FROM newest AS n
CROSS JOIN results AS r ON r.run = n.run AND r.op = n.name
  AND r.rank = (SELECT max(k.rank) FROM run_ranks AS k
                JOIN outcomes AS o ON o.run = k.run AND o.rank = k.rank AND o.op = n.op
                WHERE k.node = n.node AND k.device = n.device AND k.run = n.run);

-- The progress of each run. answered counts ranks with an outcome for every op; faulty counts ranks
-- with an outcome faulty or voltage_not_restored.
CREATE VIEW run_progress AS
SELECT r.run, r.job, r.state, r.executor, r.ranks,
       coalesce(r.answered_ranks,
                (SELECT count(*) FROM run_ranks AS k
                 WHERE k.run = r.run AND (k.ops & 1) + (k.ops >> 1) =
                   (SELECT count(*) FROM outcomes AS o WHERE o.run = k.run AND o.rank = k.rank)))
         AS answered,
       coalesce(r.faulty_ranks,
                (SELECT count(DISTINCT o.rank) FROM outcomes AS o
                 WHERE o.run = r.run AND o.code IN (2, 4))) AS faulty,
       strftime('%Y-%m-%dT%H:%M:%fZ', nullif(r.started, 0) / 1000.0, 'unixepoch') AS started,
       strftime('%Y-%m-%dT%H:%M:%fZ', nullif(r.deadline, 0) / 1000.0, 'unixepoch') AS deadline
FROM runs AS r;

-- Suspect devices: the newest outcome of an op that is a verdict on the hardware (ok, faulty,
-- voltage_not_restored) is not ok. since: the first such outcome after the last ok.
CREATE VIEW faulty AS
SELECT r.node, r.device, r.op, r.outcome,
       (SELECT min(b.finished) FROM results AS b
        WHERE b.node = r.node AND b.device = r.device AND b.op = r.op AND b.code IN (2, 4)
          AND b.run > (SELECT ifnull(max(g.run), 0) FROM results AS g
                       WHERE g.node = r.node AND g.device = r.device AND g.op = r.op
                         AND g.code = 0)) AS since,
       r.detail AS why, r.run, r.job, r.rank
FROM results AS r
WHERE r.code IN (2, 4)
  AND NOT EXISTS (SELECT 1 FROM results AS n
                  WHERE n.node = r.node AND n.device = r.device AND n.op = r.op
                    AND n.run > r.run AND n.code IN (0, 2, 4));
