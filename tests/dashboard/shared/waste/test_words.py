"""Every rule has its words."""

from dashboard.shared.waste.words import LABELS, MEANINGS, counted, label, repeated
from recorder.models import Waste


def test_every_rule_has_words_and_a_later_one_is_shown_as_it_is():
    rules = set(Waste.Rule.values)
    assert set(LABELS) == set(MEANINGS) == rules
    for rule in rules:
        assert counted(rule, 4).endswith("4 times")
        assert rule not in repeated(rule, "turn 3")
    assert counted("same_call", 1) == "same call once"
    assert label("later") == "later"
    assert repeated("later", "turn 3") == "later"
