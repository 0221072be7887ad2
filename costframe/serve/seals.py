"""Seals of states: who has no key can neither make nor change one."""

from __future__ import annotations

import base64
import binascii
import hmac
from pathlib import Path

from attrs import field, frozen

from costframe.core.errors import InquiryError, ParameterError

SHORTEST_KEY = 16  # bytes
_SIGNED = "signed"
_PLAIN = "plain"


@frozen
class Seal:
    """How states leave and come back: signed by HMAC-SHA256 where a key is given, in plain base64 where none is."""

    key: bytes | None = field(default=None, repr=False)

    @classmethod
    def of_file(cls, path: Path | None) -> Seal:
        """Read the key in a file, without white space at its ends; None is no key."""
        if path is None:
            return cls()
        try:
            key = path.read_bytes().strip()
        except OSError as error:
            raise ParameterError(f"{path}: cannot be read: {error.strerror or error}") from None
        if len(key) < SHORTEST_KEY:
            raise ParameterError(f"{path}: expected a key of at least {SHORTEST_KEY} bytes, got {len(key)}")
        return cls(key)

    def close(self, text: str) -> str:
        """Return a state that holds a text."""
        content = base64.urlsafe_b64encode(text.encode()).decode()
        return f"{_PLAIN}.{content}" if self.key is None else f"{_SIGNED}.{content}.{self._sign(content)}"

    def open(self, state: str) -> str:
        """Return the text of a state; an `InquiryError` if it was not closed by this key."""
        if not state.isascii():
            raise InquiryError("state: expected one that this service gave, got another text")
        kind, _, rest = state.partition(".")
        content, _, signature = rest.partition(".")
        expected = (_PLAIN, "") if self.key is None else (_SIGNED, self._sign(content))
        if kind != expected[0] or not hmac.compare_digest(signature.encode(), expected[1].encode()):
            raise InquiryError("state: expected one that this service gave, got one without its signature")
        try:
            return base64.b64decode(content.encode(), b"-_", validate=True).decode()
        except (binascii.Error, ValueError):
            raise InquiryError("state: expected one that this service gave, got another text") from None

    def _sign(self, content: str) -> str:
        assert self.key is not None  # noqa: S101 - callers look
        return hmac.digest(self.key, content.encode(), "sha256").hex()
