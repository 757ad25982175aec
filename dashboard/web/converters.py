"""The path converter `key` of URL patterns; importing the module registers it."""

from django.urls import register_converter
from django.urls.converters import IntConverter


class Key(IntConverter):
    """A primary key of at most 18 digits, so that it fits the column."""

    regex = "[0-9]{1,18}"


register_converter(Key, "key")
