"""Log lines: no link that holds a secret is readable in one, and a refused request has no traceback."""

import logging
import re

LINKS = ("signin", "join", "s")  # the secret follows: of a sign-in link, an invite, a share link
BUG = 500


def _encoded_pattern(text: str) -> str:
    """Return a pattern of a text in which any character may be percent-encoded."""
    return "".join(f"(?:{re.escape(char)}|%{ord(char):x}|%{ord(char.upper()):x})" for char in text)


SLASH = _encoded_pattern("/")
# A link with capitals, encoded characters or two slashes is refused and logged, but its secret is valid.
SECRET = re.compile(
    rf"({SLASH}(?:{'|'.join(map(_encoded_pattern, LINKS))}){SLASH})"
    r"(?:[^\w\n%]|%[^\W_][^\W_])*"  # before the secret, as further slashes
    r"[^\s/?#\"'<>]+",
    re.IGNORECASE,
)


class LineFormatter(logging.Formatter):
    """The formatter of every handler: it masks the secrets of links, also in tracebacks."""

    def format(self, record: logging.LogRecord) -> str:
        return SECRET.sub(r"\1[hidden]", super().format(record))


def without_traceback(record: logging.LogRecord) -> bool:
    """Remove the traceback of a refused request: it is not a bug, and any client can cause many."""
    if getattr(record, "status_code", 0) < BUG:
        record.exc_info = None
    return True
