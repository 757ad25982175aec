"""A store of OpenCode that tests write."""

import json
import sqlite3
from contextlib import closing

from loopscope_client.transcripts.opencode import opened, sessions

SCHEMA = """
CREATE TABLE session (id text PRIMARY KEY, parent_id text, directory text, version text, agent text,
                      time_created integer, title text);
CREATE TABLE message (id text PRIMARY KEY, session_id text, time_created integer, data text);
CREATE TABLE part (id text PRIMARY KEY, message_id text, session_id text, time_created integer, data text);
"""
TOKENS = {"input": 100, "output": 10, "reasoning": 5, "cache": {"read": 7, "write": 0}}


class Store:
    """A store that is written as OpenCode writes it; each row a millisecond after the one before."""

    def __init__(self, path):
        self.path = path
        self.db = sqlite3.connect(path, isolation_level=None)
        self.db.execute("PRAGMA journal_mode=WAL")
        self.db.executescript(SCHEMA)
        self.now = 1_795_361_251_000

    def session(self, name, parent=None, agent="build"):
        self.now += 1
        row = (name, parent, "/home/dev/project", "1.18.33", agent, self.now)
        self.db.execute("INSERT INTO session VALUES (?, ?, ?, ?, ?, ?, NULL)", row)
        return name

    def name(self, session, title):
        self.db.execute("UPDATE session SET title = ? WHERE id = ?", (title, session))

    def message(self, session, **data):
        self.now += 1
        name = f"msg_{self.now}"
        data = {"time": {"created": self.now}, **data}
        self.db.execute(
            "INSERT INTO message VALUES (?, ?, ?, ?)", (name, session, self.now, json.dumps(data))
        )
        return name

    def part(self, message, **data):
        self.now += 1
        row = (f"prt_{self.now}", message, "", self.now, json.dumps(data))
        self.db.execute("INSERT INTO part VALUES (?, ?, ?, ?, ?)", row)
        return row[0]

    def change(self, table, name, **fields):
        self.now += 1
        query = f"SELECT data FROM {table} WHERE id = ?"
        data = json.loads(self.db.execute(query, (name,)).fetchone()[0]) | fields
        self.db.execute(f"UPDATE {table} SET data = ? WHERE id = ?", (json.dumps(data), name))

    def prompt(self, session, text, **part):
        name = self.message(session, role="user")
        self.part(name, type="text", text=text, **part)
        return name

    def answer(self, session, text="", tools=(), **more):
        data = {"role": "assistant", "modelID": "claude-sonnet-4-5", "providerID": "anthropic", "cost": 0.001}
        data |= {"tokens": TOKENS, "finish": "tool-calls" if tools else "stop"}
        name = self.message(session, **(data | more))
        if text:
            self.part(name, type="text", text=text)
        for call, tool, state in tools:
            self.part(name, type="tool", callID=call, tool=tool, state=state)
        return name

    def finish(self, message, **more):
        self.now += 1
        created = int(message.removeprefix("msg_"))
        self.change("message", message, time={"created": created, "completed": self.now}, **more)
        return message

    def lines(self):
        with closing(opened(self.path)) as store:
            return dict(sessions(store))
