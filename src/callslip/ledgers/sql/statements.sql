-- name: head
select no, session, seq, digest, epoch, outsider_seq, owner_id, owner_host, owner_boot, owner_process, status, woken,
       updated_at, change
from sessions where session = ?;

-- name: heads
select no, session, seq, digest, epoch, outsider_seq, owner_id, owner_host, owner_boot, owner_process, status, woken,
       updated_at, change
from sessions order by updated_at desc, no desc;

-- name: heads_changed
select no, session, seq, digest, epoch, outsider_seq, owner_id, owner_host, owner_boot, owner_process, status, woken,
       updated_at, change
from sessions where change > ? order by change limit ?;

-- name: heads_ready
select no, session, seq, digest, epoch, outsider_seq, owner_id, owner_host, owner_boot, owner_process, status, woken,
       updated_at, change
from sessions
where no in (select no from sessions where owner_id is not null or woken
             union all select no from waits where wake_at <= ?1)
  and status <> 'sealed' and (?2 is null or session = ?2)
order by change;

-- name: create_session
insert into sessions (session, seq, digest, epoch, outsider_seq, owner_id, owner_host, owner_boot, owner_process,
                      status, woken, updated_at, change)
values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, (select coalesce(max(change), 0) + 1 from sessions));

-- name: update_session
update sessions
set seq = ?, digest = ?, epoch = ?, outsider_seq = ?, owner_id = ?, owner_host = ?, owner_boot = ?,
    owner_process = ?, status = ?, woken = ?, updated_at = ?,
    change = (select coalesce(max(change), 0) + 1 from sessions)
where no = ?;

-- name: advance_session
update sessions
set seq = ?, digest = ?, outsider_seq = ?, updated_at = ?,
    change = (select coalesce(max(change), 0) + 1 from sessions)
where no = ?;

-- name: append
insert into records (no, seq, digest, text) values (?, ?, ?, ?);

-- name: read
select seq, digest, text from records where no = ? and seq > ? order by seq limit ?;

-- name: digest_at
select digest from records where no = ? and seq = ?;

-- name: open_wait
insert into waits (no, wait_id, kind, reason, call_id, wake_at, opened_at, seq) values (?, ?, ?, ?, ?, ?, ?, ?);

-- name: close_wait
delete from waits where no = ? and wait_id = ?;

-- name: move_wait
update waits set wake_at = ? where no = ? and wait_id = ?;

-- name: waits
select s.session, w.wait_id, w.kind, w.reason, w.call_id, w.wake_at, w.opened_at, w.seq
from waits w join sessions s on s.no = w.no
where s.status <> 'sealed'
order by w.opened_at, w.seq;

-- name: waits_of_session
select s.session, w.wait_id, w.kind, w.reason, w.call_id, w.wake_at, w.opened_at, w.seq
from waits w join sessions s on s.no = w.no
where s.session = ? and s.status <> 'sealed'
order by w.opened_at, w.seq;

-- name: waits_by_id
select s.session, w.wait_id, w.kind, w.reason, w.call_id, w.wake_at, w.opened_at, w.seq
from waits w join sessions s on s.no = w.no
where w.wait_id = ?1 and (?2 is null or s.session = ?2) and s.status <> 'sealed'
order by w.opened_at, w.seq;

-- name: waits_due
select s.session, w.wait_id, w.kind, w.reason, w.call_id, w.wake_at, w.opened_at, w.seq
from waits w join sessions s on s.no = w.no
where w.wake_at <= ?1 and (?2 is null or s.session = ?2) and s.status <> 'sealed'
order by w.opened_at, w.seq;

-- name: save_checkpoint
insert into checkpoints (no, seq, digest, body) values (?, ?, ?, ?)
on conflict (no) do update set seq = excluded.seq, digest = excluded.digest, body = excluded.body;

-- name: load_checkpoint
select c.seq, c.digest, c.body, r.digest
from checkpoints c join records r on r.no = c.no and r.seq = c.seq
where c.no = ?;
