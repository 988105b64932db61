-- A database of version 1 with one session. Never changes: later versions must read it.
PRAGMA auto_vacuum = INCREMENTAL;
PRAGMA journal_mode = WAL;
BEGIN;
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
INSERT INTO sessions (id, key, server, command, profile, version, client, pid, cwd, started, seen, ended, outcome, messages, bytes, findings) VALUES (1, '00112233445566aa', 'files', '["npx","-y","server-files"]', 'balanced', '0.1.0', 'Some Client 1.2', 4711, '/home/me', 1785231000000000, 1785231009000000, 1785231009000000, 'server ended with 0', 5, 410, 3);
INSERT INTO launches (id, session, seq, at, argv, path, sha256) VALUES (1, 1, 1, 1785231000000001, '["npx","-y","server-files"]', '/usr/bin/npx', 'abab');
INSERT INTO messages (id, session, at, direction, method, tool, request, bytes, latency, verdict, body) VALUES (1, 1, 1785231001000000, 'client-to-server', 'tools/call', 'read', '"a"', 100, NULL, 'passed', NULL);
INSERT INTO messages (id, session, at, direction, method, tool, request, bytes, latency, verdict, body) VALUES (2, 1, 1785231001001500, 'server-to-client', 'tools/call', 'read', '"a"', 10, 1500, 'sanitized', '{}');
INSERT INTO counters (session, second, direction, method, verdict, messages, bytes) VALUES (1, 1785231002000000, 'server-to-client', 'notifications/message', 'blocked', 3, 300);
INSERT INTO findings (id, session, seq, at, rule, severity, direction, action, path, "offset", length, excerpt, detail, count) VALUES (1, 1, 2, 1785231001001500, 'frame.duplicate-key', 'high', 'server-to-client', 'block', '$.result', 33, 8, '"result"', 'the key occurs twice', 3);
INSERT INTO events (id, session, seq, at, kind, text) VALUES (1, 1, 3, 1785231009000000, 'server-ended', 'the server exited with code 0');
INSERT INTO spills (name, at) VALUES ('audit-spill-4711-00112233445566aa-0.jsonl', 1785231005000000);
UPDATE housekeeping SET pruned = 1785231000000000;
PRAGMA application_id = 1212965237;
PRAGMA user_version = 1;
COMMIT;
