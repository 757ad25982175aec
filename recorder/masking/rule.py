"""The definition of a masking rule, and the checks that a match must pass."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

Kind = Literal["definite", "candidate", "own"]
NAME = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,38}[a-z0-9])?")  # 1 to 40 characters
ENTROPY_MIN = 3.0  # bits a character; English words have about 2.5 at this length
_TEMPLATE = re.compile(rb"\$.*|\{.*\}|%[({]?[a-z_]*[)}]?s|\[.*\]|\+.*\+|\.\.\.|\xe2\x80\xa6", re.IGNORECASE)
_PORT = re.compile(rb"[0-9]{1,5}[/?#].*")
_AROUND = b",;)]}"  # ends of the code around it
_WORDS = frozenset((b"pass", b"passwd", b"password", b"pwd", b"none", b"null"))
_MARKER = re.compile(rb"-----(?:BEGIN|END)[^-]*-----")
_KEY = re.compile(rb"[A-Za-z0-9+/=]{16}")


@dataclass(frozen=True, slots=True)
class Rule:
    """A pattern of RE2 and the literals of which one occurs in every match.

    `prefilter` is a pattern that is searched instead of the anchors, where these are too common. `group` is
    the part of the match that is masked. `check` rejects matches that are no secrets.
    """

    name: str
    kind: Kind
    title: str
    anchors: tuple[str, ...]
    pattern: str
    group: int = 0
    prefilter: str = ""
    check: Callable[[bytes], bool] | None = None

    @property
    def searched(self) -> str:
        """The pattern by which lines are selected; a slash may be escaped, as JSON permits."""
        if self.prefilter:
            return self.prefilter
        return "|".join(re.escape(anchor).replace("/", r"\\*/") for anchor in self.anchors)


def has_digit(secret: bytes) -> bool:
    """Return whether a text is more than a word."""
    return any(48 <= each <= 57 for each in secret)


def is_password(secret: bytes) -> bool:
    """Return whether the password of an address is one.

    It is none if it is a template, a port with a path, one repeated character, or a word that documents write
    for one.
    """
    bare = secret.strip(_AROUND).lower()
    return (
        len(set(bare)) > 1
        and bare not in _WORDS
        and not _TEMPLATE.fullmatch(secret)
        and not _PORT.fullmatch(secret)
    )


def is_key_block(block: bytes) -> bool:
    """Return whether a key stands between BEGIN and END; programs that read keys name both only."""
    return _KEY.search(_MARKER.sub(b"", block)) is not None


def is_random(secret: bytes) -> bool:
    """Return whether a text has digits, letters and at least `ENTROPY_MIN` bits of entropy a character."""
    has_letter = any(each in b"abcdefghijklmnopqrstuvwxyz" for each in secret.lower())
    return has_digit(secret) and has_letter and entropy(secret) >= ENTROPY_MIN and is_password(secret)


def entropy(text: bytes) -> float:
    """Return Shannon's entropy of a text in bits a character, by the frequencies of its own characters."""
    size = len(text)
    return -sum(n / size * math.log2(n / size) for n in Counter(text).values())


def is_card_number(text: bytes) -> bool:
    """Return whether 13 to 19 digits, with spaces or hyphens, have a valid check digit (ISO/IEC 7812-1)."""
    digits = [each - 48 for each in text if 48 <= each <= 57]
    if not 13 <= len(digits) <= 19 or digits[0] not in {2, 3, 4, 5, 6} or len(set(digits)) == 1:
        return False
    doubled = (sum(divmod(2 * digit, 10)) for digit in digits[-2::-2])
    return (sum(digits[-1::-2]) + sum(doubled)) % 10 == 0


def is_iban(text: bytes) -> bool:
    """Return whether an account number has valid check digits (ISO 13616)."""
    plain = text.replace(b" ", b"").decode("latin-1")
    if not 15 <= len(plain) <= 34:
        return False
    return int("".join(str(int(each, 36)) for each in plain[4:] + plain[:4])) % 97 == 1
