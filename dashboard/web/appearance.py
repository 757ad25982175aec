"""Appearance settings of one browser, in cookies so that the server renders the first paint correctly."""

from dataclasses import dataclass

from django.http import HttpRequest, HttpResponse

CHOICES = {
    "theme": ("light", "dark"),
    "nav": ("rail",),
    "keys": ("off",),
}  # any other value is the default and deletes the cookie
YEAR_S = 365 * 86_400


@dataclass(frozen=True, slots=True)
class Look:
    """Attributes of the root element; "" follows the system theme and the width of the window."""

    theme: str
    nav: str
    keys: str  # single-key shortcuts


def look(request: HttpRequest) -> dict[str, Look]:
    """Context processor: the appearance settings of the browser."""
    return {"look": Look(**{name: _valid(name, request.COOKIES.get(name, "")) for name in CHOICES})}


def keep(request: HttpRequest, response: HttpResponse) -> HttpResponse:
    """Set a cookie for each posted setting; delete it for the default."""
    for name in CHOICES.keys() & request.POST.keys():
        value = _valid(name, request.POST[name])
        if value:
            response.set_cookie(
                name, value, max_age=YEAR_S, secure=request.is_secure(), httponly=True, samesite="Lax"
            )
        else:
            response.delete_cookie(name, samesite="Lax")
    return response


def _valid(name: str, value: str) -> str:
    return value if value in CHOICES[name] else ""
