"""What every test has: property tests that choose the same examples each time."""

from django.conf import settings as django_settings
from hypothesis import HealthCheck, settings

settings.register_profile(
    "house", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
settings.load_profile("house")


def pytest_make_parametrize_id(val):
    """Name bytes by their length: packed ones hold the time, and two workers must collect the same names."""
    return f"{len(val)}-bytes" if isinstance(val, bytes) else None


def pytest_collection_modifyitems(config, items):
    """Leave out what is about SQLite alone when another database is tested."""
    if "sqlite3" in django_settings.DATABASES["default"]["ENGINE"]:
        return
    others = [item for item in items if item.get_closest_marker("sqlite")]
    items[:] = [item for item in items if item not in others]
    config.hook.pytest_deselected(items=others)
