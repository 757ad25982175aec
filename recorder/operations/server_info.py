"""The server of this data folder: which process it is and where, as `server.json` says while it runs."""

from __future__ import annotations

import json
import os
from pathlib import Path

from django.conf import settings


def pid() -> int | None:
    """Return the process that serves this data folder, None if there is none."""
    found = _said().get("pid")
    return found if isinstance(found, int) and _is_alive(found) else None


def address() -> str | None:
    """Return where it can be reached from this machine, None if it does not run."""
    url = _said().get("url")
    return url.rstrip("/") if pid() and isinstance(url, str) else None


def _said() -> dict[str, object]:
    try:
        said = json.loads((Path(settings.DATA) / "server.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return said if isinstance(said, dict) else {}


def _is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except PermissionError:
        return True
    except (OSError, OverflowError):
        return False
    return True
