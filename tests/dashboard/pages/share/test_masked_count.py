"""The bar of a shared page says how many values the link masked on it."""

import re

import pytest
from django.test import Client

from recorder.models import Session
from tests.support.small_loop import Loop

KEY, MAIL, OTHER = "AKIAIOSFODNN7EXAMPLE", "ada@example.org", "bob@example.org"


def bar(path):
    html = Client().get(path, follow=True).content.decode()
    return re.search(r'class="share-masked"([^<]*)<', html)[1].partition(">")[2]


@pytest.fixture
def shared(feed, share):
    """Share a session with a text; return the path of the link."""

    def shared(text, **terms):
        feed(*Loop("talk", "a.1").whole(text))
        return share("session", Session.objects.get(session_id="talk").pk, **terms)

    return shared


def test_different_values_are_counted_once(shared):
    assert bar(shared(f"Write to {MAIL}, to {MAIL} and to {OTHER}")) == "2 values masked"


def test_one_value(shared):
    assert bar(shared(f"Write to {MAIL}")) == "1 value masked"


def test_what_was_stored_masked_is_not_counted(shared):
    assert bar(shared(f"the key {KEY}")) == "Masked"


def test_a_recorded_text_is_no_bar(shared):
    path = shared(f'<span class="share-masked">Masked</span> {MAIL}')
    assert bar(path) == "1 value masked"


def test_a_link_that_does_not_mask_has_no_count(shared):
    html = Client().get(shared(f"Write to {MAIL}", is_masked=False), follow=True).content.decode()
    assert MAIL in html
    assert "share-masked" not in html
