-- The order in which sessions changed: followers ask for what is newer than what they have seen.
alter table sessions add column change integer not null default 0;
update sessions set change = no;
create index sessions_by_change on sessions (change);

-- What a worker looks at: the few sessions that somebody drives or has woken, not the many that wait.
create index sessions_in_hand on sessions (no) where owner_id is not null or woken;

-- Whoever answers a wait knows its id and nothing else.
create index waits_by_id on waits (wait_id);
