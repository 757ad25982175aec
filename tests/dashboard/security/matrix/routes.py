"""All routes of Django's URL configuration, and the requests that the table makes of them."""

import re
from dataclasses import dataclass

from django.urls import get_resolver

METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE")
ARGUMENT = re.compile(r"(\w+)/<(?:\w+:)?(\w+)>")
NOT_RECORDS = re.compile(
    r"p/<slug:slug>/|<(?:str|secret):secret>|<path:rest>|<shared_kind:kind>|(?:users|passkeys|deleted)/<int:pk>"
)
# The record that an argument names, by the part of the path before it.
PLACES = {
    "p": "slug",
    "signin": "link",
    "sessions": "session",
    "loops": "loop",
    "turns": "turn",
    "events": "event",
    "compactions": "compaction",
    "evaluations": "group",
    "groups": "group",
    "insights": "insight",
    "notes": "note",
    "views": "view",
    "scores": "score",
    "tokens": "token_key",
    "join": "link",
    "s": "share_secret",
    "share": "share_kind",
    "links": "share_link",
    "members": "member_pk",
    "invites": "invite",
    "users": "user",
    "deleted": "user",
    "passkeys": "passkey",
}


@dataclass(frozen=True)
class Case:
    """One request that the table makes: a route, a method and its row."""

    route: str
    method: str
    row: object

    @property
    def names_records(self):
        """Whether the path, the query or the body names a record of the project."""
        named = NOT_RECORDS.sub("", self.route) + self.row.query + _texts(self.row.body)
        return "<" in named or "{" in named

    def path(self, records, slug="first"):
        """Return the path of the route for the records of a project."""
        names = records.names | {"slug": slug}
        if self.route.startswith("api/"):
            names |= {"session": names["session_id"]}
        place = lambda found: f"{found[1]}/{names['unknown' if found[2] == 'rest' else PLACES[found[1]]]}"  # noqa: E731
        query = self.row.query.format(**names)
        path = "/" + ARGUMENT.sub(place, self.route)
        return f"{path}?{query}" if query else path

    def body(self, records):
        """Return the fields of the request."""
        return _filled(self.row.body, records.names)


def _texts(value):
    return "".join(map(_texts, value.values())) if isinstance(value, dict) else str(value)


def _filled(value, names):
    if isinstance(value, str):
        text = value.format(**names)
        return int(text) if value != text and value.startswith("{") and text.isdecimal() else text
    if isinstance(value, dict):
        return {key: _filled(each, names) for key, each in value.items()}
    return [_filled(each, names) for each in value] if isinstance(value, list) else value


def routes():
    """Return the routes of the URL configuration, each once, with what they include."""
    return list(dict.fromkeys(_routes_of(get_resolver(), "")))


def _routes_of(resolver, before):
    for pattern in resolver.url_patterns:
        route = before + str(pattern.pattern)
        yield from _routes_of(pattern, route) if hasattr(pattern, "url_patterns") else (route,)
