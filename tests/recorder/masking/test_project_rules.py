"""Rules of a project: stored, checked, and in force at once."""

import pytest
from django.test import override_settings

from recorder.ingest.commit.pipeline import Batch, ingest
from recorder.journal.read import texts
from recorder.masking.counts import masks_in
from recorder.masking.matcher import OwnPattern, RuleSettings
from recorder.masking.project_rules import key_of, load, masker_of, save
from recorder.masking.regex import BadPattern
from recorder.models import JournalEvent, MaskingSettings, Project
from tests.support.build import line

pytestmark = pytest.mark.django_db(transaction=True)

EMAIL = "ada@example.org"
KEY = "AKIAIOSFODNN7EXAMPLE"


def recorded(project, text):
    ingest(Batch(project.pk, "p", None, [line({"type": "X", "note": text})]))
    last = JournalEvent.objects.latest("pk").pk
    return texts([last])[last].decode()


def test_a_project_without_settings_has_the_definite_rules(project):
    assert load(project.pk) == RuleSettings()
    assert KEY not in recorded(project, KEY)
    assert EMAIL in recorded(project, EMAIL)


def test_a_change_holds_for_the_next_batch_and_not_for_lines_before(project):
    assert EMAIL in recorded(project, EMAIL)
    save(project.pk, RuleSettings(on=frozenset(("email",))))
    assert EMAIL not in recorded(project, EMAIL)
    save(project.pk, RuleSettings(off=frozenset(("aws-access-key-id",))))
    assert EMAIL in recorded(project, EMAIL)
    assert KEY in recorded(project, KEY)
    assert EMAIL in texts([JournalEvent.objects.earliest("pk").pk]).popitem()[1].decode()


def test_a_change_by_another_process_holds_for_the_next_batch(project):
    save(project.pk, RuleSettings())
    assert EMAIL in recorded(project, EMAIL)
    later = MaskingSettings.objects.get().changed_at.replace(year=2099)
    MaskingSettings.objects.update(on=["email"], changed_at=later)
    assert EMAIL not in recorded(project, EMAIL)


def test_own_patterns_are_stored_and_used_while_they_are_on(project):
    rules = RuleSettings(
        patterns=(OwnPattern("ticket", "T-[0-9]+"), OwnPattern("room", "R-[0-9]+", is_on=False))
    )
    save(project.pk, rules)
    assert load(project.pk) == rules
    assert "[masked:ticket:" in recorded(project, "T-12 in R-7")
    assert "R-7" in recorded(project, "T-12 in R-7")


def test_a_stored_pattern_that_is_not_valid_any_more_is_left_out(project, caplog):
    save(project.pk, RuleSettings(on=frozenset(("email",))))
    MaskingSettings.objects.update(patterns=[{"name": "broken", "pattern": "(", "is_on": True}])
    assert EMAIL not in recorded(project, EMAIL)
    assert "broken cannot be used" in caplog.text


@pytest.mark.parametrize(
    "rules",
    [
        RuleSettings(on=frozenset(("aws-access-key-id",))),
        RuleSettings(off=frozenset(("email",))),
        RuleSettings(on=frozenset(("nothing",))),
        *(
            RuleSettings(patterns=(OwnPattern(name, pattern),))
            for name, pattern in [
                ("a", "("), ("a", "a*"), ("a", "(?=x)"), ("a", "x" * 1001), ("A b", "x"), ("", "x"),
                ("email", "x"), ("a" * 41, "x"), ("a", "\ud800"), ("a", ""),
            ]
        ),
        RuleSettings(patterns=(OwnPattern("a", "x"), OwnPattern("a", "y"))),
        RuleSettings(patterns=tuple(OwnPattern(f"a{n}", "x") for n in range(51))),
    ],
)  # fmt: skip
def test_rules_that_are_not_valid_are_refused_whole(project, rules):
    with pytest.raises(ValueError):  # noqa: PT011  each for a reason of its own
        save(project.pk, rules)
    assert not MaskingSettings.objects.exists()


def test_a_pattern_is_refused_with_its_reason(project):
    with pytest.raises(BadPattern, match="missing"):
        save(project.pk, RuleSettings(patterns=(OwnPattern("a", "("),)))


def test_masks_depend_on_the_project_and_on_the_secret_key(project):
    other = Project.objects.create(slug="other")
    masks = {recorded(project, KEY), recorded(other, KEY)}
    with override_settings(SECRET_KEY="another"):
        masks.add(recorded(project, KEY))
    assert len(masks) == 3
    assert recorded(project, KEY) in masks
    assert len({key_of(project.pk), key_of(other.pk)}) == 2


def test_a_line_carries_how_many_masks_it_has(project):
    stored = recorded(project, f"{KEY} and {KEY} and postgres://u:hunter2@h")
    assert JournalEvent.objects.get().masked == masks_in(stored.encode()) == 3
    recorded(project, "nothing")
    assert JournalEvent.objects.latest("pk").masked is None


def test_rules_are_compiled_once_and_found_with_one_query(project, django_assert_num_queries):
    with django_assert_num_queries(1):
        masker = masker_of(project.pk)
    with django_assert_num_queries(1):
        assert masker_of(project.pk) is masker
