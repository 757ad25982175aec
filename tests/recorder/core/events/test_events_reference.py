"""docs/reference/events.md equals the page that the models generate."""

from typing import get_args

from recorder.core.events import Correction, Event, InternalEvent
from tools.events_reference import OURS, PAGE, THEIRS, page


def test_the_page_equals_the_generated_one():
    assert PAGE.read_text(encoding="utf-8") == page(), "stale: python -m tools.events_reference"


def test_every_event_is_on_the_page():
    assert {*THEIRS, *OURS} == set(get_args(Event)) - {
        *get_args(InternalEvent),
        *get_args(Correction),
    }  # readers alone derive it
    assert THEIRS
    assert OURS
