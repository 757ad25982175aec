"""Changing the definition of a score in the settings, as far as the scores already given stay valid."""

from threading import Thread

import pytest
from django.contrib.auth.models import User
from django.db import connection, transaction

from recorder.ingest.commit.pipeline import Batch, ingest
from recorder.models import Membership, Project, ScoreDefinition
from recorder.notes import targets, write
from recorder.notes.definitions import Draft, change, define
from recorder.notes.errors import Refused
from recorder.notes.write import Author
from tests.support.build import line
from tests.support.small_loop import Loop

URL = "/p/acme/settings/scores"
LOOK_S = 0.5  # in which a score that did not wait for the transaction would have been given


@pytest.fixture
def acme(db):
    project = Project.objects.create(slug="acme")
    ingest(Batch(project.pk, "p", None, list(map(line, Loop("one").whole("hello")))))
    define(project, Draft("quality", "number", 1, 5), "admin")
    define(project, Draft("solved", "category", categories=["yes", "partly", "no"]), "admin")
    target = targets.find(project.pk, "one")
    for number, word in ((2, "yes"), (4, "no")):
        author = Author(f"judge {number}", source="judge", token=1)
        write.give_score(project.pk, author, target, "quality", number)
        write.give_score(project.pk, author, target, "solved", word)
    return project


@pytest.fixture
def send(client, acme):
    user = User.objects.create_user("mira", password=None)
    Membership.objects.create(project=acme, user=user, role="admin")
    client.force_login(user)
    return lambda **sent: client.post(URL, sent)


def defined(name):
    return ScoreDefinition.objects.get(name=name)


def test_a_range_changes_as_far_as_it_includes_existing_scores(send):
    assert send(edit="quality", min="2", max="4", meaning="How well").status_code == 302
    found = defined("quality")
    assert (found.least, found.most, found.meaning) == (2, 4, "How well")
    assert send(edit="quality", min="", max="").status_code == 302
    assert (defined("quality").least, defined("quality").most) == (None, None)


@pytest.mark.parametrize(
    ("least", "most", "message"),
    [
        ("3", "5", "A score of 2 was given"),
        ("1", "3", "A score of 4 was given"),
        ("5", "1", "The range is empty"),
        ("x", "5", "not a number"),
        ("nan", "5", "not a usable number"),
    ],
)
def test_a_range_that_is_wrong_is_refused_and_changes_nothing(send, least, most, message):
    answer = send(edit="quality", min=least, max=most, meaning="other")
    assert answer.status_code == 400
    assert message in answer.content.decode()
    found = defined("quality")
    assert (found.least, found.most, found.meaning) == (1, 5, "")


def test_a_list_keeps_used_categories_and_may_gain_and_lose_others(send):
    assert send(edit="solved", categories="no, yes, unclear").status_code == 302
    assert defined("solved").categories == ["no", "yes", "unclear"]
    answer = send(edit="solved", categories="yes, unclear")
    assert answer.status_code == 400
    assert "Scores were given as no" in answer.content.decode()
    assert defined("solved").categories == ["no", "yes", "unclear"]


def test_a_category_with_a_comma_survives_a_change_of_the_meaning(send, acme):
    define(acme, Draft("mood", "category", categories=["well, yes", "no"]), "code")
    assert send(edit="mood", category=["well, yes", "no", " "], categories="", meaning="x").status_code == 302
    assert defined("mood").categories == ["well, yes", "no"]


def test_the_name_and_the_kind_stay(send):
    assert send(edit="quality", name="other", kind="boolean", min="1", max="9").status_code == 302
    found = defined("quality")
    assert (found.kind, found.most) == ("number", 9)
    assert send(edit="nothing", meaning="x").status_code == 400
    assert ScoreDefinition.objects.count() == 2


def test_admins_alone_see_the_form_and_change_definitions(send, client):
    assert "Edit quality" in client.get("/p/acme/settings").content.decode()
    Membership.objects.update(role="member")
    assert "Edit quality" not in client.get("/p/acme/settings").content.decode()
    assert send(edit="quality", min="1", max="9").status_code == 403
    assert defined("quality").most == 5


def test_scores_of_another_project_do_not_count(send, acme):
    other = Project.objects.create(slug="other")
    define(other, Draft("quality", "number", 1, 5), "admin")
    assert send(edit="quality", min="1", max="9").status_code == 302
    assert ScoreDefinition.objects.get(project=other).most == 5


@pytest.mark.django_db(transaction=True)
def test_a_score_is_checked_by_the_definition_of_the_moment_in_which_it_is_stored(acme):
    found = []

    def give():
        try:
            author = Author("late", source="judge", token=2)
            write.give_score(acme.pk, author, targets.find(acme.pk, "one"), "quality", 5)
            found.append("stored")
        except Refused:
            found.append("refused")
        finally:
            connection.close()

    giving = Thread(target=give)
    with transaction.atomic():
        change(acme, "quality", least=1, most=4)
        giving.start()
        giving.join(LOOK_S)
        assert found == []
    giving.join()
    assert found == ["refused"]
