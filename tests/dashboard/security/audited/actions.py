"""The requests that change something: each with a driver and the entry it writes, or why it writes none."""

from collections.abc import Callable
from dataclasses import dataclass, field

P, A = "p/<slug:slug>/", "api/v1/"
ANY = object()
PRICE = {"model": "m", "provider": "p", "input": "1", "output": "2"}
VIEW = {"name": "Failed", "page": "sessions", "query": "q=status:failed", "visibility": "project"}


@dataclass
class Writes:
    """A request and its entry. `drive(world)` sends it and returns the target of the entry."""

    action: str
    drive: Callable[..., object]
    before: object = None
    after: object = None
    has_project: bool = True
    actor: str = "ada"
    also: tuple[str, ...] = field(default=())  # other actions that it may write


def sign_in(world):
    world.client.post("/signin", {"username": "ada", "password": "right-password"})
    return "password"


def link(world):
    world.client.post(f"/signin/{world.link()}")
    return "link"


def sign_out(world):
    world.client.post("/signout")
    return ""


def delete_sessions(world):
    world.post("sessions/delete", of=world.session.pk, confirm="1")
    return world.session.session_id


def pin(world):
    world.post(f"sessions/{world.session.pk}/pin", pinned="1")
    return world.session.session_id


def delete_note(world):
    world.post(f"notes/{world.note.pk}", action="delete")
    return world.session.session_id


def delete_note_by_api(world):
    assert world.api("DELETE", f"notes/{world.note.pk}") == 204
    return world.session.session_id


def set_price(world):
    world.post("costs/prices", **PRICE)
    return "m p"


def withdraw_price(world):
    world.price()
    world.post("costs/prices/withdraw", price=world.price_pk())
    return "m p"


def reprice(world):
    world.post("costs/reprice")
    return "all"


def consolidate(world):
    world.post("insights/consolidate")
    return "acme"


def dismiss(world):
    world.post(f"insights/{world.insight.pk}/dismiss")
    return str(world.insight.pk)


def restore(world):
    world.post(f"insights/{world.insight.pk}/restore")
    return str(world.insight.pk)


def rename(world):
    world.post("settings/title", title="Acme")
    return "acme"


def keep_content(world):
    world.post("settings/retention", days="7")
    return "acme"


def archive(world):
    world.post("settings/archive", confirm="acme")
    return "acme"


def define_score(world):
    world.post("settings/scores", name="quality", kind="number", min="1", max="5")
    return "quality"


def define_score_by_api(world):
    assert world.api("POST", "scores", name="quality", kind="number", min=1, max=5) == 201
    return "quality"


def remove_score_by_api(world):
    assert world.api("DELETE", f"scores/{world.score}") == 204
    return world.score


def make_token(world):
    world.post("settings/tokens", 200, name="ci", scope="ingest")
    return world.newest_token()


def connect(world):
    world.post("connect/token", agent="claude-code")
    return world.newest_token()


def rotate(world):
    world.post(f"settings/tokens/{world.token}/rotate", 200)
    return world.newest_token()


def revoke(world):
    world.post(f"settings/tokens/{world.token}/revoke")
    return world.token


def save_view(world):
    world.post("views/new", **VIEW)
    return "Failed"


def change_view(world):
    world.post(f"views/{world.view.pk}/content", page="sessions", query="q=status:running")
    return "Shared"


def rename_view(world):
    world.post(f"views/{world.view.pk}/name", name="New", visibility="project")
    return "Shared"


def move_view(world):
    world.another_view()
    world.post(f"views/{world.view.pk}/move", to="down")
    return "Shared"


def delete_view(world):
    world.post(f"views/{world.view.pk}/delete")
    return "Shared"


def save_view_by_api(world):
    assert world.api("POST", "views", **VIEW) == 201
    return "Failed"


def change_view_by_api(world):
    assert world.api("PATCH", f"views/{world.view.pk}", name="New") == 200
    return "Shared"


def delete_view_by_api(world):
    assert world.api("DELETE", f"views/{world.view.pk}") == 204
    return "Shared"


def remove_demo(world):
    world.post("demo/remove", name="acme")
    return "acme"


SHARED = {"name": "Shared", "page": "sessions", "query": "q=status%3Afailed", "visible_to": "project"}
DEFINITION = {"kind": "number", "least": 1.0, "most": 5.0}
NOTE = {"kind": "note", "id": ANY, "author": "ada", "replies": 0}
TOKEN = {"name": ANY, "scopes": ["ingest"]}
RATES = dict.fromkeys(("input", "output", "reasoning", "cache_read", "cache_write", "cache_write_1h"), ANY)

