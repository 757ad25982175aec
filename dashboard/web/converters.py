"""The path converters `key`, `secret` and `shared_kind` of URL patterns, registered by the import."""

from django.urls import register_converter
from django.urls.converters import IntConverter, StringConverter


class Key(IntConverter):
    """A primary key of at most 18 digits, so that it fits the column."""

    regex = "[0-9]{1,18}"


class Secret(StringConverter):
    """A secret of 256 bits, as `secrets.token_urlsafe(32)` writes it."""

    regex = "[A-Za-z0-9_-]{43}"


class SharedKind(StringConverter):
    """The kind of record that a share link shows."""

    regex = "session|evaluation|view|comparison"


register_converter(Key, "key")
register_converter(Secret, "secret")
register_converter(SharedKind, "shared_kind")
