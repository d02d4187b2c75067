"""What any process of the account can do to a project: read and write its files, forge its records, give commands.

Arguments: the name of an attack, then its own. It knows what such a process knows: the project is the current folder,
the state folder follows from it, the log says what waits, and the keys lie where they lie. The passphrases it does not
know. What the commands that it gave have said, it writes as JSON into the file that ``LOOT`` names.
"""

from __future__ import annotations

import asyncio
import contextlib
import copy
import hashlib
import json
import os
import py_compile
import secrets
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import msgspec

from callslip.config import state_folder
from callslip.core import approval, canon, ids
from callslip.core.event import draft
from callslip.core.events.approval_decided import ApprovalDecided
from callslip.core.events.approval_requested import ApprovalRequested
from callslip.core.events.wait_closed import WaitClosed
from callslip.core.grant import Grant
from callslip.core.principal import Principal, Proof, Role, message as answer_message
from callslip.core.standing import Body, Enrolled, Granted, Statement, encode, message as statement_message
from callslip.errors import Moved
from callslip.ledgers.sqlite import SqliteLedger
from callslip.trust.key_file import KeyFile, keys_folder, write_key
from callslip.trust.keys import PrivateKey

PROJECT = Path.cwd()
STATE = state_folder(PROJECT, None)
LEDGER, TRUST = STATE / "ledger.db", STATE / "trust.log"
MALLORY = PrivateKey(hashlib.sha256(b"mallory").digest())
THEFT = {"amount": 9999, "to": "mallory"}


def main(name, *args):
    Path(os.environ["LOOT"]).write_text(json.dumps(ATTACKS[name](*args)))


# Commands


def give(*commands):
    """Give commands at once, each words and what it sets in its environment; what each of them said."""
    started = [
        subprocess.Popen(
            [Path(sys.executable).with_name("callslip"), *words],
            cwd=PROJECT, env={**os.environ, **sets}, text=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )
        for words, sets in commands
    ]  # fmt: skip
    return [
        {"command": " ".join(words), "text": " ".join(one.communicate()[0].split()), "code": one.returncode}
        for one, (words, _) in zip(started, commands, strict=True)
    ]


def answers():
    """Every way to say yes, and the others, with the keys that are there and with ones of its own."""
    wait, anna, olga = waiting(), {"CALLSLIP_KEY": "anna"}, {"CALLSLIP_KEY": "olga"}
    own, guess = PROJECT.parent / "own", PROJECT / "work" / "guess"
    put_key(own / "callslip" / "keys" / "mallory.key", "mallory", MALLORY.key)
    put_key(own / "anna.key", "anna", key_of("anna"))
    put_key(PROJECT / "work" / "mallory.key", "mallory", MALLORY.key)
    guess.touch(0o600)
    guess.write_text("letmein")
    yes = ("approve", wait, "--yes")
    return give(
        (yes, {}),
        (yes, anna),
        (yes, anna | {"CALLSLIP_PASSPHRASE_FILE": str(guess)}),
        (yes, olga),
        (yes, {"XDG_CONFIG_HOME": str(own)}),
        (yes, {"CALLSLIP_KEY": str(own / "callslip" / "keys" / "mallory.key")}),
        (yes, {"CALLSLIP_KEY": str(own / "anna.key")}),
        (yes, {"CALLSLIP_KEY": str(PROJECT / "work" / "mallory.key")}),
        ((*yes, "--always", "--free", "to", "--at-most", "amount=9999"), anna),
        (("edit", wait, "--set", 'to="mallory"', "--yes"), anna),
        (("deny", wait), anna),
    )


