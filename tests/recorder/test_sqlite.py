"""Statements are put into SQLite's words once: the values of the second time are not those of the first."""

import pytest
from django.db import connection

from recorder.tables import read

pytestmark = [pytest.mark.sqlite, pytest.mark.django_db]


@pytest.mark.parametrize("value", ["a", "%s", "100 %%"])
def test_a_value_may_hold_what_stands_for_values(value):
    assert read("SELECT %s || '%%'", value) == [(value + "%",)]


def test_values_may_have_names():
    with connection.cursor() as cursor:
        cursor.execute("SELECT %(b)s, %(a)s", {"a": 1, "b": 2})
        assert cursor.fetchall() == [(2, 1)]
