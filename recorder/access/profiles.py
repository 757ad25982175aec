"""The choices of a user for every browser: the time zone in which pages show times."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING
from zoneinfo import available_timezones

from recorder.models import Profile

if TYPE_CHECKING:
    from django.contrib.auth.models import User


def time_zone(user: User) -> str:
    """Return the IANA name that a user chose, "" for that of the browser. One query."""
    return Profile.objects.filter(user=user).values_list("time_zone", flat=True).first() or ""


def set_time_zone(user: User, name: str) -> None:
    """Store the choice of a user. Two queries."""
    Profile.objects.update_or_create(user=user, defaults={"time_zone": name})


@cache
def time_zones() -> Sequence[str]:
    """Return the names that can be chosen, by name."""
    return sorted(name for name in available_timezones() if "/" in name or name == "UTC")
