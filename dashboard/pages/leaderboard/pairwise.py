"""Pairs of configs, wins by position, and the cost of running one config only. Pure."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from dashboard.shared.standings.statistics import SIGNIFICANCE, PositionBias, favour, sign_test, significance
from dashboard.shared.standings.tally import UNKNOWN, CostSum, Result


@dataclass(frozen=True, slots=True)
class Duel:
    """Two configs in the groups in which both took part. Groups that a third config won count for neither."""

    one: int
    other: int
    groups: int
    wins: int
    losses: int

    @property
    def share(self) -> float | None:
        """Return the share of the first in the groups that either of them won."""
        either = self.wins + self.losses
        return self.wins / either if either else None

    @property
    def p(self) -> float | None:
        """Return the p value of the sign test; comparable only within one lineup."""
        return sign_test(self.wins, self.losses)

    @property
    def is_clear(self) -> bool:
        return self.p is not None and self.p < SIGNIFICANCE

    @property
    def words(self) -> str:
        return "no wins yet" if self.p is None else significance(self.p)


@dataclass(frozen=True, slots=True)
class Lineup:
    """The groups in which exactly these configs took part, each with one branch."""

    configs: tuple[int, ...]
    groups: int
    duels: tuple[Duel, ...]


@dataclass(frozen=True, slots=True)
class Places:
    """Wins by position in one judge's groups of one size, and the usual config at the preferred position."""

    judge: int
    wins: tuple[int, ...]
    favour: PositionBias | None
    usual: int  # the config that was most often at the preferred position
    usual_share: float  # its share of the groups

    @property
    def groups(self) -> int:
        return sum(self.wins)

    @property
    def most(self) -> int:
        return max(self.wins)

    @property
    def expected(self) -> float:
        return self.groups / len(self.wins)


@dataclass(frozen=True, slots=True)
class Always:
    """Cost of a config's groups against the cost of its own branches in them."""

    config: int
    groups: int
    paid: CostSum
    alone: CostSum
    same: int  # groups that it won

    @property
    def same_share(self) -> float:
        return self.same / self.groups

    @property
    def factor(self) -> float | None:
        """Return total paid divided by the cost of this config only; None unless every call has a price."""
        if not self.paid.is_whole or not self.alone.is_whole or not self.alone.nano:
            return None
        return float((self.paid.nano or 0) / self.alone.nano)


def duels(results: Iterable[Result]) -> Mapping[tuple[int, int], Duel]:
    """Return all pairs that met, in both orders."""
    met, won = Counter[tuple[int, int]](), Counter[tuple[int, int]]()
    for result in results:
        configs = set(result.configs) - {UNKNOWN}
        for one in configs:
            for other in configs - {one}:
                met[one, other] += result.groups
                won[one, other] += result.groups * (result.winner == one)
    return {pair: Duel(*pair, groups, won[pair], won[pair[::-1]]) for pair, groups in met.items()}


def lineups(results: Iterable[Result]) -> list[Lineup]:
    """Return the sets of configs that met, those with most groups first.

    Groups with a config twice or with an unknown config are left out, because their configs had unequal odds.
    """
    groups, wins = Counter[frozenset[int]](), defaultdict[frozenset[int], Counter[int]](Counter)
    for result in results:
        configs = frozenset(result.configs)
        if len(configs) == len(result.configs) > 1 and UNKNOWN not in configs:
            groups[configs] += result.groups
            wins[configs][result.winner] += result.groups
    return [_lineup(tuple(sorted(configs)), n, wins[configs]) for configs, n in groups.most_common()]


def places(results: Iterable[Result]) -> list[Places]:
    """Return the wins by position for each judge and number of branches, most groups first."""
    tables: dict[tuple[int, int], list[Result]] = defaultdict(list)
    for result in results:
        if result.won is not None and len(result.configs) > 1:
            tables[result.judge, len(result.configs)].append(result)
    found = [_places(judge, size, table) for (judge, size), table in tables.items()]
    return sorted(found, key=lambda places: -places.groups)


def always(config: int, results: Iterable[Result]) -> Always:
    """Compare the cost of a config's groups with running only this config.

    Where it had several branches in a group, their average counts.
    """
    own = [result for result in results if config in result.configs]
    paid, alone = CostSum(), CostSum()
    for result in own:
        paid += result.total
        for entry in result.entries:
            if entry.config == config:
                alone += entry.cost.over(result.configs.count(config))
    same = sum(result.groups for result in own if result.winner == config)
    return Always(config, sum(result.groups for result in own), paid, alone, same)


def _lineup(configs: tuple[int, ...], groups: int, wins: Mapping[int, int]) -> Lineup:
    pairs = combinations(sorted(configs, key=lambda config: (-wins[config], config)), 2)
    return Lineup(configs, groups, tuple(Duel(a, b, groups, wins[a], wins[b]) for a, b in pairs))


def _places(judge: int, size: int, results: Sequence[Result]) -> Places:
    wins, at_position = Counter[int](), defaultdict[int, Counter[int]](Counter)
    for result in results:
        wins[result.won or 0] += result.groups
        for place, config in enumerate(result.configs):
            at_position[place][config] += result.groups
    by_place = tuple(wins[place] for place in range(size))
    bias = favour(by_place)
    usual, often = at_position[bias.place if bias else 0].most_common(1)[0]
    return Places(judge, by_place, bias, usual, often / wins.total())
