"""Settings, all from environment variables; each has a working default (docs/reference/settings.md)."""

import os
import re
import secrets
import sys
from contextlib import suppress
from decimal import Decimal
from hashlib import sha256
from pathlib import Path
from typing import Any

import dj_database_url
import platformdirs

from dashboard.log_settings import *  # noqa: F403  what is logged, and how
from dashboard.mail_settings import *  # noqa: F403  the server that sends invites
from dashboard.sso_settings import *  # noqa: F403  single sign-on, passkeys, TOTP
from dashboard.sso_settings import SSO_APPS, SSO_MIDDLEWARE

os.umask(0o077)  # only the owner may read the database, its backups and the secret key

BASE = Path(__file__).resolve().parent.parent
IS_CHECKOUT = (BASE / "manage.py").is_file()  # else an installed package
ASSETS = BASE if IS_CHECKOUT else BASE / "dashboard"  # of templates/ and static/; a wheel moves them
COMMAND = "python manage.py" if IS_CHECKOUT else "loopscope"  # the command line in messages


def _words(name: str, default: str = "") -> list[str]:
    return [word.strip() for word in os.environ.get(name, default).split(",") if word.strip()]


def _is_on(name: str) -> bool:
    return os.environ.get(name, "").lower() in {"1", "true", "yes", "on"}


def _number(name: str, default: int, most: int | None = None) -> int:
    text = os.environ.get(name, str(default))
    if not text.isdecimal():
        raise SystemExit(f"{name} must be a whole number, not {text!r}")
    if most is not None and int(text) > most:
        raise SystemExit(f"{name} must be at most {most}")
    return int(text)


def _amount(name: str, default: str) -> Decimal:
    text = os.environ.get(name, default)
    if not re.fullmatch(r"\d{1,9}(\.\d{1,9})?", text):
        raise SystemExit(f"{name} must be an amount in dollars such as 0.50, not {text!r}")
    return Decimal(text)


def _address(name: str, *schemes: str) -> str:
    text = os.environ.get(name, "")
    if text and not text.startswith(schemes):
        raise SystemExit(f"{name} must begin with {' or '.join(schemes)}")
    return text


def _database(default: str) -> dict[str, Any]:
    try:
        return dict(dj_database_url.config(default=default))
    except ValueError:  # the message may contain a password
        raise SystemExit("DATABASE_URL must be like postgres://user:password@host:5432/name") from None


def _default_data_folder() -> Path:
    """Return `var` of a checkout, or the platform's user data folder for an installed package."""
    if IS_CHECKOUT:
        return BASE / "var"
    name = "Loopscope" if sys.platform in {"darwin", "win32"} else "loopscope"
    return platformdirs.user_data_path(name, appauthor=False)


def _folder(path: Path) -> Path:
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise SystemExit(f"LOOPSCOPE_DATA cannot be a folder: {error}") from None
    return path


def _secret_key(path: Path) -> str:
    """Return the key in `path`, created at the first start."""
    try:
        return _stored_key(path)
    except OSError as error:
        raise SystemExit(f"LOOPSCOPE_DATA cannot be used: {error}") from None


def _stored_key(path: Path) -> str:
    """Return the key, created if there is none; of two concurrent first starts one wins."""
    if not path.exists():
        draft = path.with_suffix(f".{os.getpid()}")
        with draft.open("w") as file:
            file.write(secrets.token_urlsafe(64))
            file.flush()
            os.fsync(file.fileno())
        with suppress(FileExistsError):
            os.link(draft, path)
        draft.unlink()
    return path.read_text()


DATA = _folder(Path(os.environ.get("LOOPSCOPE_DATA") or _default_data_folder()).resolve())

DEBUG = _is_on("LOOPSCOPE_DEBUG")
SECRET_KEY = os.environ.get("LOOPSCOPE_SECRET_KEY") or _secret_key(DATA / "secret_key")
ALLOWED_HOSTS = _words("LOOPSCOPE_ALLOWED_HOSTS", "127.0.0.1,localhost,[::1]")

MIB = 1024 * 1024
EVENT_BYTES = _number("LOOPSCOPE_EVENT_BYTES", 4 * MIB)

