"""How one browser wants the pages to look, kept in cookies, so that the first paint is right."""

from dataclasses import dataclass

from django.http import HttpRequest, HttpResponse

CHOICES = {
    "theme": ("light", "dark"),
    "nav": ("rail",),
    "keys": ("off",),
}  # any other value is the default and keeps no cookie
YEAR_S = 365 * 86_400


@dataclass(frozen=True, slots=True)
class Look:
    """What the root element carries; "" follows the system and the width of the window."""

    theme: str
    nav: str
    keys: str  # single-key shortcuts


def look(request: HttpRequest) -> dict[str, Look]:
    """Context processor: what the reader chose."""
    return {"look": Look(**{name: _known(name, request.COOKIES.get(name, "")) for name in CHOICES})}


def keep(request: HttpRequest, response: HttpResponse) -> HttpResponse:
    """Remember what was posted."""
    for name in CHOICES.keys() & request.POST.keys():
        value = _known(name, request.POST[name])
        if value:
            response.set_cookie(
                name, value, max_age=YEAR_S, secure=request.is_secure(), httponly=True, samesite="Lax"
            )
        else:
            response.delete_cookie(name, samesite="Lax")
    return response


def _known(name: str, value: str) -> str:
    return value if value in CHOICES[name] else ""
