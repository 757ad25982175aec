"""The table of the matrix: for each route and method, the right that it takes. A new route needs a row here.

The key is the route of the URL configuration. A row names the right of each method that the route has; every
other method must answer 405. `ok` is the status for those who have the right, by default 200 for reading and
302 for writing. `query` and `body` may name records, as `{session}`; `PLACES` of `routes.py` fills in the
arguments of a route. Several rows of one route are requests that take different rights.
"""

from dataclasses import dataclass, field

from django.conf import settings

from recorder.access.rights import Right

ANYONE, SIGNED_IN, SUPERUSER = "anyone", "signed in", "superuser"  # beside the rights, of no project
READ = Right.READ


@dataclass(frozen=True)
class Row:
    """Requests of one route: rights by method, parameters, and the status for those who have the right."""

    rights: dict
    query: str = ""
    body: dict = field(default_factory=dict)
    ok: tuple = ()  # () for the default of the method
    but: dict = field(default_factory=dict)  # statuses of people who differ, by their name
    is_json: bool = False


def get(query="", *ok, right=READ):
    """A page, fragment or file, by GET and HEAD."""
    return Row({"GET": right, "HEAD": right}, query, {}, ok)


def post(right, *ok, query="", **body):
    """A form."""
    return Row({"POST": right}, query, body, ok)


def form(right, query="", *ok, right_to_post=None, **body):
    """A form that has a page of its own, which may take another right."""
    return Row({"GET": right, "HEAD": right, "POST": right_to_post or right}, query, body, ok)


def api(query=""):
    """An endpoint of the read API; `project` selects the project of a signed-in person."""
    return Row({"GET": READ}, f"project=first{query}")


def write(method, right, ok, body=None, **but):
    """An endpoint of the API that writes."""
    return Row({method: right}, "project=first", body or {}, (ok,), but, is_json=True)


P, API = "p/<slug:slug>/", "api/v1/"
SESSION, LOOP = f"{P}sessions/<key:pk>", f"{P}sessions/<key:pk>/loops/<key:loop>"
SEVERAL = "of={session}"
DOWNLOADS = (
    *("sessions", "attention", "evaluations", "leaderboard", "costs", "context", "compactions"),
    *("insights", "what-if", "calls"),
)