LOOPSCOPE_LIMITS = {  # of the ingest endpoints; those of the protocol are sent in `welcome.limits`
    "event_bytes": EVENT_BYTES,
    "event_values": _number("LOOPSCOPE_EVENT_VALUES", 220_000),
    "frame_bytes": _number("LOOPSCOPE_FRAME_BYTES", EVENT_BYTES + 64 * 1024),
    "frame_events": _number("LOOPSCOPE_FRAME_EVENTS", 500),
    "body_bytes": _number("LOOPSCOPE_BODY_BYTES", 8 * MIB),
    "inflated_bytes": _number("LOOPSCOPE_INFLATED_BYTES", 16 * MIB),
    "body_lines": _number("LOOPSCOPE_BODY_LINES", 42_000),  # 8 MiB of lines of 200 bytes
    "body_values": _number("LOOPSCOPE_BODY_VALUES", 660_000),  # of a body of spans or log records
    "depth": _number("LOOPSCOPE_DEPTH", 128),
    "id_bytes": _number("LOOPSCOPE_ID_BYTES", 512, most=512),  # maximum of the columns
    "credit_bytes": _number("LOOPSCOPE_CREDIT_BYTES", MIB),
    # Above what one node can store, so that only a sender that runs wild meets it. 0: no limit.
    "token_events_s": _number("LOOPSCOPE_TOKEN_EVENTS_S", 50_000),
    "token_bytes_s": _number("LOOPSCOPE_TOKEN_BYTES_S", 128 * MIB),
    "hello_s": _number("LOOPSCOPE_HELLO_S", 10),
    "ping_s": _number("LOOPSCOPE_PING_S", 20),
    "silence_s": _number("LOOPSCOPE_SILENCE_S", 60),
    "slow_s": _number("LOOPSCOPE_SLOW_S", 15),
}
LOOPSCOPE_PAGE_SILENCE_S = _number("LOOPSCOPE_PAGE_SILENCE_S", 30)  # without an acknowledgement of a page

# Seconds without an event until a session is stale: a running one, one that waits for an approval; 0: never.
STALE_MAX_S = 10 * 365 * 24 * 3600
LOOPSCOPE_STALE_S = _number("LOOPSCOPE_STALE_S", 30 * 60, most=STALE_MAX_S)
# Seconds without a span after which an open loop of a trace is aborted; it goes on if the rest comes.
LOOPSCOPE_SPAN_SILENCE_S = _number("LOOPSCOPE_SPAN_SILENCE_S", 10 * 60, most=STALE_MAX_S)
LOOPSCOPE_SPAN_READ_S = _number("LOOPSCOPE_SPAN_READ_S", 120)  # then spans are set aside; 0: no limit
LOOPSCOPE_STALE_WAITING_S = _number("LOOPSCOPE_STALE_WAITING_S", 24 * 3600, most=STALE_MAX_S)
# A language model that extracts facts from recorded text (OpenAI's API); off without a URL.
LOOPSCOPE_FACTS_URL = _address("LOOPSCOPE_FACTS_URL", "http://", "https://")
LOOPSCOPE_SEARCH = os.environ.get("LOOPSCOPE_SEARCH", "1").lower() not in {"0", "false", "no", "off"}
LOOPSCOPE_LEDGER = os.environ.get("LOOPSCOPE_LEDGER", "1").lower() not in {"0", "false", "no", "off"}
LOOPSCOPE_WASTE = os.environ.get("LOOPSCOPE_WASTE", "1").lower() not in {"0", "false", "no", "off"}
LOOPSCOPE_WASTE_USD = _amount("LOOPSCOPE_WASTE_USD", "1")  # waste of so much is an alarm; 0: none
LOOPSCOPE_FACTS_MODEL = os.environ.get("LOOPSCOPE_FACTS_MODEL", "")
LOOPSCOPE_FACTS_KEY = os.environ.get("LOOPSCOPE_FACTS_KEY", "")
LOOPSCOPE_FACTS_S = _number("LOOPSCOPE_FACTS_S", 60) or 60

INSTALLED_APPS = [
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.staticfiles",
    "channels",
    "django_htmx",
    "recorder",
    "dashboard",
    *SSO_APPS,
]

MIDDLEWARE = [
    "dashboard.security.csp.ContentSecurityPolicy",
    "django.middleware.security.SecurityMiddleware",
    "dashboard.web.static_files.StaticFiles",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "dashboard.security.signins.SignIns",
    "dashboard.web.errors.DatabaseUnavailable",
    "django_htmx.middleware.HtmxMiddleware",
    "dashboard.security.stream_access.StreamAccess",
    *SSO_MIDDLEWARE,
]

ROOT_URLCONF = "dashboard.urls"
ASGI_APPLICATION = "dashboard.asgi.application"
APPEND_SLASH = False
LOGIN_URL = "/signin"

TEMPLATES: list[dict[str, Any]] = [
    {
        "NAME": "django",
        "BACKEND": "dashboard.rendering.bidi_marks.Templates",
        "DIRS": [ASSETS / "templates"],
        "OPTIONS": {
            "loaders": [
                (
                    "django.template.loaders.cached.Loader",
                    [
                        "dashboard.web.whitespace_loader.Loader",
                        "django.template.loaders.app_directories.Loader",
                    ],
                )
            ],
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "dashboard.pages.registry.navigation",
                "dashboard.web.appearance.look",
                "dashboard.security.shared_view.layout",
            ],
        },
    }
]

SQLITE = {
    # Without IMMEDIATE a read followed by a write fails at once when another process writes.
    "transaction_mode": "IMMEDIATE",
    "timeout": 5,
    "init_command": (
        "PRAGMA journal_mode=WAL;"
        "PRAGMA synchronous=FULL;"  # an acknowledged event has reached the disk
        "PRAGMA temp_store=MEMORY;"
        "PRAGMA cache_size=-20000;"
        "PRAGMA journal_size_limit=67108864;"
    ),
}

