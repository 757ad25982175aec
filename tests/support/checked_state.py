"""A check of `State`: handlers ask it only for ids that `StateKeys` declares."""

from contextlib import contextmanager

from recorder.core.costs.billing import price_key_of
from recorder.core.lookups import LOOKUPS, StateKeys
from recorder.core.state import State


class UndeclaredKeyError(AssertionError):
    """A handler asked State for an id that `recorder.core.state_keys` does not name: it may not be loaded."""


class _CheckedIndex(dict):
    """An index of State that raises when it is read by an id that is not declared; writes are not checked."""

    def __init__(self, name, entries, is_declared):
        super().__init__(entries)
        self._name, self._is_declared = name, is_declared

    def _check(self, key):
        if not self._is_declared(key):
            raise UndeclaredKeyError(f"State.{self._name} was asked for {key!r}, which no StateKeys declares")

    def __getitem__(self, key):
        self._check(key)
        return super().__getitem__(key)

    def __contains__(self, key):
        self._check(key)
        return super().__contains__(key)

    def get(self, key, default=None):
        self._check(key)
        return super().get(key, default)

    def pop(self, key, *default):
        self._check(key)
        return super().pop(key, *default)


@contextmanager
def declared(state: State, keys: StateKeys):
    """Within the context, raise UndeclaredKeyError when `state` is asked for an id that `keys` lacks."""
    ids, scoped = {}, {}
    for lookup in LOOKUPS:
        ids[lookup.index] = ids.get(lookup.index, frozenset[str]()) | lookup.ids(keys)
        scoped[lookup.index] = bool(lookup.scope)
    for name, known in ids.items():
        _check(state, name, lambda key, name=name, known=known: _id(key, scoped[name]) in known | {""})
    _check(state, "prices", lambda key: key in keys.price_keys | _prices_of_configs(state))
    try:
        yield state
    finally:
        for name in (*ids, "prices"):
            setattr(state, name, dict(getattr(state, name)))


def _check(state, name, is_declared):
    setattr(state, name, _CheckedIndex(name, getattr(state, name), is_declared))


def _id(key, is_scoped):
    return key[1] if is_scoped else key


def _prices_of_configs(state):
    configs = [loop.config for runs in state.runs.values() for loop in runs if loop.config is not None]
    return {price_key_of("", "", config) for config in (*configs, *state.configs.values())}
