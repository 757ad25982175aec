"""The masking page: who sees it, rules switched with an audit entry each, the test box, dry runs."""

import pytest

from dashboard.pages.masking import queries
from recorder.ingest.commit.pipeline import Batch, ingest
from recorder.journal.read import texts
from recorder.masking.matcher import OwnPattern, RuleSettings
from recorder.masking.project_rules import load, save
from recorder.models import AuditEntry, JournalEvent, Project
from tests.support.build import line

PAGE = "/p/acme/settings/masking"
PATHS = ("/rule", "/pattern", "/pattern/switch", "/pattern/remove", "/test", "/try")
KEY = "AKIAIOSFODNN7EXAMPLE"
CUSTOMER = r"\bACME-C\d{7}\b"

pytestmark = pytest.mark.django_db(transaction=True)


def audited():
    entries = AuditEntry.objects.filter(action="masking.change").order_by("pk")
    return list(entries.values_list("actor", "target", "before", "after"))


def record(project, *notes):
    ingest(Batch(project.pk, "p", None, [line({"type": "X", "note": note}) for note in notes]))


def shown(answer):
    return " ".join(answer.content.decode().split())


def test_only_admins_see_the_page_and_its_tab(client, signed_in, admin):
    assert client.get(PAGE)["Location"] == f"/signin?next={PAGE}"
    assert signed_in("stranger").get(PAGE).status_code == 404
    for role in ("viewer", "member"):
        other = signed_in(role, role)
        assert other.get(PAGE).status_code == 403
        assert PAGE not in other.get("/p/acme/settings").content.decode()
    assert admin.get(PAGE).status_code == 200
    assert PAGE in admin.get("/p/acme/settings").content.decode()


@pytest.mark.parametrize("path", PATHS)
def test_others_change_and_try_nothing(acme, signed_in, path):
    sent = {"name": "email", "on": "1", "pattern": "x", "text": "x", "rule": "email"}
    for name, role, status in (("x", "", 404), ("y", "viewer", 403), ("z", "member", 403)):
        assert signed_in(name, role).post(PAGE + path, sent).status_code == status
    assert load(acme.pk) == RuleSettings()
    assert audited() == []


def test_a_rule_is_switched_with_an_audit_entry(acme, admin):
    answer = admin.post(f"{PAGE}/rule", {"name": "email", "on": "1"})
    assert answer["Location"] == f"{PAGE}#rule-email"
    admin.post(f"{PAGE}/rule", {"name": "jwt", "on": "0"})
    assert load(acme.pk) == RuleSettings(on=frozenset(("email",)), off=frozenset(("jwt",)))
    on, off = {"is_on": True}, {"is_on": False}
    assert audited() == [("mira", "email", off, on), ("mira", "jwt", on, off)]
    admin.post(f"{PAGE}/rule", {"name": "jwt", "on": "0"})
    assert len(audited()) == 2, "nothing changed the second time"
    assert admin.post(f"{PAGE}/rule", {"name": "no-such-rule", "on": "0"}).status_code == 404


def test_a_rule_that_is_switched_on_holds_for_the_next_line(acme, admin):
    admin.post(f"{PAGE}/pattern", {"name": "customer", "pattern": CUSTOMER})
    record(acme, "Refund ACME-C0041872 now")
    last = JournalEvent.objects.latest("pk").pk
    assert b"ACME-C0041872" not in texts([last])[last]


def test_a_pattern_is_added_switched_and_removed(acme, admin):
    answer = admin.post(f"{PAGE}/pattern", {"name": "customer", "pattern": CUSTOMER})
    assert answer["Location"] == f"{PAGE}#rule-customer"
    admin.post(f"{PAGE}/pattern/switch", {"name": "customer", "on": "0"})
    assert load(acme.pk).patterns == (OwnPattern("customer", CUSTOMER, is_on=False),)
    admin.post(f"{PAGE}/pattern/remove", {"name": "customer"})
    assert load(acme.pk).patterns == ()
    on, off = ({"is_on": is_on, "pattern": CUSTOMER} for is_on in (True, False))
    assert audited() == [
        ("mira", "customer", None, on),
        ("mira", "customer", on, off),
        ("mira", "customer", off, None),
    ]


@pytest.mark.parametrize(
    ("name", "pattern", "place", "reason"),
    [
        ("customer", "(?=x)", "pattern-error", "invalid perl operator: (?="),
        ("customer", "x*", "pattern-error", "the pattern matches the empty text"),
        ("customer", "", "pattern-error", "the pattern matches the empty text"),
        ("Customer", "x", "name-error", "1 to 40 characters"),
        ("email", "x", "name-error", "a rule of Loopscope has this name"),
        ("taken", "x", "name-error", "another pattern has this name"),
    ],
)
def test_what_is_refused_says_why_at_its_field_and_keeps_the_form(acme, admin, name, pattern, place, reason):
    save(acme.pk, RuleSettings(patterns=(OwnPattern("taken", "y"),)))
    answer = admin.post(f"{PAGE}/pattern", {"name": name, "pattern": pattern, "text": "kept text"})
    assert answer.status_code == 400
    error = shown(answer).partition(f'id="{place}"')[2]
    assert reason in error.partition("</p>")[0]
    assert f'aria-describedby="{place}"' in shown(answer)
    assert "kept text" in shown(answer)
    assert len(load(acme.pk).patterns) == 1
    assert audited() == []