DATABASES: dict[str, dict[str, Any]] = {"default": _database(f"sqlite:///{DATA / 'loopscope.sqlite3'}")}
if DATABASES["default"]["ENGINE"] == "django.db.backends.sqlite3":
    DATABASES["default"] |= {"ENGINE": "recorder.database.sqlite", "OPTIONS": SQLITE}
else:
    DATABASES["default"]["CONN_HEALTH_CHECKS"] = True  # after an outage the pool holds dead connections
    DATABASES["default"]["OPTIONS"] = {
        # A server that disappears is detected after 20 s; the system's default takes hours.
        "keepalives_idle": 10,
        "keepalives_interval": 5,
        "keepalives_count": 2,
        "tcp_user_timeout": 20_000,
        "connect_timeout": 5,
        **DATABASES["default"].get("OPTIONS", {}),  # options in the URL
        "pool": {
            "min_size": 1,
            "max_size": _number("LOOPSCOPE_DATABASE_CONNECTIONS", 12),
            "timeout": 5,
            # Longer, the pool doubles its wait up to minutes, while the server is available again.
            "reconnect_timeout": 1,
        },
    }
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

# In the memory of each process: rendered fragments, whose keys name their content, so that none is wrong, and
# for seconds the values of dashboard/live/cached_value.py.
CACHES: dict[str, dict[str, Any]] = {
    "default": {
        "BACKEND": "django.core.cache.backends.locmem.LocMemCache",
        "TIMEOUT": None,
        "OPTIONS": {"MAX_ENTRIES": 1_000},  # of about 8 kB, at most 64 kB each
    }
}

REDIS_URL = _address("REDIS_URL", "redis://", "rediss://", "unix://")
# Redis channels are shared by all its databases: the prefix separates installations.
REDIS_PREFIX = f"loopscope-{sha256(SECRET_KEY.encode()).hexdigest()[:16]}"
CHANNEL_LAYERS: dict[str, dict[str, Any]] = {
    "default": {
        "BACKEND": "channels_redis.pubsub.RedisPubSubChannelLayer",
        "CONFIG": {
            "hosts": [{"address": REDIS_URL, "socket_connect_timeout": 2}],
            "prefix": REDIS_PREFIX,
        },
    }
    if REDIS_URL
    else {"BACKEND": "channels.layers.InMemoryChannelLayer"}
}

STATIC_URL = "/static/"
STATIC_ROOT = DATA / "static"
STATICFILES_DIRS = [ASSETS / "static"]
STATICFILES_FINDERS = [
    "django.contrib.staticfiles.finders.FileSystemFinder",
    "dashboard.web.static_files.FilesOfPackages",
]
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {
        "BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"
        if DEBUG
        else "dashboard.web.static_files.HashedFiles"
    },
}
WHITENOISE_ALLOW_ALL_ORIGINS = False

SESSION_COOKIE_NAME = "loopscope_session"
SESSION_COOKIE_AGE = 14 * 24 * 3600
CSRF_COOKIE_NAME = "loopscope_csrf"
CSRF_COOKIE_HTTPONLY = True
CSRF_FAILURE_VIEW = "dashboard.web.errors.csrf_failure"
LOOPSCOPE_NO_STORE = _is_on("LOOPSCOPE_NO_STORE")  # browsers write no page and no response to their disk
# `no-referrer` would make browsers send "Origin: null" with our own forms, which the CSRF check refuses.
SECURE_REFERRER_POLICY = "same-origin"

# Proxies between clients and this server, each of which adds the address before it to X-Forwarded-For.
LOOPSCOPE_PROXIES = _number("LOOPSCOPE_PROXIES", 1 if _is_on("LOOPSCOPE_HTTPS") else 0, most=10)

# Behind a proxy that terminates HTTPS, overwrites X-Forwarded-Proto and is the only way in.
ALLAUTH_TRUSTED_PROXY_COUNT = LOOPSCOPE_PROXIES
if _is_on("LOOPSCOPE_HTTPS"):
    SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
    SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = True
    SECURE_SSL_REDIRECT = True
    SECURE_REDIRECT_EXEMPT = [r"^healthz$", r"^readyz$"]  # requested by local supervisors without HTTPS
    SECURE_HSTS_SECONDS = 14 * 24 * 3600
SILENCED_SYSTEM_CHECKS = [
    "security.W002",  # the policy's frame-ancestors does what X-Frame-Options did
    "security.W005",  # other subdomains are not ours to decide about
    "security.W021",  # as above
]

DATA_UPLOAD_MAX_MEMORY_SIZE = MIB  # pages only: the ingest endpoints have their own limits

AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator", "OPTIONS": {"min_length": 12}},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
]

LANGUAGE_CODE = "en"
USE_I18N = False
TIME_ZONE = "UTC"
USE_TZ = True
