"""Signing in with an OpenID Connect provider that runs: right, refused, and with a provider that is away."""

import time
from urllib.parse import parse_qs, urlsplit

import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from django.contrib.auth.models import User
from django.test import Client
from django.urls import NoReverseMatch, reverse

from recorder.models import AuditEntry, Membership

OTHER_KEY = rsa.generate_private_key(public_exponent=65537, key_size=2048)


def signed_in(client):
    return "_auth_user_id" in client.session


def noted(action="signin.refused"):
    return list(AuditEntry.objects.filter(action=action).values_list("target", "actor", "after"))


def roles(name="ada"):
    return dict(Membership.objects.filter(user__username=name).values_list("project__slug", "role"))


def refused(client, answer, reason, status=403):
    assert answer.status_code == status
    assert "You are not signed in" in answer.content.decode()
    assert "no-store" in answer["Cache-Control"]
    assert not signed_in(client)
    assert [after for target, _, after in noted() if target == "oidc"] == [{"reason": reason}]


def test_the_first_sign_in_makes_a_user_and_the_second_finds_it(client, configure, sign_in, provider):
    configure()
    answer = sign_in(after="/p/acme/costs")

    assert (answer.status_code, answer["Location"]) == (302, "/p/acme/costs")
    assert signed_in(client)
    user = User.objects.get()
    assert (user.username, user.is_superuser, user.has_usable_password()) == ("ada", False, False)
    assert noted("signin") == [("oidc", "ada", None)]
    assert roles() == {}

    sign_in(Client())
    assert User.objects.count() == 1


def test_the_button_has_the_name_and_keeps_the_place(client, configure):
    configure()
    page = client.get("/signin", {"next": "/p/acme/costs"}).content.decode()
    assert "Sign in with Acme ID" in page
    assert 'href="/signin/oidc?next=%2Fp%2Facme%2Fcosts"' in page


def test_without_a_provider_there_is_no_button_and_no_route(client, db):
    assert "/signin/oidc" not in client.get("/signin").content.decode()
    with pytest.raises(NoReverseMatch):
        reverse("oidc-callback")


def test_a_place_on_another_site_is_not_gone_to(configure, sign_in):
    configure()
    assert sign_in(after="https://evil.example/")["Location"] == "/"


def test_another_subject_with_the_same_name_and_address_is_another_user(configure, sign_in, provider):
    User.objects.create_user("ada", "ada@acme.example", "correct horse battery", is_superuser=True)
    configure()
    provider.claims |= {"email": "ada@acme.example", "email_verified": True}
    sign_in()
    provider.claims["sub"] = "ada-2"
    sign_in(Client())

    assert User.objects.count() == 3
    assert User.objects.filter(is_superuser=True).count() == 1
    assert User.objects.filter(socialaccount__isnull=True).get().username == "ada"


def test_a_group_gives_a_role_in_all_projects_or_in_one(configure, sign_in, provider):
    configure("agents:viewer, agents:acme:member")
    provider.claims["groups"] = ["agents", "others"]
    sign_in()
    assert roles() == {"acme": "member", "beta": "viewer"}
    changes = AuditEntry.objects.filter(action="membership.claim").values_list("actor", "target", "after")
    assert set(changes) == {("ada", "ada", "member"), ("ada", "ada", "viewer")}


def test_roles_are_evaluated_again_at_each_sign_in(configure, sign_in, provider):
    configure("agents:viewer, leads:acme:admin, ops:beta:member")
    provider.claims["groups"] = ["agents", "leads"]
    sign_in()
    assert roles() == {"acme": "admin", "beta": "viewer"}
    provider.claims["groups"] = ["ops"]
    sign_in(Client())
    assert roles() == {"beta": "member"}


def test_a_membership_that_a_person_gave_stays(configure, sign_in, provider):
    configure("agents:viewer, leads:acme:admin")
    provider.claims["groups"] = ["agents"]
    sign_in()
    Membership.objects.filter(project__slug="acme").update(role="member", from_claim=False)
    provider.claims["groups"] = ["leads"]
    sign_in(Client())
    assert roles() == {"acme": "member"}


def test_without_a_role_and_a_default_it_is_refused_and_roles_end(client, configure, sign_in, provider):
    configure("agents:viewer")
    provider.claims["groups"] = ["agents"]
    sign_in(Client())
    provider.claims["groups"] = ["others"]
    answer = sign_in()

    refused(client, answer, "no_role")
    assert "has no role here" in answer.content.decode()
    assert roles() == {}


def test_a_stranger_without_a_role_gets_no_account(client, configure, sign_in):
    configure("agents:viewer")
    refused(client, sign_in(), "no_role")
    assert not User.objects.exists()
    assert noted()[0][1] == "ada"


def test_the_default_holds_when_no_group_matches(configure, sign_in, provider):
    configure("agents:admin, *:acme:viewer")
    provider.claims["groups"] = ["*"]
    sign_in()
    assert roles() == {"acme": "viewer"}


def test_groups_are_read_from_userinfo_and_from_a_nested_claim(configure, sign_in, provider):
    configure("agents:acme:member", claim="realm.roles")
    provider.profile["realm"] = {"roles": ["agents"]}
    sign_in()
    assert roles() == {"acme": "member"}


def test_only_the_issuer_and_the_groups_are_stored(configure, sign_in, provider):
    configure("agents:viewer")
    provider.claims |= {"groups": ["agents"], "phone_number": "+49 30 1234"}
    sign_in()
    assert User.objects.get().socialaccount_set.get().extra_data == {
        "issuer": provider.issuer,
        "groups": ["agents"],
    }


