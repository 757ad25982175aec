"""The part of a secret that must not be stored, beyond its public anchor, and how to cut a text."""

import itertools
import re

from hypothesis import strategies as st

from recorder.masking.catalogue import BY_NAME, DEFINITE
from recorder.masking.unfinished.tails import LEADING, WORD_MIN
from tests.recorder.masking.secrets import PEM, WRITTEN, contexts

WINDOW = 8  # characters of the part that may not stand anywhere


def own_part(name, secret):
    if name.startswith("private-key"):
        return PEM.partition("\n")[0]
    if name in WRITTEN and name != "jwt":
        return secret
    if name == "mailchimp-key":
        return secret[WORD_MIN - 1 : 32]
    anchors = [each for each in BY_NAME[name].anchors if each in secret]
    return secret[min(secret.index(each) + len(each) for each in anchors) :]


def windows(name, secret):
    """Return the pieces of a secret of which none may be stored."""
    own = own_part(name, secret)
    size = min(WINDOW, len(own))
    return {own[at : at + size] for at in range(len(own) - size + 1)} - {""}


def leaks(name, secret, stored, text):
    """Return the pieces of a secret in a stored text that are not in the text around it."""
    around = re.sub(re.escape(secret), "|", text)
    if name in LEADING:  # the first characters may be those of a word
        around += secret[: WORD_MIN - 1]
    return [each for each in windows(name, secret) if each in stored and each not in around]


planted = st.sampled_from([rule.name for rule in DEFINITE]).flatmap(
    lambda name: contexts(name).map(lambda pair: (name, *pair))
)


@st.composite
def cuts(draw, text):
    """Return a text in parts."""
    at = draw(st.one_of(st.just(range(1, len(text))), st.sets(st.integers(0, len(text)), max_size=8)))
    places = [0, *sorted(at), len(text)]
    return [text[start:end] for start, end in itertools.pairwise(places)]