PAGES = {
    "": get("", 200, 302, right=SIGNED_IN),
    "signin": Row({"GET": ANYONE, "HEAD": ANYONE, "POST": ANYONE}, ok=(200, 302, 403, 429)),
    "signin/<str:secret>": Row({"GET": ANYONE, "HEAD": ANYONE, "POST": ANYONE}, ok=(200, 410)),
    "signout": post(ANYONE),
    "theme": post(ANYONE, theme="dark"),
    "join/<str:secret>": Row({"GET": ANYONE, "HEAD": ANYONE, "POST": ANYONE}, ok=(410,)),
    "account": get(right=SIGNED_IN),
    "account/profile": post(SIGNED_IN, name="New"),
    "account/password": post(SIGNED_IN, 400, new="short"),
    "account/signins": post(SIGNED_IN),
    "users": form(SUPERUSER, "", 200, name="new"),
    "users/<int:pk>": post(SUPERUSER, action="disable"),
    "projects": post(SUPERUSER, slug="new"),
    "projects/deleted/<int:pk>": get("", 404, right=SIGNED_IN),  # the project of the records is not deleted
    "worker.js": get(right=ANYONE),
    "s/<secret:secret>": Row({"GET": ANYONE, "HEAD": ANYONE, "POST": ANYONE}, ok=(404,)),
    "s/<secret:secret>/theme": Row({"POST": ANYONE}, ok=(404,)),
    "s/<secret:secret>/<path:rest>": Row({"GET": ANYONE, "HEAD": ANYONE}, ok=(404,)),
    "s/<path:rest>": get("", 404, right=ANYONE),
    "s/": get("", 404, right=ANYONE),
    "notifications/now": Row({"GET": SIGNED_IN}),
    "notifications/mute": post(SIGNED_IN, row="approval-requested", notify="on"),
    "metrics": get("project=first"),
    **{f"{P}{name}.{suffix}": get() for name in DOWNLOADS for suffix in ("csv", "json")},
    **{f"{P}search.{suffix}": get("q=fix") for suffix in ("csv", "json")},
    **{f"{P}{name}": get() for name in DOWNLOADS},
    f"{P}behind": get(),
    f"{P}sessions/delete": (
        form(Right.DELETE_SESSIONS, SEVERAL, 200, 400, of="{session}", confirm="no"),
        post(Right.DELETE_SESSIONS, of="{session}", confirm="1"),
    ),
    f"{P}sessions/dearest": get("", 302),
    f"{P}sessions/export": get(SEVERAL),
    f"{P}sessions/compare": get("of={session}&of={other_session}"),
    f"{P}sessions/note": form(Right.WRITE_NOTES, SEVERAL, 200, 302, text="noted"),
    f"{P}sessions/score": form(
        Right.WRITE_NOTES, f"{SEVERAL}&name={{score}}", 200, 302, name="{score}", value="3"
    ),
    f"{P}sessions/bookmark": form(Right.WRITE_NOTES, SEVERAL, 200, 302),
    f"{P}search": get("q=fix"),
    f"{P}search/counts": get("q=fix"),
    f"{P}find": get("q=fix"),
    f"{P}complete": get("q=age&at=3"),
    SESSION: get("", 200, 302),
    f"{SESSION}/pin": post(Right.PIN_SESSIONS, pinned="1"),
    f"{SESSION}/context.csv": get(),
    f"{SESSION}/step": get("to=first", 302),
    f"{SESSION}/jump": get("to=error", 302),
    f"{SESSION}/search": get("q=fix"),
    f"{SESSION}/compare": get("of={loop}&of={other_loop}"),
    f"{SESSION}/flame": (get(), get("by=time&with={other_session}")),
    f"{SESSION}/compactions/<key:compaction>": get(),
    f"{SESSION}/notes/new": form(Right.WRITE_NOTES, "", 200, 302, text="noted"),
    LOOP: get(),
    f"{LOOP}/deltas": get("before={event}"),
    f"{LOOP}/record": get(),
    f"{LOOP}/turns/<key:turn>/calls": get("first=0&end=1", 404),  # no calls of the records are folded
    f"{LOOP}/turns/<key:turn>/passage": get("first=0&last=1", 404),  # as above
    f"{P}events/<key:pk>": get("", 302),
    f"{P}events/<key:pk>/raw": get(),
    f"{P}events/<key:pk>/text": get(),
    f"{P}events/<key:pk>/image": get("", 404),  # the event has none
    f"{P}events/<key:event>/compaction": get("", 302, 404),
    f"{P}notes/<key:pk>": (
        get(),
        post(Right.WRITE_NOTES, action="reply", text="answered"),
        post(Right.WRITE_NOTES, action="resolve"),
        Row({"POST": Right.CHANGE_ALL_NOTES}, "", {"action": "edit", "text": "x"}, but={"owner": 302}),
        Row({"POST": Right.CHANGE_ALL_NOTES}, "", {"action": "delete"}, but={"owner": 302}),
    ),
    f"{P}attention/seen": (post(READ, session="{session}"), post(READ, alarm="1")),
    f"{P}evaluations/<key:pk>": get(),
    f"{P}costs/accounts": get(),
    f"{P}costs/prices": post(
        Right.SET_PRICES, model="m", provider="p", input="1", output="1", valid_from="2026-01-01"
    ),
    f"{P}costs/prices/withdraw": post(Right.SET_PRICES, price="{price}"),
    f"{P}costs/reprice": post(Right.SET_PRICES),
    f"{P}insights/consolidate": post(Right.CONSOLIDATE_INSIGHTS),
    f"{P}insights/<key:pk>/dismiss": post(Right.DISMISS_INSIGHTS),
    f"{P}insights/<key:pk>/restore": post(Right.DISMISS_INSIGHTS, 302, 404),
    f"{P}integrity": get(),
    f"{P}settings": get(),
    f"{P}settings/title": post(Right.CHANGE_SETTINGS, title="other"),
    f"{P}settings/retention": (
        post(Right.CHANGE_RETENTION, days="7"),
        post(Right.CHANGE_RETENTION, kind="audit", days="730"),
    ),
    f"{P}settings/archive": post(Right.MANAGE_PROJECT, confirm="first"),
    f"{P}settings/restore": post(Right.MANAGE_PROJECT, 409),  # the project is not archived
    f"{P}settings/delete": (
        form(Right.MANAGE_PROJECT, "", 200, 400, confirm="no"),
        post(Right.MANAGE_PROJECT, confirm="first"),
    ),
    f"{P}settings/scores": post(Right.CHANGE_SETTINGS, name="speed", kind="boolean"),
    f"{P}settings/tokens": post(Right.MANAGE_TOKENS, 200, name="t", scope="read"),
    f"{P}settings/members": form(Right.READ, "", 200, right_to_post=Right.MANAGE_MEMBERS, role="viewer"),
    f"{P}settings/members/<int:pk>/role": post(Right.MANAGE_MEMBERS, role="viewer"),
    f"{P}settings/members/<int:pk>/remove": post(Right.MANAGE_MEMBERS, name="{member_name}"),
    f"{P}settings/members/leave": Row({"POST": READ}, but={"superuser": 400}, ok=(302,)),
    f"{P}settings/invites/<int:pk>/renew": post(Right.MANAGE_MEMBERS, 200),
    f"{P}settings/invites/<int:pk>/withdraw": post(Right.MANAGE_MEMBERS),
    f"{P}settings/masking": get(right=Right.CHANGE_SETTINGS),
    f"{P}settings/masking/rule": post(Right.CHANGE_SETTINGS, name="email", on="1"),
    f"{P}settings/masking/pattern": post(Right.CHANGE_SETTINGS, name="own", pattern="x+y"),
    f"{P}settings/masking/pattern/switch": post(Right.CHANGE_SETTINGS, 302, 404, name="own", on="0"),
    f"{P}settings/masking/pattern/remove": post(Right.CHANGE_SETTINGS, 302, 404, name="own"),
    f"{P}settings/masking/test": post(Right.CHANGE_SETTINGS, 200, text="words"),
    f"{P}settings/masking/try": post(Right.CHANGE_SETTINGS, 200, rule="email"),
    f"{P}settings/audit": get(right=Right.READ_AUDIT),
    f"{P}settings/audit.csv": get(right=Right.READ_AUDIT),
    f"{P}settings/audit.ndjson": get(right=Right.READ_AUDIT),
    f"{P}share": get(right=Right.MANAGE_SHARE_LINKS),
    f"{P}share/<shared_kind:kind>": form(Right.MAKE_SHARE_LINKS, "of={session}", 200, 201, lifetime="1h"),
    # The link is one that an admin made: others may only revoke their own.
    f"{P}share/links/<key:pk>/revoke": post(Right.MANAGE_SHARE_LINKS),
    f"{P}settings/tokens/<slug:key>/rotate": post(Right.MANAGE_TOKENS, 200),
    f"{P}settings/tokens/<slug:key>/revoke": post(Right.MANAGE_TOKENS),
    f"{P}views": get(),
    f"{P}views/new": (
        post(Right.WRITE_OWN_VIEWS, page="sessions", query="q=x", name="mine"),
        post(Right.WRITE_SHARED_VIEWS, page="sessions", name="ours", visibility="project"),
    ),
    # The view is one of the project that an admin made: `owner` changes it, and admins.
    f"{P}views/<key:pk>/content": post(Right.WRITE_SHARED_VIEWS, page="sessions", query="q=y"),
    f"{P}views/<key:pk>/name": post(Right.WRITE_SHARED_VIEWS, name="renamed"),
    f"{P}views/<key:pk>/move": post(Right.WRITE_SHARED_VIEWS, to="up"),
    f"{P}views/<key:pk>/default": post(READ, default="1"),
    f"{P}views/<key:pk>/delete": post(Right.WRITE_SHARED_VIEWS),
    f"{P}calls": get("sort=-duration"),
    f"{SESSION}/turns": get("sort=-cost"),
    **{f"{SESSION}/turns.{suffix}": get("sort=-cost") for suffix in ("csv", "json")},
    f"{SESSION}/files": get("action=edited"),
    f"{P}connect": get("agent=otlp"),
    f"{P}connect/token": post(Right.MANAGE_TOKENS, agent="otlp"),
    f"{P}welcome": get("", 302),
    f"{P}demo": post(Right.PLAY_DEMO, 503),  # the address of the server is unknown in this test
    f"{P}demo/remove": post(Right.PLAY_DEMO, name="first"),
}

