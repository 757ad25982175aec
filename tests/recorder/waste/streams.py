"""Made-up streams that repeat themselves: a list of actions becomes the lines of some loops."""

from hypothesis import strategies as st

from tests.support import build

LOOPS = ("s.a.1", "s.a.2", "s.b.3", "t.a.4")
KINDS = {"s.a.2": ({"Rerun": {"tag": "again"}}, "s.a.1"), "s.b.3": ("Default", "s.a.1")}
CALLS = {
    "query": ("query", {"a": 1}, "rows", False),
    "other query": ("query", {"a": 2}, "rows", False),
    "changed query": ("query", {"a": 1}, "other rows", False),
    "read": ("read_file", {"path": "src/a.py"}, "text", False),
    "edit": ("edit_file", {"path": "src/a.py", "new": "x"}, "done", False),
    "error": ("solve", {"seed": 1}, "ValueError: matrix is singular", True),
    "other error": ("solve", {"seed": 2}, "ValueError: matrix is singular", True),
    "hostile": ("\u202en\x00\ud800" * 200, {"\x00": "\ud800"}, "\x00\ud800", False),
}
ACTIONS = (*CALLS, "two calls", "cut", "failed", "plain", "compaction", "late end", "end")
PLANS = st.lists(st.tuples(st.integers(0, len(LOOPS) - 1), st.sampled_from(ACTIONS)), min_size=1, max_size=40)


class Stream:
    """The lines of some loops. Every turn costs the same: its answer says so."""

    def __init__(self):
        self.lines, self.turns, self.calls, self.late = [], {}, 0, {}

    def add(self, loop, action):
        """Add the lines of one action."""
        if loop not in self.turns:
            kind, parent = KINDS.get(loop, ("Initial", None))
            self._put(build.agent_start(loop, parent=parent, kind=kind))
            self.turns[loop] = 0
        if action == "compaction":
            self._put({"type": "CompactionEnded", "loop_id": loop, "messages_before": 9, "messages_after": 2})
        elif action == "end":
            self._put(build.agent_end(loop))
        else:
            self._turn(loop, action)

    def _turn(self, loop, action):
        index = self.turns[loop]
        self.turns[loop] += 1
        self._put(build.turn_start(loop, index=index))
        names = ("query", "read") if action == "two calls" else (action,)
        for name in names:
            if name in CALLS or name == "late end":
                self._call(loop, *CALLS.get(name, CALLS["query"]), is_late=name == "late end")
        stop = {"cut": "length", "failed": "error"}.get(action, "toolUse")
        error = "529 overloaded" if action == "failed" else None
        message = build.assistant(stop=stop, error=error, tokens=100)
        self._put(build.turn_end(loop, tokens=100, message=message, cost=0.25, turn_index=index))
        for line in self.late.pop(loop, ()):
            self._put(line)

    def _call(self, loop, tool, arguments, result, has_failed, *, is_late):
        self.calls += 1
        call = f"c{self.calls}"
        self._put(build.tool_start(loop, call, tool, arguments))
        content = {"content": [{"type": "text", "text": result}]}
        end = build.tool_end(loop, call, tool, is_error=has_failed, result=content)
        if is_late:
            self.late.setdefault(loop, []).append(end)
        else:
            self._put(end)

    def _put(self, event):
        self.lines.append(build.line(event))


def lines_of(plan):
    """Return the lines of a plan."""
    stream = Stream()
    for loop, action in plan:
        stream.add(LOOPS[loop], action)
    return stream.lines
