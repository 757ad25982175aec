"""The sessions whose recorded text has some words: a condition that lists and other queries share."""

from __future__ import annotations

from collections.abc import Sequence

from django.db.models import Q

from dashboard.query_language.nodes import And, Node, Not, Or, Words
from recorder.core.search.tokens import Phrase, has_phrase, index_tokens, query_tokens
from recorder.search import queries


def has_words(project: int, words: Words) -> Q:
    """Return the condition on `Session` that a text of it has the words. Two queries of its own at most.

    Words without a letter, digit or pictograph are in no text. A common word is looked up for each session
    that the database looks at, so a page of sessions reads no others.
    """
    phrase = phrase_of(words)
    return queries.in_session(project, phrase) if phrase else Q(pk__in=())


def is_titled(words: Words, unindexed: Sequence[tuple[int, Sequence[str]]]) -> Q:
    """Return the condition on `Session` that it is one of those not indexed yet whose title has the words.

    `unindexed` are their primary keys and the tokens of their titles, agents and ids.
    """
    phrase = phrase_of(words)
    return queries.one_of([pk for pk, tokens in unindexed if phrase and has_phrase(tokens, phrase)])


def unindexed(project: int) -> list[tuple[int, Sequence[str]]]:
    """Return the sessions not indexed yet, with the tokens of title, agent and id. One query."""
    return [(pk, list(index_tokens(text))) for pk, text in queries.unindexed(project)]


def searchable(nodes: Sequence[Node]) -> Sequence[Node]:
    """Return the parts of an AND or OR without those of punctuation alone; all if there is nothing else."""
    return tuple(node for node in nodes if not _is_punctuation(node)) or nodes


def _is_punctuation(node: Node) -> bool:
    match node:
        case Words():
            return phrase_of(node) is None
        case And(nodes) | Or(nodes):
            return all(map(_is_punctuation, nodes))
        case Not(inner):
            return _is_punctuation(inner)
        case _:
            return False


def phrase_of(words: Words) -> Phrase | None:
    """Return the tokens to look for; a word that has several is a phrase of them."""
    return query_tokens(words.text, is_prefix=words.is_prefix)
