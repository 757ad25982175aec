"""The grammar of queries on one screen: examples that are links, and what each means."""

from __future__ import annotations

EXAMPLES = (
    ("status:failed", "also outcome, model, agent, tool, role, source, …"),
    ("cost:>1.50", "also tokens, turns, errors, duration:>90s"),
    ("tool:[bash,edit]", "any of these"),
    ("-agent:smoke-test", "not this one; !agent: works too"),
    ("model:claude-opus*", "begins with"),
    ("has:compaction", "also has:note, has:error, has:evaluation"),
    ("is:waiting", "live, waiting, bookmarked, pinned, mine"),
    ('"pool exhausted"', "the words in this order"),
    ("timeout OR (retry AND refused)", "words next to each other mean AND"),
    ("since:7d", "active in the last week; also until, age"),
    ("score.quality:>=4", "scores, and metadata.KEY:value"),
    ("connect*", "words that begin so"),
)