WRITES = {
    "POST signin": Writes("signin", sign_in, has_project=False, also=("signin.refused",)),
    "POST signin/<str:secret>": Writes("signin", link, has_project=False, also=("signin.refused",)),
    "POST signout": Writes("signout", sign_out, has_project=False),
    f"POST {P}sessions/delete": Writes("session.delete", delete_sessions, before=ANY),
    f"POST {P}sessions/<key:pk>/pin": Writes("session.pin", pin, also=("session.unpin",)),
    f"POST {P}notes/<key:pk>": Writes("note.delete", delete_note, before=NOTE),
    f"POST {P}costs/prices": Writes("price.set", set_price, after=RATES),
    f"POST {P}costs/prices/withdraw": Writes("price.withdraw", withdraw_price, before=ANY),
    f"POST {P}costs/reprice": Writes("price.reprice", reprice),
    f"POST {P}insights/consolidate": Writes("consolidate", consolidate),
    f"POST {P}insights/<key:pk>/dismiss": Writes("insight.dismiss", dismiss),
    f"POST {P}insights/<key:pk>/restore": Writes("insight.restore", restore),
    f"POST {P}settings/title": Writes("project.rename", rename, before="", after="Acme"),
    f"POST {P}settings/retention": Writes("retention.change", keep_content, before=30, after=7),
    f"POST {P}settings/archive": Writes("project.archive", archive),
    f"POST {P}settings/scores": Writes(
        "score.define", define_score, after=DEFINITION, also=("score.change", "score.remove")
    ),
    f"POST {P}settings/tokens": Writes("token.create", make_token, after=TOKEN),
    f"POST {P}settings/tokens/<slug:key>/rotate": Writes("token.rotate", rotate, before={"key": ANY}),
    f"POST {P}settings/tokens/<slug:key>/revoke": Writes("token.revoke", revoke, before={"name": "ci"}),
    f"POST {P}connect/token": Writes("token.create", connect, after=TOKEN),
    f"POST {P}views/new": Writes("view.create", save_view, after=SHARED | {"name": "Failed"}),
    f"POST {P}views/<key:pk>/content": Writes(
        "view.change", change_view, before=SHARED, after=SHARED | {"query": "q=status%3Arunning"}
    ),
    f"POST {P}views/<key:pk>/name": Writes(
        "view.change", rename_view, before=SHARED, after=SHARED | {"name": "New"}
    ),
    f"POST {P}views/<key:pk>/move": Writes("view.move", move_view, before=1, after=2),
    f"POST {P}views/<key:pk>/delete": Writes("view.remove", delete_view, before=SHARED),
    f"POST {P}demo/remove": Writes("demo.remove", remove_demo, before={"sessions": 0}),
    f"POST {A}scores": Writes("score.define", define_score_by_api, after=DEFINITION),
    f"DELETE {A}scores/<name>": Writes("score.remove", remove_score_by_api, before={"kind": "boolean"}),
    f"DELETE {A}notes/<pk>": Writes("note.delete", delete_note_by_api, before=NOTE),
    f"POST {A}views": Writes("view.create", save_view_by_api, after=SHARED | {"name": "Failed"}),
    f"PATCH {A}views/<pk>": Writes(
        "view.change", change_view_by_api, before=SHARED, after=SHARED | {"name": "New"}
    ),
    f"DELETE {A}views/<pk>": Writes("view.remove", delete_view_by_api, before=SHARED),
}
# Their entries are tested beside their requirements.
PAGES = "tests/dashboard/pages"
METHODS, SECURITY = f"{PAGES}/account/sign_in_methods", "account/security"
ELSEWHERE = {
    f"POST {P}settings/restore": ("project.restore", f"{PAGES}/settings/test_whole_project.py"),
    f"POST {P}settings/delete": ("project.delete", f"{PAGES}/settings/test_whole_project.py"),
    f"POST {P}demo": ("demo.play", f"{PAGES}/demo/test_views.py"),
    f"POST {P}settings/members": ("invite.create", f"{PAGES}/people/test_invites.py"),
    f"POST {P}settings/members/<int:pk>/role": ("member.role", f"{PAGES}/people/test_members.py"),
    f"POST {P}settings/members/<int:pk>/remove": ("member.remove", f"{PAGES}/people/test_members.py"),
    f"POST {P}settings/members/leave": ("member.remove", f"{PAGES}/people/test_members.py"),
    f"POST {P}settings/invites/<int:pk>/renew": ("invite.renew", f"{PAGES}/people/test_invites.py"),
    f"POST {P}settings/invites/<int:pk>/withdraw": ("invite.withdraw", f"{PAGES}/people/test_invites.py"),
    "POST join/<str:secret>": ("invite.accept", f"{PAGES}/people/test_invites.py"),
    "POST account/profile": ("profile.change", f"{PAGES}/account/test_account.py"),
    "POST account/password": ("password.change", f"{PAGES}/account/test_account.py"),
    "POST account/signins": ("signin.end", f"{PAGES}/account/test_account.py"),
    "POST signin/code": ("signin", f"{METHODS}/test_second_factor.py"),
    "POST signin/passkey": ("signin.refused", f"{METHODS}/test_security_page.py"),
    f"POST {SECURITY}/passkeys/add": ("signin.refused", f"{METHODS}/test_security_page.py"),
    f"POST {SECURITY}/passkeys/<int:pk>/name": ("factor.rename", f"{METHODS}/test_security_page.py"),
    f"POST {SECURITY}/passkeys/<int:pk>/remove": ("factor.remove", f"{METHODS}/test_security_page.py"),
    f"POST {SECURITY}/codes/on": ("factor.add", f"{METHODS}/test_second_factor.py"),
    f"POST {SECURITY}/codes/off": ("factor.remove", f"{METHODS}/test_second_factor.py"),
    f"POST {SECURITY}/recovery/new": ("recovery_codes.create", f"{METHODS}/test_second_factor.py"),
    f"POST {SECURITY}/confirm": ("signin.refused", f"{METHODS}/test_security_page.py"),
    f"POST {SECURITY}/confirm/code": ("signin.refused", f"{METHODS}/test_second_factor.py"),
    f"POST {SECURITY}/confirm/passkey": ("signin.refused", f"{METHODS}/test_security_page.py"),
    f"POST {P}settings/masking/rule": ("masking.change", f"{PAGES}/masking/test_masking.py"),
    f"POST {P}settings/masking/pattern": ("masking.change", f"{PAGES}/masking/test_masking.py"),
    f"POST {P}settings/masking/pattern/switch": ("masking.change", f"{PAGES}/masking/test_masking.py"),
    f"POST {P}settings/masking/pattern/remove": ("masking.change", f"{PAGES}/masking/test_masking.py"),
    "POST s/<secret:secret>": ("share.open", f"{PAGES}/share/test_opening.py"),
    f"POST {P}share/<shared_kind:kind>": ("share.create", f"{PAGES}/share/test_views.py"),
    f"POST {P}share/links/<key:pk>/revoke": ("share.revoke", f"{PAGES}/share/test_views.py"),
    "POST users": ("user.create", f"{PAGES}/account/test_users.py"),
    "POST users/<int:pk>": ("user.disable", f"{PAGES}/account/test_users.py"),
    "POST projects": ("project.create", f"{PAGES}/account/test_users.py"),
}

NO_PAGE, METHODS_ALL = "there is no such page: 404", ("POST", "PUT", "PATCH", "DELETE")
OWN_WORDS = "the entry itself keeps its author, time and edits; deleting one is recorded"
WRITES_NONE = {
    f"POST {P}settings/masking/test": "it reads",
    f"POST {P}settings/masking/try": "it reads",
    "POST theme": "a cookie of the browser",
    "POST s/<secret:secret>/theme": "a cookie of the browser",
    "POST notifications/mute": "a setting of one's own",
    f"POST {P}attention/seen": "a read marker of one's own",
    f"POST {P}views/<key:pk>/default": "a setting of one's own",
    f"POST {P}sessions/note": OWN_WORDS,
    f"POST {P}sessions/score": OWN_WORDS,
    f"POST {P}sessions/bookmark": OWN_WORDS,
    f"POST {P}sessions/<key:pk>/notes/new": OWN_WORDS,
    f"POST {A}notes": OWN_WORDS,
    f"PATCH {A}notes/<pk>": OWN_WORDS,
    **{f"{method} {A}": NO_PAGE for method in METHODS_ALL},
}
