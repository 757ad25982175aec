"""Every route of the URL configuration that may change something: POST, PUT, PATCH and DELETE, and files."""

import re

from django.test import Client
from django.urls import get_resolver
from django.urls.resolvers import URLResolver

METHODS = ("POST", "PUT", "PATCH", "DELETE")
FILES = re.compile(r"\.(csv|json|ndjson|jsonl)$")
PARAMETER = re.compile(r"<(?:\w+:)?(\w+)>")
NO_DOWNLOADS = {"api/v1/openapi.json"}  # the description of the API


def routes(patterns=None, prefix=""):
    """Yield the route of each URL pattern once."""
    for pattern in get_resolver().url_patterns if patterns is None else patterns:
        if isinstance(pattern, URLResolver):
            yield from routes(pattern.url_patterns, prefix + str(pattern.pattern))
        else:
            yield prefix + str(pattern.pattern)


def path(route, **values):
    """Return an address of a route; parameters that are not given are 1, the project acme."""
    known = {"slug": "acme", "kind": "session", "secret": "1" * 43, **values}
    return "/" + PARAMETER.sub(lambda found: str(known.get(found[1], 1)), route)


def changing():
    """Return method and route of each request that is not refused by its method."""
    client = Client(raise_request_exception=False)
    return {
        f"{method} {route}"
        for route in dict.fromkeys(routes())
        for method in METHODS
        if client.generic(method, path(route)).status_code != 405
    }


def files():
    """Return each route whose name ends as that of a file with a list."""
    return {route for route in routes() if FILES.search(route)} - NO_DOWNLOADS