def put_key(path, name, key):
    """A key's file that takes no passphrase, with a seed of its own and whatever public half it claims."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    seed = hashlib.sha256(b"mallory").hexdigest()
    write_key(path, KeyFile(v=1, name=name, key=key, uid=os.getuid(), seed=seed))


def statements():
    """Everything that is stated in the trust file."""
    olga, anna = {"CALLSLIP_KEY": "olga"}, {"CALLSLIP_KEY": "anna"}
    grant = next(body["grant"]["id"] for body in stated() if body["type"] == "granted")
    enrol = ("enrol", "mallory", "--role", "approver", "--no-passphrase")
    return give(
        (enrol, {}),
        (enrol, olga),
        (enrol, anna),
        (("principals", "revoke", "anna", "--reason", "so"), olga),
        (("principals", "delegate", "olga", "--until", "1h"), anna),
        (("grants", "revoke", grant, "--reason", "so"), anna),
        (("resolve", waiting("lost"), "did-not-happen", "--reason", "so"), olga),
    )


# The project


def change_project(what):
    """Change what steers the runtime, and accept that."""
    toml, app = PROJECT / "callslip.toml", PROJECT / "app.py"
    if what == "code":
        app.write_text(app.read_text().replace('@tool(risk="dangerous"', '@tool(risk="write"'))
    elif what == "policy":
        toml.write_text(toml.read_text().replace('"ask"', '"allow"'))
    elif what == "state":
        toml.write_text(f"state = {str(PROJECT / 'mine')!r}\n" + toml.read_text())
    return give((("trust", "--yes"), {"CALLSLIP_KEY": "olga"}))


_EVIL = "import pathlib\npathlib.Path({place!r}).touch()\nONE = 1\n"


def plant():
    """Modules and byte code that Python itself would take before the accepted source."""
    evil = PROJECT / "work" / "evil.py"
    evil.write_text(_EVIL.format(place=str(PROJECT / "work" / "taken")))
    for name in ("rates", "app", "sched"):
        cached = PROJECT / "__pycache__" / f"{name}.{sys.implementation.cache_tag}.pyc"
        mode = py_compile.PycInvalidationMode.UNCHECKED_HASH
        py_compile.compile(str(evil), cfile=str(cached), invalidation_mode=mode, doraise=True)
    (PROJECT / "rates.pyc").write_bytes(cached.read_bytes())
    for package in (PROJECT / "rates", PROJECT / "app", PROJECT / "work" / "rates"):
        package.mkdir()
        (package / "__init__.py").write_text(evil.read_text())
    for name in ("json", "sitecustomize", "usercustomize", "callslip"):
        (PROJECT / f"{name}.py").write_text(evil.read_text())


def plant_shadow():
    """A module of the standard library's name that the project's own code asks for."""
    (PROJECT / "sched.py").write_text(_EVIL.format(place=str(PROJECT / "work" / "taken")))


# The trust file


def stated():
    return [json.loads(line)["body"] for line in TRUST.read_bytes().splitlines()]


def state(body: Body, by, key=None):
    """A statement that follows the last one, signed with a key of its own or by nobody."""
    lines = TRUST.read_bytes().splitlines()
    digest = hashlib.sha256(lines[-1]).hexdigest() if lines else "0" * 64
    said = Statement(seq=len(lines) + 1, prev=digest, at=now(), by=by, uid=os.getuid(), body=body)
    if key is not None:
        said = msgspec.structs.replace(said, signature=key.sign(statement_message(said)))
    with TRUST.open("ab") as file:
        file.write(encode(said) + b"\n")


def a_grant():
    """A rule that would let everything be paid."""
    asked = last("approval_requested")
    return Grant(
        id="grant_" + "0" * 16, tool="pay", tool_version=asked["tool_version"], executor=asked["executor"],
        requester=asked["requester"], rules=tuple(asked["rules"]), equal={}, free=("to", "amount"),
    )  # fmt: skip


def mallory(*roles):
    return Principal(name="mallory", roles=roles, key=MALLORY.key, uid=os.getuid())


def forge_trust(how):
    if how == "unsigned grant":
        state(Granted(grant=a_grant()), "anna")
    elif how == "self-signed grant":
        state(Granted(grant=a_grant()), "anna", MALLORY)
    elif how == "self-signed enrolment":
        state(Enrolled(principal=mallory(Role.APPROVER)), "olga", MALLORY)
    elif how == "a second root":
        state(Enrolled(principal=mallory(Role.OPERATOR, Role.APPROVER)), "mallory", MALLORY)
    elif how == "a grant widened":
        TRUST.write_bytes(
            TRUST.read_bytes().replace(b'"amount":10.0', b'"amount":1e16').replace(b"plumber", b"mallory")
        )
    elif how == "a line taken out":
        lines = TRUST.read_bytes().splitlines(keepends=True)
        TRUST.write_bytes(b"".join(lines[:1] + lines[2:]))


def remove_trust():
    """Be back where nobody is enrolled: then everybody may accept and answer."""
    TRUST.unlink()
    return give((("trust", "--yes"), {})) + give((("approve", waiting(), "--yes"), {}))


def replace_trust():
    """A whole trust file with a root of its own, which accepts the project and answers."""
    TRUST.unlink()
    TRUST.touch(0o600)
    state(Enrolled(principal=mallory(Role.OPERATOR, Role.APPROVER)), "mallory", MALLORY)
    put_key(keys_folder() / "mallory.key", "mallory", MALLORY.key)
    mine = {"CALLSLIP_KEY": "mallory"}
    return give((("trust", "--yes"), mine)) + give((("approve", waiting(), "--yes"), mine))


# The log


def records(session="rent"):
    """The session's records, as anybody reads them out of the file."""
    with sqlite3.connect(LEDGER) as db:
        found = db.execute(
            "select r.text from records r join sessions s on s.no = r.no where s.session = ? order by r.seq", (session,)
        )
        return [json.loads(text) for (text,) in found]


