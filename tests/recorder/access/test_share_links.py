"""Share links: only a hash is stored, they end, and openings are counted."""

from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.utils import timezone

from recorder.access import share_links
from recorder.access.share_links import LEAST, MOST, NOTED_FOR, NOTED_MOST, Target, Terms
from recorder.models import Project, ShareLink, ShareOpening

pytestmark = pytest.mark.django_db
SESSION = Target("session", 1)


@pytest.fixture
def project():
    return Project.objects.create(slug="default")


@pytest.fixture
def maker(project):
    user = User.objects.create_user("maker")
    project.memberships.create(user=user, role="member")
    return user


@pytest.fixture
def issued(project, maker):
    return share_links.issue(project, maker, SESSION, Terms(password="sesame"))


def stored(link):
    return " ".join(str(value) for value in ShareLink.objects.filter(pk=link.pk).values().get().values())


def test_the_secret_and_the_password_are_stored_as_hashes_only(issued):
    assert len(issued.secret) == 43
    assert issued.secret not in stored(issued.link)
    assert "sesame" not in stored(issued.link)
    assert share_links.find(issued.secret) == issued.link
    assert share_links.is_password(issued.link, "sesame")
    assert not share_links.is_password(issued.link, "Sesame")


@pytest.mark.parametrize("secret", ["", "x", "0" * 43, "\0" * 43, "ä" * 43, "A" * 10_000])
def test_what_is_no_secret_finds_no_link(issued, secret):
    assert share_links.find(secret) is None
    assert share_links.find(issued.secret[:-1]) is None
    assert share_links.find(issued.secret + "A") is None


def test_a_link_ends_when_it_expires(issued):
    ShareLink.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    assert share_links.find(issued.secret) is None
    assert not share_links.count_opening(issued.link)


def test_a_revoked_link_ends_and_is_revoked_once(issued):
    assert share_links.revoke(issued.link)
    assert not share_links.revoke(issued.link)
    assert share_links.find(issued.secret) is None
    assert not share_links.count_opening(issued.link)


@pytest.mark.parametrize("loss", ["removed", "viewer", "inactive"])
def test_a_link_ends_with_the_right_of_its_maker(issued, maker, loss):
    if loss == "removed":
        maker.memberships.all().delete()
    elif loss == "viewer":
        maker.memberships.update(role="viewer")
    else:
        User.objects.update(is_active=False)
    assert share_links.find(issued.secret) is None


def test_a_link_of_a_superuser_needs_no_membership(project):
    root = User.objects.create_superuser("root")
    assert share_links.find(share_links.issue(project, root, SESSION, Terms()).secret)


def test_openings_are_counted_with_the_last_time(issued):
    before = timezone.now()
    assert share_links.count_opening(issued.link)
    assert share_links.count_opening(issued.link)
    found = ShareLink.objects.get()
    assert found.openings == 2
    assert before <= found.opened_at <= timezone.now()


def test_an_opening_is_noted_once_an_hour_for_who_opens(issued, maker, project):
    link = issued.link
    assert share_links.note_opening(link, "10.0.0.1")
    assert not share_links.note_opening(link, "10.0.0.1")
    assert share_links.note_opening(link, "10.0.0.2")
    other = share_links.issue(project, maker, SESSION, Terms()).link
    assert share_links.note_opening(other, "10.0.0.1")
    ShareOpening.objects.filter(link=link, who="10.0.0.1").update(at=timezone.now() - NOTED_FOR)
    assert share_links.note_opening(link, "10.0.0.1")
    assert not share_links.note_opening(link, "10.0.0.2")
    assert ShareOpening.objects.filter(link=link).count() == 2, "what is older than an hour is deleted"


def test_the_openings_of_a_link_that_are_noted_are_limited(issued):
    noted = [share_links.note_opening(issued.link, f"10.0.{n}.1") for n in range(NOTED_MOST + 5)]
    assert noted == [True] * NOTED_MOST + [False] * 5
    assert ShareOpening.objects.count() == NOTED_MOST


@pytest.mark.parametrize("lifetime", [LEAST - timedelta(seconds=1), MOST + timedelta(seconds=1), timedelta()])
def test_a_link_lives_for_an_hour_to_thirty_days(project, maker, lifetime):
    with pytest.raises(ValueError, match="1 hour to 30 days"):
        share_links.issue(project, maker, SESSION, Terms(lifetime))
    assert not ShareLink.objects.exists()
