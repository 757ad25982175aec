"""Process id and address of the server that uses this data folder, read from `server.json`."""

from __future__ import annotations

import json
import os
from pathlib import Path

from django.conf import settings


def pid() -> int | None:
    """Return the process id of the running server, None if no server runs."""
    found = _server_json().get("pid")
    return found if isinstance(found, int) and _is_alive(found) else None


def address() -> str | None:
    """Return the server's URL on this machine, without a trailing slash; None if no server runs."""
    url = _server_json().get("url")
    return url.rstrip("/") if pid() and isinstance(url, str) else None


def _server_json() -> dict[str, object]:
    try:
        found = json.loads((Path(settings.DATA) / "server.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except PermissionError:
        return True
    except (OSError, OverflowError):
        return False
    return True
