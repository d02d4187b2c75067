"""``callslip serve``: take answers over HTTP."""

from __future__ import annotations

import asyncio
import contextlib
import sys
from typing import TYPE_CHECKING, Any

import click

from callslip.cli import look, moments
from callslip.cli.acting import ADVISORY
from callslip.cli.app import runtime_for
from callslip.cli.command import driving_command
from callslip.cli.document import print_document
from callslip.cli.drive import interrupts
from callslip.cli.options import Given
from callslip.cli.safe_text import one_line
from callslip.errors import ConfigError, UsageError

if TYPE_CHECKING:
    from callslip.answering.server import Seen


@driving_command
@click.option("--answers", is_flag=True, help="What waits, and decisions on it: the only thing served in this version.")
@click.option("--host", default="127.0.0.1", show_default=True, help="Where to listen; elsewhere takes enrolled keys.")
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="Default: any that is free.")
@click.option("--show-token", is_flag=True, help="Print the token too, not only where it stands.")
async def serve(given: Given, answers: bool, host: str, port: int, show_token: bool) -> int:
    """Let decisions be made over HTTP, on this machine only unless you say otherwise. Ctrl-C ends it.

    Every request must carry the token that stands in the state folder. Once keys are enrolled, each decision must be
    signed as well, and no key is needed here.
    """
    if not answers:
        raise UsageError("Say what to serve. Nothing was started. In this version: --answers.")
    try:
        from callslip.answering.guard import Guard  # noqa: PLC0415 - the web's packages are an extra
        from callslip.answering.listening import listen, serve as until, url  # noqa: PLC0415
        from callslip.answering.server import Server  # noqa: PLC0415
        from callslip.answering.token import token  # noqa: PLC0415
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in {"starlette", "uvicorn"}:
            raise
        raise ConfigError(
            f"This needs {error.name}, which is not installed. Nothing was started. In the clone: pip install '.[web]'"
        ) from error

    stop = asyncio.Event()
    async with runtime_for(given, "say") as runtime:
        if runtime.settings.state is None:
            raise ConfigError(
                "There is no state folder yet, so nothing waits. Nothing was started. Run something first."
            )
        standing = runtime.parts.trust.standing()
        listening, bound = listen(host, port, standing)
        with contextlib.closing(listening), token(runtime.settings.state) as made, interrupts(stop.set, lambda: None):
            place = {"url": url(bound), "token_file": str(made.path.absolute()), "advisory": standing.advisory}
            _begin(given, place | ({"token": made.reveal()} if show_token else {}))
            app = Server(runtime, Guard(made, bound, runtime.parts.clock), lambda seen: _tell(given, seen))
            await until(app, listening, stop)
    return 0


def _begin(given: Given, place: dict[str, Any]) -> None:
    """Say where it answers, and where the token stands."""
    if given.as_json:
        print_document({"type": "serving", **place}, line=True)
    else:
        look.say(f"{look.mark('ok')} answering on {place['url']}; Ctrl-C ends it")
        shown = f": {place['token']}" if "token" in place else ""
        look.say(f"  the token stands in {one_line(place['token_file'])}{shown}")
        if place["advisory"]:
            look.say(f"  {look.mark('warn')} {ADVISORY}")
    sys.stdout.flush()


def _tell(given: Given, seen: Seen) -> None:
    """A line for each request; that nobody reads it must not reach the request."""
    with contextlib.suppress(OSError, ValueError):
        if given.as_json:
            print_document({"type": "request", **seen._asdict()}, line=True)
        else:
            what = f"  {one_line(seen.what)}" if seen.what else ""
            mark = look.mark("ok" if seen.status < 400 else "bad")
            at = look.paint(moments.clock(moments.now()), dim=True)
            look.say(f"{at} {mark} {seen.status} {one_line(seen.method)} {one_line(seen.path)[:200]}{what}")
        sys.stdout.flush()