LISTS = "openapi.json loops groups tool-calls usage configs compactions approvals waste quarantine scores"
NOTE = {"target": {"session_id": "{session_id}"}, "text": "noted"}

ENDPOINTS = {
    **{f"{API}{name}": api() for name in LISTS.split()},
    f"{API}sessions": api(),
    f"{API}search": api("&q=fix"),
    f"{API}sessions/<path:session_id>": api(),
    f"{API}sessions/<path:session_id>/export": api("&as=phi-session"),
    f"{API}sessions/<path:session_id>/context": api(),
    f"{API}context/what-if": api("&session={session_id}"),
    f"{API}sessions/<path:session_id>/events": api("&envelope=1"),
    f"{API}context": api("&session_id={session_id}"),
    f"{API}context/turns/<pk>": Row({"GET": READ}, "project=first", ok=(404,)),  # the tests make no ledger
    **{f"{API}context/{name}": api() for name in ("causes", "tools", "versions", "requests", "floors")},
    f"{API}loops/<pk>": api(),
    f"{API}groups/<pk>": api(),
    f"{API}audit": Row({"GET": Right.READ_AUDIT}, "project=first"),
    f"{API}notes": (api(), write("POST", Right.WRITE_NOTES, 201, NOTE)),
    f"{API}notes/<pk>": (
        write("PATCH", Right.CHANGE_ALL_NOTES, 200, {"text": "x"}, owner=200),
        write("DELETE", Right.CHANGE_ALL_NOTES, 204, owner=204),
    ),
    f"{API}scores": (
        api(),
        write("POST", Right.CHANGE_SETTINGS, 201, {"name": "speed", "kind": "boolean"}),
    ),
    f"{API}scores/<name>": write("DELETE", Right.CHANGE_SETTINGS, 400),  # the score is used
    f"{API}views": (
        api(),
        write("POST", Right.WRITE_OWN_VIEWS, 201, {"name": "mine", "page": "sessions"}),
        write(
            "POST",
            Right.WRITE_SHARED_VIEWS,
            201,
            {"name": "ours", "page": "sessions", "visibility": "project"},
        ),
    ),
    f"{API}views/<pk>": (
        write("PATCH", Right.WRITE_SHARED_VIEWS, 200, {"name": "renamed"}),
        write("DELETE", Right.WRITE_SHARED_VIEWS, 204),
    ),
    f"{API}": Row({}),
    f"{API}<path:rest>": Row({"GET": READ}, "project=first", ok=(404,)),
}

