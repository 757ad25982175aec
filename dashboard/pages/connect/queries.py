"""Database queries of the page."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from recorder.models import AccessToken, Session


@dataclass(frozen=True, slots=True)
class Arrival:
    """The first session that was recorded after a token was made; None while there is none."""

    slug: str
    session: Session | None

    @property
    def has_text(self) -> bool:
        """Whether prompts and answers were sent: the session has a title or an answer."""
        return self.session is not None and bool(self.session.title)

    @property
    def has_tokens(self) -> bool:
        return self.session is not None and bool(self.session.input_tokens or self.session.output_tokens)

    @property
    def has_tools(self) -> bool:
        return self.session is not None and bool(self.session.tool_calls)


def token_of(project: int, given: str) -> int | None:
    """Return the primary key of a project's token, None if it is not one of its."""
    if not given.isdecimal() or len(given) > 18:
        return None
    found = AccessToken.objects.filter(project=project, pk=int(given)).values_list("pk", flat=True)
    return found.first()


def made(project: int, token: str) -> int | None:
    """Return the primary key of a token that was just created; None without one."""
    key = token.split("_")[1] if token else ""
    return AccessToken.objects.filter(project=project, key=key).values_list("pk", flat=True).first()


def arrivals(tokens: Collection[int]) -> Mapping[int, Arrival]:
    """Return what came since each token was made, of its project. One query, and one for each token."""
    found = {}
    for token in AccessToken.objects.filter(pk__in=tokens).select_related("project"):
        new = Session.objects.filter(project=token.project_id, last_received_at__gte=token.created_at)
        found[token.pk] = Arrival(token.project.slug, new.order_by("-last_received_at", "-pk").first())
    return found
