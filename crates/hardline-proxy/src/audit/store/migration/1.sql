-- Version 1: the tables of the audit database. Times are microseconds since 1970, UTC. docs/audit.md explains the columns.
CREATE TABLE sessions (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  key TEXT NOT NULL UNIQUE,
  server TEXT NOT NULL,
  command TEXT NOT NULL,
  profile TEXT NOT NULL,
  version TEXT NOT NULL,
  client TEXT,
  pid INTEGER NOT NULL,
  cwd TEXT,
  started INTEGER NOT NULL,
  seen INTEGER NOT NULL,
  ended INTEGER,
  outcome TEXT,
  messages INTEGER NOT NULL DEFAULT 0,
  bytes INTEGER NOT NULL DEFAULT 0,
  findings INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE TABLE launches (
  id INTEGER PRIMARY KEY,
  session INTEGER NOT NULL REFERENCES sessions (id),
  seq INTEGER NOT NULL,
  at INTEGER NOT NULL,
  argv TEXT NOT NULL,
  path TEXT,
  sha256 TEXT,
  UNIQUE (session, seq)
) STRICT;
CREATE TABLE messages (
  id INTEGER PRIMARY KEY,
  session INTEGER NOT NULL REFERENCES sessions (id),
  at INTEGER NOT NULL,
  direction TEXT NOT NULL,
  method TEXT,
  tool TEXT,
  request TEXT,
  bytes INTEGER NOT NULL,
  latency INTEGER,
  verdict TEXT NOT NULL,
  body TEXT
) STRICT;
CREATE TABLE counters (
  session INTEGER NOT NULL REFERENCES sessions (id),
  second INTEGER NOT NULL,
  direction TEXT NOT NULL,
  method TEXT NOT NULL,
  verdict TEXT NOT NULL,
  messages INTEGER NOT NULL,
  bytes INTEGER NOT NULL,
  PRIMARY KEY (session, second, direction, method, verdict)
) STRICT, WITHOUT ROWID;
CREATE TABLE findings (
  id INTEGER PRIMARY KEY,
  session INTEGER NOT NULL REFERENCES sessions (id),
  seq INTEGER NOT NULL,
  at INTEGER NOT NULL,
  rule TEXT NOT NULL,
  severity TEXT NOT NULL,
  direction TEXT NOT NULL,
  action TEXT NOT NULL,
  path TEXT,
  "offset" INTEGER NOT NULL,
  length INTEGER NOT NULL,
  excerpt TEXT NOT NULL,
  detail TEXT NOT NULL,
  count INTEGER NOT NULL,
  UNIQUE (session, seq)
) STRICT;
CREATE TABLE events (
  id INTEGER PRIMARY KEY,
  session INTEGER NOT NULL REFERENCES sessions (id),
  seq INTEGER NOT NULL,
  at INTEGER NOT NULL,
  kind TEXT NOT NULL,
  text TEXT NOT NULL,
  UNIQUE (session, seq)
) STRICT;
CREATE TABLE spills (name TEXT PRIMARY KEY, at INTEGER NOT NULL) STRICT;
CREATE TABLE housekeeping (pruned INTEGER NOT NULL) STRICT;
INSERT INTO housekeeping (pruned) VALUES (0);
