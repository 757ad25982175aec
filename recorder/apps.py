"""The recorder as a Django app."""

from django.apps import AppConfig


class RecorderConfig(AppConfig):
    name = "recorder"
