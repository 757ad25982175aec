"""What our backend for SQLite does in fewer steps than Django's, with the same results."""

from math import nan

import pytest
from django.db import connection

from recorder.database.sql import read

pytestmark = [pytest.mark.sqlite, pytest.mark.django_db]


@pytest.mark.parametrize("value", ["a", "%s", "100 %%"])
def test_a_value_may_contain_placeholders(value):
    assert read("SELECT %s || '%%'", value) == [(value + "%",)]


def test_values_may_have_names():
    with connection.cursor() as cursor:
        cursor.execute("SELECT %(b)s, %(a)s", {"a": 1, "b": 2})
        assert cursor.fetchall() == [(2, 1)]


@pytest.mark.parametrize(
    ("value", "stored"),
    [(None, None), (nan, None), (b"a\0\xff", b"a\0\xff"), (True, 1), (False, 0), (0, 0), ("", "")],
)
def test_a_value_is_stored_as_what_it_is(value, stored):
    kinds = {type(None): "null", bytes: "blob", int: "integer", str: "text"}
    for _ in range(2):
        assert read("SELECT %s, TYPEOF(%s)", value, value) == [(stored, kinds[type(stored)])]


@pytest.mark.django_db(transaction=True)
def test_a_new_connection_checks_foreign_keys_until_that_is_switched_off():
    def checks():
        return bool(read("PRAGMA foreign_keys")[0][0])

    for _ in range(2):
        connection.close()
        assert checks()
        assert connection.disable_constraint_checking()
        assert connection.disable_constraint_checking()
        assert not checks()

    connection.enable_constraint_checking()
    assert checks()
    assert connection.disable_constraint_checking()
    assert not checks()
    connection.close()
    assert connection.disable_constraint_checking()
    assert not checks()
    connection.close()


def test_keys_cannot_be_trusted_from_the_middle_of_a_transaction_on():
    assert not connection.disable_constraint_checking()
    assert read("PRAGMA foreign_keys") == [(1,)]
