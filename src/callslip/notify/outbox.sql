-- What was seen of the log, and what is still to be told. Losing it costs repeated notices, with the same ids.

create table if not exists follower (
  one integer primary key check (one = 1),
  change integer not null
);

create table if not exists seen (
  session text primary key,
  seq integer not null
) without rowid;

create table if not exists endpoint (
  place text primary key,
  settings text not null,
  failures integer not null default 0,
  tried_at integer not null default 0,
  pause integer not null default 0,
  gone integer not null default 0,
  trouble text not null default ''
) without rowid;

-- state: waiting, delivered or given_up. The last two are kept for a while so that the same notice is not queued twice,
-- without their body.
create table if not exists notice (
  no integer primary key autoincrement,
  place text not null,
  id text not null,
  body blob not null,
  state text not null default 'waiting',
  queued_at integer not null,
  attempts integer not null default 0,
  tried_at integer not null default 0,
  pause integer not null default 0,
  unique (place, id)
);

create index if not exists notice_due on notice (place, attempts, no) where state = 'waiting';

-- Alarms from any process, until the one that tells takes them over.
create table if not exists alarm (
  no integer primary key autoincrement,
  id text not null unique,
  notice blob not null
);
