"""Settings of the log: one line per record, never the content of an event.

dashboard/settings.py takes over every name in capitals.
"""

from __future__ import annotations

import os
from typing import Any

LOGGING: dict[str, Any] = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {
        "line": {
            "()": "dashboard.web.log_lines.LineFormatter",
            "format": "%(asctime)s %(levelname)s %(name)s %(message)s",
        }
    },
    "filters": {
        "once": {
            "()": "django.utils.log.CallbackFilter",
            "callback": "ext://dashboard.web.log_lines.without_traceback",
        }
    },
    "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "line"}},
    "root": {"handlers": ["stderr"], "level": os.environ.get("LOOPSCOPE_LOG_LEVEL", "INFO").upper()},
    "loggers": {
        "django": {"handlers": [], "propagate": True},
        "django.request": {"filters": ["once"]},
        "django.security.DisallowedHost": {"filters": ["once"]},
        "daphne": {"level": "WARNING"},
        "channels_redis": {"level": "CRITICAL"},  # logs each second what the relay logs once
        "asyncio": {"level": "WARNING"},
    },
}
