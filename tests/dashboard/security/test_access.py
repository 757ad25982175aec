"""Access checks of pages, the API and sockets."""

import pytest
from django.contrib.auth.models import AnonymousUser, User
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpResponse
from django.test import RequestFactory

from dashboard.security.access import NotSignedIn, member, project_for, projects_of, reader
from recorder.access import tokens
from recorder.models import Membership, Project

pytestmark = pytest.mark.django_db


@pytest.fixture
def mine():
    return Project.objects.create(slug="mine")


@pytest.fixture
def other():
    return Project.objects.create(slug="other")


@pytest.fixture
def ada(mine):
    user = User.objects.create_user("ada")
    Membership.objects.create(project=mine, user=user)
    return user


def ask(user=None, path="/", **headers):
    request = RequestFactory(headers=headers).get(path)
    request.user = user or AnonymousUser()
    return request


def test_a_member_sees_their_projects_and_no_others(ada, mine, other):
    assert list(projects_of(ada)) == [mine]
    assert project_for(ask(ada), "mine") == mine
    for slug in ("other", "nowhere"):
        with pytest.raises(Http404):
            project_for(ask(ada), slug)


def test_a_superuser_sees_all_projects_and_a_non_member_none(mine, other):
    assert list(projects_of(User.objects.create_superuser("root"))) == [mine, other]
    assert not projects_of(AnonymousUser())


def test_an_inactive_user_sees_no_projects(ada):
    ada.is_active = False

    assert not projects_of(ada)


def test_a_page_redirects_anonymous_users_to_the_sign_in_page(mine):
    answer = member(lambda request, project: HttpResponse(project.slug))(
        ask(path="/p/mine/sessions?q=1"), slug="mine"
    )

    assert (answer.status_code, answer["Location"]) == (302, "/signin?next=/p/mine/sessions%3Fq%3D1")


def test_a_view_gets_the_project_of_its_url(ada):
    answer = member(lambda request, project: HttpResponse(project.slug))(ask(ada), slug="mine")

    assert answer.content == b"mine"


def test_a_token_reads_its_own_project_only(mine, other):
    bearer = f"Bearer {tokens.issue(mine, 'reader', ['read'])}"

    assert reader(ask(authorization=bearer)).project == mine
    with pytest.raises(Http404):
        reader(ask(path="/?project=other", authorization=bearer))


def test_a_token_takes_precedence_over_the_signed_in_user(ada, other):
    bearer = f"Bearer {tokens.issue(other, 'reader', ['read'])}"

    assert reader(ask(ada, authorization=bearer)).project == other


def test_requests_that_may_not_read_are_refused(ada, mine, other):
    with pytest.raises(NotSignedIn):
        reader(ask())
    with pytest.raises(NotSignedIn):
        reader(ask(ada, authorization="Bearer lsk_a_b"))
    with pytest.raises(PermissionDenied):
        reader(ask(authorization=f"Bearer {tokens.issue(mine, 'writer', ['ingest'])}"))
    with pytest.raises(Http404):
        reader(ask(ada, "/?project=other"))
