"""The path converter `key` of URL patterns; importing the module registers it."""

from django.urls import register_converter
from django.urls.converters import IntConverter


class Key(IntConverter):
    """A primary key: no number that a column cannot hold."""

    regex = "[0-9]{1,18}"


register_converter(Key, "key")
