"""Log lines: no sign-in link is readable in one, and a refused request has no traceback."""

import logging
import re

SECRET = re.compile(r"(/signin/)[^\s/?#\"'<>]+")
BUG = 500


class LineFormatter(logging.Formatter):
    """The formatter of every handler: it masks the secret of a sign-in link, also in tracebacks."""

    def format(self, record: logging.LogRecord) -> str:
        return SECRET.sub(r"\1[hidden]", super().format(record))


def without_traceback(record: logging.LogRecord) -> bool:
    """Remove the traceback of a refused request: it is not a bug, and any client can cause many."""
    if getattr(record, "status_code", 0) < BUG:
        record.exc_info = None
    return True
