-- One row a session, changed only in the transaction that appends to its log.
create table sessions (
  no            integer primary key,
  session       text    not null unique,
  seq           integer not null,
  digest        blob    not null,
  epoch         integer not null,
  outsider_seq  integer not null,
  owner_id      text,
  owner_host    text,
  owner_boot    text,
  owner_process integer,
  status        text    not null,
  woken         integer not null,
  updated_at    integer not null
);

-- The log. text is exactly what was hashed; digest binds it to everything before it.
create table records (
  no     integer not null references sessions (no),
  seq    integer not null,
  digest blob    not null,
  text   blob    not null,
  primary key (no, seq)
) without rowid;

-- Open waits: written and removed in the commit of their wait_opened and wait_closed records.
create table waits (
  no        integer not null references sessions (no),
  wait_id   text    not null,
  kind      text    not null,
  reason    text    not null,
  call_id   text,
  wake_at   integer,
  opened_at integer not null,
  seq       integer not null,
  primary key (no, wait_id)
) without rowid;

create index waits_by_time on waits (wake_at) where wake_at is not null;

-- Folded states: a cache, bound to the digest of the log at their position.
create table checkpoints (
  no     integer primary key references sessions (no),
  seq    integer not null,
  digest blob    not null,
  body   blob    not null
);
