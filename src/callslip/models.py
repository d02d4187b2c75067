"""Models by name: which providers there are, where they are, and by which keys they know you.

To add a provider: write its ``Format`` in ``providers/``, and one entry here.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import msgspec

from callslip.errors import ConfigError
from callslip.ports.model import Model
from callslip.providers.options import Options, Provider

RECORDED = "recorded"


class Kind(msgspec.Struct, frozen=True, kw_only=True):
    """What stands before the colon of a model's name."""

    made_by: Callable[[], Callable[..., Model]]
    """Imported when it is asked for: an HTTP client costs a start 40 ms."""
    url: str
    url_variables: tuple[str, ...]
    """Of the environment, the first that is set counts."""
    keys: tuple[str, ...]
    """Variables that may hold the key."""
    version: str = ""
    """Path of the API where an address names none, as the provider's own SDK takes it."""

    def key(self) -> str | None:
        return next((os.environ[name] for name in self.keys if os.environ.get(name)), None)

    def address(self, base_url: str | None) -> str:
        """Where to ask: as given, as the environment says, or the provider's own."""
        said = base_url or next((os.environ[name] for name in self.url_variables if os.environ.get(name)), None)
        return self.url if said is None else self._whole(said.strip())

    def _whole(self, url: str) -> str:
        try:
            bare = urlsplit(url).path in {"", "/"}
        except ValueError:
            return url
        return url.rstrip("/") + self.version if bare and self.version else url


def _openai_chat() -> Callable[..., Model]:
    from callslip.providers.openai_chat import OpenAIChat  # noqa: PLC0415

    return OpenAIChat


def _openai_responses() -> Callable[..., Model]:
    from callslip.providers.openai_responses import OpenAIResponses  # noqa: PLC0415

    return OpenAIResponses


def _anthropic() -> Callable[..., Model]:
    from callslip.providers.anthropic import Anthropic  # noqa: PLC0415

    return Anthropic


def _gemini() -> Callable[..., Model]:
    from callslip.providers.gemini import Gemini  # noqa: PLC0415

    return Gemini


def _mistral() -> Callable[..., Model]:
    from callslip.providers.mistral import Mistral  # noqa: PLC0415

    return Mistral


def _constrained() -> Callable[..., Model]:
    from callslip.providers.constrained import Constrained  # noqa: PLC0415

    return Constrained


OPENAI_URL = "https://api.openai.com/v1"
_OPENAI: dict[str, Any] = {
    "url": OPENAI_URL, "url_variables": ("OPENAI_BASE_URL",), "keys": ("OPENAI_API_KEY",),
}  # fmt: skip
_KINDS: Mapping[Provider, Kind] = {
    "openai": Kind(made_by=_openai_chat, **_OPENAI),
    "openai_chat": Kind(made_by=_openai_chat, **_OPENAI),
    "openai_responses": Kind(made_by=_openai_responses, **_OPENAI),
    "constrained": Kind(made_by=_constrained, **_OPENAI),
    "anthropic": Kind(
        made_by=_anthropic,
        url="https://api.anthropic.com/v1",
        url_variables=("ANTHROPIC_BASE_URL",),
        keys=("ANTHROPIC_API_KEY",),
        version="/v1",
    ),
    "gemini": Kind(
        made_by=_gemini,
        url="https://generativelanguage.googleapis.com/v1beta",
        url_variables=("GEMINI_BASE_URL", "GOOGLE_GEMINI_BASE_URL"),
        keys=("GEMINI_API_KEY", "GOOGLE_API_KEY"),
        version="/v1beta",
    ),
    "mistral": Kind(
        made_by=_mistral,
        url="https://api.mistral.ai/v1",
        url_variables=("MISTRAL_BASE_URL",),
        keys=("MISTRAL_API_KEY",),
        version="/v1",
    ),
}
KINDS: Mapping[str, Kind] = dict(_KINDS.items())
NAMES = f"{', '.join(f'{kind}:NAME' for kind in KINDS if kind != 'openai_chat')} or {RECORDED}:FILE"


def split(name: str) -> tuple[str, str]:
    """A model's name: what stands before its first colon, and the rest. Spaces around either mean nothing."""
    kind, _, rest = name.partition(":")
    return kind.strip(), rest.strip()


def unbuildable(name: str) -> str:
    """Why there is no model by that name, and perhaps which was meant."""
    kind, rest = split(name)
    said = f"The model {name!r} can't be built:"
    if not name.strip():
        return "The model's name is empty."
    if not rest and kind in {*KINDS, RECORDED}:
        return f"{said} behind {kind}: there is no name."
    if ":" not in name:
        return f"{said} it does not say whose it is."
    import difflib  # noqa: PLC0415 - only who is mistaken needs it

    near = difflib.get_close_matches(kind.lower(), [*KINDS, RECORDED], n=1)
    meant = f" Did you mean {near[0]}:{rest}?" if near else ""
    return f"{said} there is no provider {kind!r}.{meant}"


def keyless(name: str, base_url: str | None) -> str | None:
    """What is missing, where a model of the provider's own server is to be asked without any key."""
    known = KINDS.get(split(name)[0])
    if known is None or known.key() is not None or known.address(base_url) != known.url:
        return None
    return f"{' or '.join(known.keys)} is not set, and no base_url names another server"


def build_model(
    name: str,
    *,
    base_url: str | None = None,
    options: Options | None = None,
    read: Callable[[Path], bytes] = Path.read_bytes,
    base: Path = Path(),
) -> Model:
    """A model by name, such as ``anthropic:NAME``, ``openai:NAME`` (any compatible server) or ``recorded:FILE``.

    ``base_url`` is the server to ask instead of the provider's own; a recording's path is relative to ``base``.

    Raises:
        ConfigError: an unknown kind, or an address that is none.
    """
    kind, rest = split(name)
    if kind == RECORDED and rest:
        from callslip.providers.recorded import Recorded  # noqa: PLC0415

        return Recorded(base / Path(rest).expanduser(), read=read)
    known = KINDS.get(kind)
    if known is None or not rest:
        raise ConfigError(f"{unbuildable(name)} Nothing was started. Name it {NAMES}.")
    return known.made_by()(rest, base_url=known.address(base_url), api_key=known.key(), options=options or Options())