def test_a_project_has_no_more_than_fifty_patterns(acme, admin):
    save(acme.pk, RuleSettings(patterns=tuple(OwnPattern(f"p{n}", "x") for n in range(50))))
    answer = admin.post(f"{PAGE}/pattern", {"name": "one-more", "pattern": "x"})
    assert "a project has at most 50 patterns" in shown(answer)
    assert len(load(acme.pk).patterns) == 50


def test_the_test_box_shows_what_would_be_stored(acme, admin):
    text = f"<b>{KEY}</b>\r\nmail ana@shop.example about ACME-C0041872"
    answer = admin.post(f"{PAGE}/test", {"name": "customer", "pattern": CUSTOMER, "text": text})
    stored = answer.content.decode().partition("Stored as")[2].partition("values masked")[0]
    assert "&lt;b&gt;<mark" in " ".join(stored.split()).replace('<mark class="masked-value">', "<mark")
    for found in ("[masked:aws-access-key-id:", "[masked:customer:", "ana@shop.example"):
        assert found in stored, "the rule for addresses is off"
    for secret in (KEY, "ACME-C0041872", "<b>"):
        assert secret not in stored
    assert "2 values masked" in shown(answer)
    assert load(acme.pk) == RuleSettings()
    assert not JournalEvent.objects.exists()


def test_a_text_is_tested_without_a_pattern_and_a_bad_one_is_refused(admin):
    answer = admin.post(f"{PAGE}/test", {"text": KEY})
    assert "1 value masked" in shown(answer)
    answer = admin.post(f"{PAGE}/test", {"pattern": "(", "text": KEY})
    assert answer.status_code == 400
    assert "missing )" in shown(answer)


def test_a_dry_run_counts_matches_and_shows_them_masked(acme, admin):
    record(acme, "write to ana@shop.example", "<i> ana@shop.example and bob@shop.example", "nothing")
    answer = admin.post(f"{PAGE}/try", {"rule": "email"})
    assert "3 matches" in shown(answer)
    assert "2 of 3 lines" in shown(answer)
    found = shown(answer).partition("masking-snippets")[2]
    assert found.count("<li") == 1, "the newest line has the address of the other one"
    assert found.count("[masked:email:") == 2, "a match beside the first one is masked, too"
    assert "shop.example" not in shown(answer)
    assert "<i>" not in found
    assert load(acme.pk) == RuleSettings()


def test_a_dry_run_takes_the_pattern_of_the_form(acme, admin):
    record(acme, "ticket 4711", "ticket 0815")
    answer = admin.post(f"{PAGE}/try", {"pattern": r"ticket (\d+)", "name": ""})
    assert "2 matches" in shown(answer)
    assert "4711" not in shown(answer)
    assert admin.post(f"{PAGE}/try", {"pattern": "*"}).status_code == 400
    assert admin.post(f"{PAGE}/try", {"rule": "no-such-rule"}).status_code == 404


def test_a_dry_run_reads_the_newest_lines_of_this_project_within_its_bounds(acme, monkeypatch):
    record(Project.objects.create(slug="other"), "a@other.example")
    record(acme, "a@old.example", "x" * 2_000 + " a@long.example", "a@one.example", "a@two.example")
    monkeypatch.setattr(queries, "LINE_BYTES", 1_000)
    monkeypatch.setattr(queries, "LINES_MAX", 3)
    assert [each.partition(b"@")[2][:3] for each in queries.newest_lines(acme)] == [b"two", b"one"]
    monkeypatch.setattr(queries, "BYTES_MAX", 50)
    assert len(queries.newest_lines(acme)) == 1


def test_the_page_has_a_fixed_number_of_queries(acme, admin, django_assert_num_queries):
    admin.get(PAGE)
    with django_assert_num_queries(13):
        admin.get(PAGE)
    save(acme.pk, RuleSettings(patterns=tuple(OwnPattern(f"p{n}", "x") for n in range(50))))
    with django_assert_num_queries(13):
        admin.get(PAGE)


def test_each_rule_shows_how_many_values_it_masked(acme, admin, django_assert_num_queries):
    record(acme, f"{KEY} and {KEY}", "mail ana@shop.example")
    page = shown(admin.get(PAGE))
    assert "<b>2</b> masked" in page.partition('id="rule-aws-access-key-id"')[2].partition("</li>")[0]
    assert "<b>0</b> masked" in page.partition('id="rule-jwt"')[2].partition("</li>")[0]
    assert f"2 <small>since {JournalEvent.objects.earliest('pk').received_at:%-d %b %Y}</small>" in page
    with django_assert_num_queries(2):
        queries.rules(acme)


def test_a_rule_that_is_off_shows_what_it_would_match(acme, admin):
    record(acme, "mail ana@shop.example and bob@shop.example")
    row = shown(admin.get(PAGE)).partition('id="rule-email"')[2].partition("</li>")[0]
    assert "Count matches" in row
    assert "</b> masked" not in row
    row = shown(admin.post(f"{PAGE}/try", {"rule": "email"})).partition('id="rule-email"')[2]
    assert "<b>2</b> would match" in row.partition("</li>")[0]
