"""Config against config, place against place, and all branches against always one config. Pure."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from dashboard.shared.standings.statistics import DOUBT, Favour, chance, favour, sign_test
from dashboard.shared.standings.tally import UNKNOWN, Result, Spent


@dataclass(frozen=True, slots=True)
class Duel:
    """Two configs in the groups in which both took part; in the rest of these a third won."""

    one: int
    other: int
    groups: int
    wins: int
    losses: int

    @property
    def share(self) -> float | None:
        """Return how many of the groups that either won the first did."""
        either = self.wins + self.losses
        return self.wins / either if either else None

    @property
    def p(self) -> float | None:
        """Return how likely equals differ so much; it means something within one lineup only."""
        return sign_test(self.wins, self.losses)

    @property
    def is_clear(self) -> bool:
        return self.p is not None and self.p < DOUBT

    @property
    def words(self) -> str:
        return "neither has won yet" if self.p is None else chance(self.p)


@dataclass(frozen=True, slots=True)
class Lineup:
    """The groups in which exactly these configs took part, each once."""

    configs: tuple[int, ...]
    groups: int
    duels: tuple[Duel, ...]


@dataclass(frozen=True, slots=True)
class Places:
    """The wins by place of one judge's groups of one size, and who stood where it chose most often."""

    judge: int
    wins: tuple[int, ...]
    favour: Favour | None
    usual: int  # the config that stood at the favourite place most often
    usual_share: float  # of the groups

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
    """What a config's groups cost, beside what its own branches in them cost."""

    config: int
    groups: int
    paid: Spent
    alone: Spent
    same: int  # groups that it won

    @property
    def same_share(self) -> float:
        return self.same / self.groups

    @property
    def factor(self) -> float | None:
        """Return how many times as much was paid; None unless everything has a price."""
        if not self.paid.is_whole or not self.alone.is_whole or not self.alone.nano:
            return None
        return float((self.paid.nano or 0) / self.alone.nano)


def duels(results: Iterable[Result]) -> Mapping[tuple[int, int], Duel]:
    """Return each pair that met, both ways round."""
    met, won = Counter[tuple[int, int]](), Counter[tuple[int, int]]()
    for result in results:
        known = set(result.configs) - {UNKNOWN}
        for one in known:
            for other in known - {one}:
                met[one, other] += result.groups
                won[one, other] += result.groups * (result.winner == one)
    return {pair: Duel(*pair, groups, won[pair], won[pair[::-1]]) for pair, groups in met.items()}


def lineups(results: Iterable[Result]) -> list[Lineup]:
    """Return the sets of configs that met, those with most groups first.

    A group with a config twice or with an unknown one is none of them: its configs had not the same odds.
    """
    groups, wins = Counter[frozenset[int]](), defaultdict[frozenset[int], Counter[int]](Counter)
    for result in results:
        configs = frozenset(result.configs)
        if len(configs) == len(result.configs) > 1 and UNKNOWN not in configs:
            groups[configs] += result.groups
            wins[configs][result.winner] += result.groups
    return [_lineup(tuple(sorted(configs)), n, wins[configs]) for configs, n in groups.most_common()]


def places(results: Iterable[Result]) -> list[Places]:
    """Return the wins by place for each judge and number of branches, those with most groups first."""
    tables: dict[tuple[int, int], list[Result]] = defaultdict(list)
    for result in results:
        if result.won is not None and len(result.configs) > 1:
            tables[result.judge, len(result.configs)].append(result)
    found = [_places(judge, size, table) for (judge, size), table in tables.items()]
    return sorted(found, key=lambda each: -each.groups)


def always(config: int, results: Iterable[Result]) -> Always:
    """Compare what a config's groups cost with running it alone, as its average branch where it ran twice."""
    mine = [result for result in results if config in result.configs]
    paid, alone = Spent(), Spent()
    for result in mine:
        paid += result.total
        for entry in result.entries:
            if entry.config == config:
                alone += entry.spent.over(result.configs.count(config))
    same = sum(result.groups for result in mine if result.winner == config)
    return Always(config, sum(result.groups for result in mine), paid, alone, same)


def _lineup(configs: tuple[int, ...], groups: int, wins: Mapping[int, int]) -> Lineup:
    pairs = combinations(sorted(configs, key=lambda config: (-wins[config], config)), 2)
    return Lineup(configs, groups, tuple(Duel(a, b, groups, wins[a], wins[b]) for a, b in pairs))


def _places(judge: int, size: int, results: Sequence[Result]) -> Places:
    wins, stood = Counter[int](), defaultdict[int, Counter[int]](Counter)
    for result in results:
        wins[result.won or 0] += result.groups
        for place, config in enumerate(result.configs):
            stood[place][config] += result.groups
    by_place = tuple(wins[place] for place in range(size))
    found = favour(by_place)
    usual, often = stood[found.place if found else 0].most_common(1)[0]
    return Places(judge, by_place, found, usual, often / wins.total())
