"""Settings of a server that breaks on poisoned spans, by `DJANGO_SETTINGS_MODULE`."""

from dashboard.settings import *  # noqa: F403  all settings of a server, and one application more
from dashboard.settings import INSTALLED_APPS

INSTALLED_APPS = [*INSTALLED_APPS, "tests.faults.poisoned.reader.PoisonedReader"]