@pytest.mark.parametrize(
    ("wrong", "reason"),
    [
        ({"exp": -3600, "iat": -7200}, "expired"),
        ({"aud": "another-client"}, "audience"),
        ({"aud": ["loopscope", "x"], "azp": "x"}, "audience"),
        ({"iss": "https://evil.example"}, "issuer"),
        ({"sub": "someone-else"}, "token"),  # UserInfo says ada-1
        ({"sub": ""}, "token"),
        ({"iat": 3600}, "token"),
    ],
    ids=lambda value: value if isinstance(value, str) else "-".join(value),
)
def test_a_wrong_id_token_is_refused(client, configure, sign_in, provider, wrong, reason):
    """Its times are given in seconds from now."""
    configure()
    now = int(time.time())
    provider.in_id_token = {name: now + at if name in ("exp", "iat") else at for name, at in wrong.items()}
    refused(client, sign_in(), reason)
    assert not User.objects.exists()


def test_a_token_of_another_key_or_without_a_signature_is_refused(client, configure, sign_in, provider):
    configure()
    provider.signing_key = OTHER_KEY
    assert sign_in().status_code == 403
    provider.signing_key, provider.algorithm = None, "none"
    assert sign_in().status_code == 403
    provider.signing_key, provider.algorithm = "s3cret" * 8, "HS256"
    assert sign_in().status_code == 403
    assert {after["reason"] for _, _, after in noted()} == {"token"}
    assert not signed_in(client)


@pytest.mark.parametrize(
    "value", ["x" * 500, "a\0b", "\ud800", "", 7, ["ada"], {"a": 1}, None, "<b>", " ada "]
)
def test_names_of_every_kind_make_a_user(client, configure, sign_in, provider, value):
    configure("agents:viewer")
    names = ("preferred_username", "name", "given_name", "family_name", "email")
    provider.claims |= dict.fromkeys(names, value) | {"groups": ["agents", value, "a\0b"]}
    assert sign_in().status_code == 302
    user = User.objects.get()
    assert 0 < len(user.username) <= 150
    assert roles(user.username) == {"acme": "viewer", "beta": "viewer"}


@pytest.mark.parametrize("sub", ["x" * 192, "a\0b", 7])
def test_a_subject_that_cannot_be_stored_is_refused(client, configure, sign_in, provider, sub):
    configure()
    provider.claims["sub"] = sub
    refused(client, sign_in(), "token")


def test_a_document_of_another_issuer_is_refused(client, configure, sign_in, provider):
    configure()
    provider.in_document = {"issuer": "https://evil.example"}
    refused(client, sign_in(), "issuer")


def test_a_wrong_state_is_refused(client, configure, at_provider):
    configure()
    back = at_provider(client.get("/signin/oidc")["Location"])
    code = parse_qs(urlsplit(back).query)["code"][0]
    answer = client.get("/signin/oidc/callback", {"code": code, "state": "forged"})
    refused(client, answer, "state", 400)


def test_an_answer_in_another_browser_is_refused(client, configure, at_provider):
    configure()
    back = at_provider(Client().get("/signin/oidc")["Location"])
    refused(client, client.get(back), "state", 400)


def test_an_answer_counts_once(client, configure, at_provider):
    configure()
    back = at_provider(client.get("/signin/oidc")["Location"])
    client.get(back)
    client.post("/signout")
    refused(client, client.get(back), "state", 400)


def test_a_code_counts_once_even_with_a_new_state(client, configure, at_provider):
    configure()
    used = at_provider(Client().get("/signin/oidc")["Location"])
    first = Client()
    first.get(at_provider(first.get("/signin/oidc")["Location"]))
    begun = client.get("/signin/oidc")["Location"]
    state = parse_qs(urlsplit(begun).query)["state"][0]
    code = parse_qs(urlsplit(used).query)["code"][0]
    answer = client.get("/signin/oidc/callback", {"code": code, "state": state})
    refused(client, answer, "code", 400)


def test_a_sign_in_that_was_cancelled_says_so(client, configure):
    configure()
    state = parse_qs(urlsplit(client.get("/signin/oidc")["Location"]).query)["state"][0]
    answer = client.get("/signin/oidc/callback", {"error": "access_denied", "state": state})
    refused(client, answer, "cancelled")


def test_an_unreachable_provider_is_reported_at_both_ends(client, configure, at_provider, provider):
    configure()
    back = at_provider(client.get("/signin/oidc")["Location"])
    provider.stop()
    for answer in (client.get(back), client.get("/signin/oidc")):
        assert answer.status_code == 503
        assert "Acme ID did not answer" in answer.content.decode()
    assert [after for _, _, after in noted()] == [{"reason": "provider"}] * 2
    assert not signed_in(client)


def test_a_provider_without_sense_is_refused(client, configure, sign_in, provider):
    configure()
    provider.in_document = {"token_endpoint": None}
    refused(client, sign_in(), "provider", 503)


def test_a_deactivated_user_is_refused(client, configure, sign_in):
    configure()
    sign_in(Client())
    User.objects.update(is_active=False)
    answer = sign_in()
    assert answer.status_code == 403
    assert "deactivated" in answer.content.decode()
    assert not signed_in(client)


def test_the_query_of_the_start_adds_no_scope_and_connects_nothing(client, configure, at_provider, ada):
    configure()
    client.force_login(ada)
    begun = client.get("/signin/oidc", {"process": "connect", "scope": "admin", "auth_params": "prompt=none"})
    assert "admin" not in begun["Location"]
    assert "prompt" not in begun["Location"]
    client.get(at_provider(begun["Location"]))
    assert not ada.socialaccount_set.exists()


def test_starts_are_limited_by_address(client, configure):
    configure()
    answers = [client.get("/signin/oidc").status_code for _ in range(41)]
    assert answers == [302] * 40 + [429]