# With the extra `sso`. A form asks again for the password before it changes anything.
SECURITY = "account/security"
FORMS = ("passkeys/add", "codes/on", "codes/off", "recovery/new")
CONFIRMATIONS = ("confirm", "confirm/code", "confirm/passkey")  # refused: the people have no factor yet
OF_SSO = {
    "signin/code": Row({"GET": ANYONE, "HEAD": ANYONE, "POST": ANYONE}, ok=(302,)),
    "signin/passkey": Row({"GET": ANYONE, "POST": ANYONE}, ok=(200, 302, 400, 403, 429)),
    SECURITY: get(right=SIGNED_IN),
    **{f"{SECURITY}/{name}": form(SIGNED_IN, "", 200, 302, 404) for name in FORMS},
    **{f"{SECURITY}/{name}": form(SIGNED_IN, "", 200, 302, 403, 404) for name in CONFIRMATIONS},
    f"{SECURITY}/recovery": get("", 404, right=SIGNED_IN),  # the people have none
    f"{SECURITY}/passkeys/<int:pk>/name": form(SIGNED_IN, "", 302, 404),
    f"{SECURITY}/passkeys/<int:pk>/remove": form(SIGNED_IN, "", 302, 404),
}

TABLE = PAGES | ENDPOINTS | (OF_SSO if settings.LOOPSCOPE_SSO else {})


def rows_of(route):
    """Return the rows of a route."""
    found = TABLE.get(route, ())
    return found if isinstance(found, tuple) else (found,)


# Below: routes of `dashboard/routing.py`, which Django does not see.
OTLP = [
    f"{under}v1/{name}{slash}"
    for under in ("", "otlp/")
    for name in ("traces", "logs", "metrics")
    for slash in ("", "/")
]
PROBE = dict.fromkeys(("GET", "POST", "PUT", "PATCH", "DELETE"), ANYONE)
CHANNEL_ROUTES = {
    **{route: {"POST": Right.INGEST} for route in ("ingest/v1/events", *OTLP)},
    "ingest/v1/ws": {},  # a plain request of the socket's address
    "healthz": PROBE,
    "readyz": PROBE,
    "api/v1/lifecycle": {"GET": READ},
    "p/<slug:slug>/attention/feed": {"GET": READ},
    r"^opentelemetry\.proto\.collector\.": {},  # one answer to every call by gRPC
    r"(?s)^api/v1/.": {},  # Django's, in ENDPOINTS
    r"^(?:ingest|api|otlp|v1)(?:/|\Z)": {},  # 404
    "": {},  # Django's, in PAGES
}
SOCKET_ROUTES = {
    "ingest/v1/ws": Right.INGEST,
    "p/<slug:slug>/live/<slug:page>": READ,  # by LIVE_PAGES
    "s/<secret:secret>/live/<slug:page>": None,  # by the link: tests/dashboard/pages/share
    "": None,  # refuses everybody
}
# The sockets of pages and the query of each; the rights are those of `LIVE_RIGHTS`.
SOCKETS = {
    **dict.fromkeys(("sessions", "attention", "evaluations", "leaderboard", "costs", "compactions"), ""),
    **dict.fromkeys(("insights", "integrity", "settings", "views", "search_text"), ""),
    **dict.fromkeys(("people", "audit", "masking", "share", "context"), ""),
    "session": "session={session}",
    "flame": "session={session}",
    "evaluation": "group={group}",
    "compaction": "session={session}&compaction={compaction}",
    "connect": "",
}
