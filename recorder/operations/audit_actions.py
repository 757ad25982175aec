"""Words, group and meaning of each action of the audit log: for its page, the read API and the reference."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

Group = Literal["signins", "access", "data"]
GROUPS: Mapping[Group, str] = {"signins": "Sign-ins", "access": "Access", "data": "Data"}


@dataclass(frozen=True, slots=True)
class Description:
    """An action: words on a page, group, what its entries have, and the word for a value that is null."""

    words: str
    group: Group | None
    meaning: str = ""
    is_refusal: bool = False
    null: str = ""


ACTIONS: Mapping[str, Description] = {
    "signin": Description(
        "Signed in", "signins", "Target: by what, as `link`, `password`, `invite`, `passkey` or `oidc`."
    ),
    "signin.refused": Description(
        "Sign-in refused", "signins", "Target: by what. Actor: the name that was typed.", is_refusal=True
    ),
    "signin.link": Description(
        "Sign-in link created", "signins", "A command or a superuser made a one-time link. Target: the user."
    ),
    "signout": Description("Signed out", "signins", "A person signed out."),
    "signin.end": Description("Sign-ins ended", "signins", "A person ended sign-ins of their own."),
    "password.change": Description("Password changed", "signins", "All other sign-ins of the user ended."),
    "profile.change": Description(
        "Profile changed", "access", "Target: the user. Before and after: shown name, e-mail and time zone."
    ),
    "user.create": Description("User created", "access", "After: `superuser` if so."),
    "user.disable": Description("User disabled", "access", "The user's sign-ins and tokens ended."),
    "user.enable": Description("User enabled", "access", "Target: the user."),
    "user.superuser": Description("Superuser changed", "access", "Before and after: whether it is one."),
    "member.add": Description("Member added", "access", "Target: the user. After: the role."),
    "member.role": Description("Role changed", "access", "Target: the user. Before and after: the role."),
    "member.remove": Description("Member removed", "access", "Target: the user. Before: the role."),
    "membership.claim": Description(
        "Role by claim", "access", "Single sign-on gave, changed or took a role. Before and after: the role."
    ),
    "factor.add": Description(
        "Second factor added", "signins", "After: its kind, and the name of a passkey."
    ),
    "factor.rename": Description("Passkey renamed", "signins", "Before and after: its name."),
    "factor.remove": Description("Second factor removed", "signins", "Before: its kind."),
    "recovery_codes.create": Description("Recovery codes made", "signins", "The old codes ended."),
    "masking.change": Description(
        "Masking changed", "data", "Target: the rule or pattern. Before and after: its state."
    ),
    "masking.history": Description("History masked", "data", "Stored lines were masked. After: the numbers."),
    "share.create": Description("Share link made", "access", "Target: the record. After: its terms."),
    "share.open": Description(
        "Share link opened",
        "access",
        "Target: the record. After: openings so far. At most one an hour for a link and address or user, "
        "100 an hour for a link; its maker has none.",
    ),
    "share.revoke": Description("Share link revoked", "access", "Target: the record."),
    "invite.create": Description("Invite made", "access", "Target: for whom. After: the role."),
    "invite.renew": Description("Invite renewed", "access", "A new link; the old one ended."),
    "invite.mail": Description(
        "Invite sent by e-mail", "access", "Target: the address. After: `sent`, or why it was not."
    ),
    "invite.withdraw": Description("Invite withdrawn", "access", "Target: for whom."),
    "invite.accept": Description("Invite accepted", "access", "Target: the user. After: the role."),
    "token.create": Description(
        "Token created", "access", "Target: the public part of the token. After: name and scopes."
    ),
    "token.rotate": Description(
        "Token rotated", "access", "Target: the public part of the new token. Before: that of the old one."
    ),
    "token.revoke": Description(
        "Token revoked", "access", "Target: the public part of the token. Before: its name."
    ),
    "project.create": Description("Project created", "access", "Target: the project. After: its title."),
    "project.rename": Description("Project renamed", "data", "Before and after: the title."),
    "project.archive": Description("Project archived", "data", "It is read-only and records nothing."),
    "project.restore": Description("Project restored", "data", "It is no longer archived."),
    "project.delete": Description(
        "Project deleted", "data", "Target: the project. Before: what was deleted with it."
    ),
    "retention.change": Description(
        "Retention changed",
        "data",
        "Target: the project, and `records` or `notes` if it is not content. Before and after: days for "
        "which they are kept.",
        null="forever",
    ),
    "retention.prune": Description(
        "Content pruned",
        "data",
        "What retention deleted. After: lines and bytes of content, or sessions, or notes; and before when.",
    ),
    "audit.retention": Description(
        "Audit log retention changed",
        "data",
        "Before and after: days for which entries are kept.",
        null="forever",
    ),
    "audit.prune": Description(
        "Audit log pruned", "data", "Old entries were deleted. After: their number, and recorded before."
    ),
    "session.delete": Description(
        "Session deleted", "data", "Target: the session. Before: what was deleted with it."
    ),
    "session.export": Description(
        "Session exported", "data", "Target: the session. After: the format, and the loop if it is one alone."
    ),
    "session.pin": Description("Session pinned", "data", "Target: the session, whose content is kept."),
    "session.unpin": Description("Session unpinned", "data", "Target: the session."),
    "export": Description("List exported", "data", "Target: the list. After: format and query."),
    "import": Description("Runs imported", "data", "After: numbers of what was read."),
    "rebuild": Description("Records rebuilt", "data", "All records were derived again. After: lines."),
    "spans.retry": Description(
        "Spans read again",
        "data",
        "Spans set aside were recorded. Target: their number. After: bytes.",
    ),
    "demo.play": Description("Demo played", "data", "Recorded runs were played into the project."),
    "demo.remove": Description("Demo data removed", "data", "Before: sessions that were removed."),
    "price.set": Description("Price set", "data", "Target: model, provider. After: rates."),
    "price.withdraw": Description("Price withdrawn", "data", "Target: model, provider. Before: rates."),
    "price.reprice": Description(
        "Calls repriced", "data", "Past calls are billed again. Target: model and provider, or all."
    ),
    "score.define": Description("Score defined", "data", "Target: the score. After: its definition."),
    "score.change": Description("Score changed", "data", "Before and after: its definition."),
    "score.remove": Description("Score removed", "data", "Target: the score. Before: its definition."),
    "note.delete": Description(
        "Note deleted", "data", "Target: the session. Before: kind, author and time of the entry."
    ),
    "view.create": Description("Project view saved", "data", "Target: the view. After: what it shows."),
    "view.change": Description(
        "Project view changed", "data", "Also shared or no longer. Before and after: what it shows, to whom."
    ),
    "view.move": Description("Project view moved", "data", "Before and after: its position."),
    "view.remove": Description("Project view removed", "data", "Target: the view. Before: what it showed."),
    "insight.dismiss": Description("Insight dismissed", "data", "Target: the insight."),
    "insight.restore": Description("Insight restored", "data", "Target: the insight."),
    "consolidate": Description("Analysis requested", "data", "A person started the analysis of ended loops."),
}


def describe(action: str) -> Description:
    """Return the description of an action; one that is not listed has its own name as words and no group."""
    known = ACTIONS.get(action)
    words = " ".join(action.replace("_", ".").split("."))
    return known or Description(words[:1].upper() + words[1:], None)


def of_group(group: Group) -> list[str]:
    """Return the actions of a group."""
    return [action for action, description in ACTIONS.items() if description.group == group]
