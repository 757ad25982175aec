"""Four configs in 60 judged groups, added up by hand.

    per group     A        B        C        D        judge    together
    cost          $0.030   $0.018   $0.006   $0.01125 $0.003
    40 of A B C D: 19 wins 11       7        3                 40 * $0.06825 = $2.73
    20 of B C:             15       5                          20 * $0.027   = $0.54

    config  judged wins  win rate  cost            per task   per win
    A       40     19    47.5 %    40 * 0.030 = $1.20  $0.030     1.20/19 = $0.063157895
    B       60     26    43.3 %    60 * 0.018 = $1.08  $0.018     1.08/26 = $0.041538462
    C       60     12    20 %      60 * 0.006 = $0.36  $0.006     0.36/12 = $0.03
    D       40     3     7.5 %     40 * 0.01125 = $0.45 $0.01125  0.45/3  = $0.15

D is dearer than C and wins less: C, B and A are the frontier.
Sign tests: B over C in the twenty is 15 to 5, 2 * (15504+4845+1140+190+20+1) / 2^20 = 43400/1048576.
A over D is 19 to 3, 2 * (1540+231+22+1) / 2^22 = 3588/4194304; C over D is 7 to 3, 2 * 176 / 2^10.
Always A would have cost $1.20 in groups that cost $2.73, 2.275 times as much, and 19 of 40 answers stay.
Always B would have cost $1.08 in groups that cost $3.27, and 26 of 60 answers stay.
"""

from tests.support import build

COST_NANO = {"A": 30_000_000, "B": 18_000_000, "C": 6_000_000, "D": 11_250_000}
JUDGE_NANO = 3_000_000
WINS = {"ABCD": {"A": 19, "B": 11, "C": 7, "D": 3}, "BC": {"B": 15, "C": 5}}
P95_MS = 9_000

MODELS = {"A": "claude-opus-4-6", "B": "claude-sonnet-4-5", "C": "claude-haiku-4-5", "D": "gpt-5"}
JUDGE = "claude-opus-4-5"


def config(model):
    return {"model": model, "provider": "anthropic", "api": "anthropic_messages"}


def loop(name, session, model, cost_nano, *, answer="Done.", took=9):
    """Return the events of a loop of one turn, whose runtime says what it cost."""
    reported = build.assistant(answer, model=model)
    used = build.usage(1000, cache_read=3000)
    end = build.turn_end(name, message=reported, at=took, cost=cost_nano / 10**9)
    return [
        build.agent_start(name, session=session, config_snapshot=config(model)),
        build.turn_start(name),
        {**end, "usage": used},
        {**build.agent_end(name, at=took, messages=[reported]), "usage": used},
    ]


def evaluation(n, lineup, won, *, judge=JUDGE, reply=None, costs=COST_NANO, at=9):
    """Return the events of a group: branches in the order of `lineup`, `won` a place; no judge is a rule."""
    session = f"e{n}"
    names = [f"{session}.{model}.{place}" for place, model in enumerate(lineup)]
    events = [build.parallel_start(*names, session=session)]
    for name, model in zip(names, lineup, strict=True):
        events += loop(name, session, MODELS[model], costs[model])
    if judge:
        events += loop(f"{session}.judge", session, judge, JUDGE_NANO, answer=reply or f"Response {won + 1}.")
    return [*events, build.parallel_end(names[won], index=won, session=session, at=at)]


def sixty():
    """Return the events of the groups above; the order of the branches changes from group to group."""
    n = 0
    for lineup, wins in WINS.items():
        for won, groups in wins.items():
            for _ in range(groups):
                n += 1
                turned = lineup[n % len(lineup) :] + lineup[: n % len(lineup)]
                yield from evaluation(n, turned, turned.index(won))