def write(made, session="rent"):
    """Put these records in the place of the session's, as if they had always stood there: chain, head and waits fit."""
    digest, rows, waits = hashlib.sha256(b"callslip log 1\n" + session.encode()).digest(), [], {}
    for seq, record in enumerate(made, 1):
        text = json.dumps(record, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()
        digest = hashlib.sha256(digest + text).digest()
        rows.append((seq, digest, text))
        event = record["event"]
        if event["type"] == "wait_opened":
            waits[event["wait_id"]] = (seq, record["at"], event)
        elif event["type"] == "wait_closed":
            del waits[event["wait_id"]]
    outsider = max((seq for seq, record in enumerate(made, 1) if record["epoch"] == 0), default=0)
    db = sqlite3.connect(LEDGER)
    with db:
        (no,) = db.execute("select no from sessions where session = ?", (session,)).fetchone()
        for table in ("records", "waits", "checkpoints"):
            db.execute(f"delete from {table} where no = ?", (no,))
        db.executemany("insert into records (no, seq, digest, text) values (?, ?, ?, ?)", [(no, *row) for row in rows])
        for seq, at, event in waits.values():
            values = (no, event["wait_id"], event["kind"], event["reason"], event["call_id"], event["wake_at"], at, seq)
            db.execute("insert into waits values (?, ?, ?, ?, ?, ?, ?, ?)", values)
        db.execute(
            "update sessions set seq = ?, digest = ?, epoch = ?, outsider_seq = ?, owner_id = null, woken = 1, "
            "change = (select max(change) + 1 from sessions) where no = ?",
            (len(made), digest, max(record["epoch"] for record in made), outsider, no),
        )
    db.close()


def now():
    return time.time_ns() // 1_000_000


def last(kind, session="rent"):
    return next(record["event"] for record in reversed(records(session)) if record["event"]["type"] == kind)


def question(session, to):
    """What is asked about the payment to somebody."""
    events = [record["event"] for record in records(session) if record["event"]["type"] == "approval_requested"]
    return next(event for event in events if event["arguments"]["text"]["to"] == to)


def waiting(session="rent"):
    """The id of what the session waits for."""
    opened = [record["event"] for record in records(session) if record["event"]["type"] == "wait_opened"]
    closed = [record["event"] for record in records(session) if record["event"]["type"] == "wait_closed"]
    return next(one["wait_id"] for one in opened if one["wait_id"] not in {other["wait_id"] for other in closed})


def outside(event):
    """A record of somebody who answers."""
    return {"at": now(), "by": "anna", "epoch": 0, "event": event, "run": "", "v": 1}


def bytes_of(value):
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


def typed(event, kind):
    return msgspec.json.decode(bytes_of(event), type=kind)


def untyped(event):
    return json.loads(msgspec.json.encode(event))


def key_of(name):
    principals = [body["principal"] for body in stated() if body["type"] == "enrolled"]
    return next(one["key"] for one in principals if one["name"] == name)


def answer(proof, asked, session="rent"):
    """An approval of what was asked, with a proof that says who gave it."""
    made = ApprovalDecided(
        call_id=asked["call_id"], approval_id=asked["approval_id"], binding=asked["binding"], decision="approved",
        proof=proof, via="cli",
    )  # fmt: skip
    if proof.key == MALLORY.key:
        return signed(made, MALLORY, asked["approval_id"], session)
    return made


def signed(event, key, wait, session):
    signature = key.sign(answer_message(session, wait, event, event.proof))
    return msgspec.structs.replace(event, proof=msgspec.structs.replace(event.proof, signature=signature))


def proof_of(how):
    key = key_of("anna")
    if how == "signed by nobody":
        return Proof(principal="anna", uid=os.getuid(), at=now())
    if how == "signed by a stranger":
        return Proof(principal="mallory", uid=os.getuid(), key=MALLORY.key, at=now())
    if how == "another's signature under her name":
        return Proof(principal="anna", uid=os.getuid(), key=MALLORY.key, at=now())
    return Proof(principal="anna", uid=os.getuid(), key=key, signature=secrets.token_hex(64), at=now())


def forge_answer(how, by, session="rent"):
    """Record an approval: by the library, which keeps the rules of the log, or by SQL."""
    while not any(record["event"]["type"] == "wait_opened" for record in records(session)):
        time.sleep(0.01)  # the call beside this one is being asked about
    asked = last("approval_requested", session)
    made = answer(proof_of(how), asked, session)
    closed = WaitClosed(wait_id=asked["approval_id"], how="approved", actor="anna")
    if by == "SQL":
        write([*records(session), outside(untyped(made)), outside(untyped(closed))], session)
    else:
        asyncio.run(_decide(session, [draft(one, at=now(), by="anna", epoch=0, run="") for one in (made, closed)]))


async def _decide(session, drafts):
    ledger = SqliteLedger(LEDGER)
    while True:
        (head,) = await ledger.heads(session)
        with contextlib.suppress(Moved):
            await ledger.decide(session, drafts, expected=head.seq)
            break
    await ledger.aclose()


def touch_up():
    """Change what was asked about in place, and nothing beside it."""
    db = sqlite3.connect(LEDGER)
    with db:
        db.execute("update records set text = cast(replace(text, 'landlord', 'mallory!') as blob)")
    db.close()


def other_arguments(made, asked=True, proposed=True, *, rebound=True):
    """The records, with the payment's arguments replaced in what was asked, and in what the model had proposed."""
    for record in made:
        event = record["event"]
        if event["type"] == "function_call" and proposed:
            event["arguments"] = {"text": THEFT}
        if event["type"] == "approval_requested" and asked:
            event["arguments"] = {"text": THEFT}
            event["arguments_digest"] = canon.digest(canon.canonical(THEFT))
            if rebound:
                record["event"] = untyped(approval.bind(typed(event, ApprovalRequested), "rent"))
    return made


def alter_question(how):
    made = records()
    if how == "arguments":
        made = other_arguments(made, proposed=False, rebound=False)
    elif how == "arguments and binding":
        made = other_arguments(made, proposed=False)
    elif how == "everything":
        made = other_arguments(made)
        binding = next(r["event"]["binding"] for r in made if r["event"]["type"] == "approval_requested")
        for record in made:
            if record["event"]["type"] == "approval_decided":
                record["event"]["binding"] = binding
    write(made)


def alter_between():
    """The whole question, and the proposal, are others from now on."""
    write(other_arguments(records()))


def turn_denial():
    made = records()
    for record in made:
        if record["event"]["type"] == "approval_decided":
            record["event"] |= {"decision": "approved"}
            record["event"].pop("reason", None)
        elif record["event"]["type"] == "wait_closed":
            record["event"]["how"] = "approved"
    write(made)


def copy_answer(to_session):
    """A true answer, put to another question: all that says which call it is about is made to fit."""
    given = next(r for s in ("rent", "pair") for r in records(s) if r["event"]["type"] == "approval_decided")
    asked = question(to_session, "mallory")
    mine = copy.deepcopy(given)
    mine["event"] |= {name: asked[name] for name in ("call_id", "approval_id", "binding")}
    closed = WaitClosed(wait_id=asked["approval_id"], how="approved", actor="anna")
    write([*records(to_session), mine, outside(untyped(closed))], to_session)


def forge_verdict(how):
    """Say of a payment whose outcome nobody knows that it did not happen."""
    parked, wait = last("call_parked", "lost"), waiting("lost")
    proof = None
    if how != "signed by nobody":
        proof = {"principal": "olga", "uid": os.getuid(), "key": key_of("olga"), "signature": "0" * 128, "at": now()}
    verdict = {
        "type": "call_resolved", "call_id": parked["call_id"], "verdict": "did_not_happen", "reason": "so",
        "actor": "olga", "wait_id": wait, "result": None, "proof": proof,
    }  # fmt: skip
    closed = WaitClosed(wait_id=wait, how="resolved", actor="olga")
    write([*records("lost"), outside(verdict), outside(untyped(closed))], "lost")


# As somebody who drives the session


def driven(made):
    """The records, with another run begun: of a process that is gone since."""
    run = copy.deepcopy(next(r for r in reversed(made) if r["event"]["type"] == "run_started"))
    run |= {"epoch": run["epoch"] + 1, "run": ids.random_id("run"), "at": now()}
    run["event"] |= {"owner": ids.random_id("own"), "ended": {}}
    return [*made, run]


def by_owner(made, event):
    return {**next(r for r in reversed(made) if r["epoch"]), "event": event}


def a_dispatch(asked, arguments, approval_id=""):
    """A T1 of an attempt whose outcome nobody knows, declared safe to repeat."""
    return {
        "type": "tool_dispatch", "call_id": asked["call_id"], "attempt": 1, "nonce": "0" * 16, "tool": "pay",
        "tool_version": asked["tool_version"], "arguments": {"text": arguments},
        "arguments_digest": asked["arguments_digest"] if approval_id else canon.digest(canon.canonical(arguments)),
        "idempotency_key": "0" * 32, "risk": "dangerous", "recovery": "idempotent", "rules": asked["rules"],
        "approval": approval_id, "deadline": now() + 60_000, "quiet_ms": 0, "local_effect": True,
    }  # fmt: skip


def forge_dispatch():
    """Nobody was asked, and the call was begun: the runtime would repeat it."""
    asked, made = last("approval_requested"), records()
    made = driven([r for r in made if r["event"]["type"] not in {"approval_requested", "wait_opened"}])
    write([*made, by_owner(made, a_dispatch(asked, THEFT))])


def swap_dispatch():
    """A true approval, and a T1 that rests on it with other arguments."""
    asked, made = last("approval_requested"), driven(records())
    write([*made, by_owner(made, a_dispatch(asked, THEFT, asked["approval_id"]))])


def hand_out():
    """Nobody was asked, and the call waits for its client to make it."""
    asked = last("approval_requested", "deed")
    made = driven([r for r in records("deed") if r["event"]["type"] not in {"approval_requested", "wait_opened"}])
    for record in made:
        if record["event"]["type"] == "function_call":
            record["event"]["arguments"] = {"text": {"document": "a gift"}}
    t1 = a_dispatch(asked, {"document": "a gift"})
    t1 |= {"tool": "sign", "recovery": "never", "local_effect": False, "client_owned": True}
    wait = {
        "type": "wait_opened", "wait_id": ids.wait_id("wait", "deed"), "kind": "client", "reason": "its client runs it",
        "call_id": asked["call_id"], "wake_at": None, "workspace": None,
    }  # fmt: skip
    ended = {"type": "run_ended", "status": "waiting", "reason": "client"}
    write([*made, *(by_owner(made, event) for event in (t1, wait, ended))], "deed")


def propose_again():
    """A call that was made, proposed once more with all that had been asked and answered about it."""
    before = records()
    made = driven(before)

    def again(kind, **changed):
        record = copy.deepcopy(next(r for r in before if r["event"]["type"] == kind))
        record["event"] |= changed
        return record if record["epoch"] == 0 else by_owner(made, record["event"])

    turn = {"turn": 2, "step": "2.1"}
    made += [
        again("model_requested", consumed=[], **turn),
        again("model_replied", step="2.1"),
        again("function_call", step="2.1"),
        again("approval_requested"),
        again("wait_opened"),
        again("approval_decided"),
        again("wait_closed"),
    ]
    write(made)


ATTACKS = {
    one.__name__: one
    for one in (
        answers, statements, change_project, plant, plant_shadow, forge_trust, remove_trust, replace_trust,
        forge_answer, touch_up, alter_question, alter_between, turn_denial, copy_answer, forge_verdict, forge_dispatch, swap_dispatch,
        hand_out, propose_again,
    )
}  # fmt: skip

if __name__ == "__main__":
    main(*sys.argv[1:])
