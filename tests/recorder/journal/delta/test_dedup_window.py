"""Repeated bytes are stored once, and every line is restored byte for byte, whatever it contains."""

import json
import pickle
from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recorder.journal.delta.common_prefix import common_prefix, common_suffix
from recorder.journal.delta.dedup_window import GENERATION, MOST_HEADS, Window
from recorder.journal.delta.encoding import SourceSize, Stored, fault, restore, sources
from recorder.journal.delta.match import FINEST
from recorder.journal.delta.window_cache import KEPT_BYTES, Windows
from tests.phi_core.scenarios import FOLDER
from tests.support import build
from tests.support.long_loop import LongLoop

DAY = date(2026, 2, 11)
KINDS = ("MessageStart", "MessageEnd", "MessageUpdate", "TurnRequest", "TurnEnd", "AgentEnd", "SourceEvent")
TURN = {"turnId": {"loopId": "s.a.1", "turnIndex": 3}}
TAPES = sorted(FOLDER.glob("*.events.jsonl"))

words = st.text(st.sampled_from('ab "\\\n\u00e9\U0001f600{}[],:'), max_size=40).map(lambda text: text * 4)
messages = st.builds(
    lambda text, role: {"role": role, "content": [{"type": "text", "text": text}]}, words, words
)


def store(lines, window=None, first=1):
    """Return the rows of (kind, loop, line)s that one window has stored."""
    window = window or Window(DAY)
    rows = {n: window.store(n, raw, kind, loop) for n, (kind, loop, raw) in enumerate(lines, first)}
    return {n: Stored(*row) for n, row in rows.items()}


def restored(rows):
    return [text for _, text in restore(rows)]


def events(lines):
    """Return lines with their kinds and loops."""
    return [(event["type"], event.get("loop_id"), line) for line in lines for event in [json.loads(line)]]


def own_bytes(rows):
    return sum(len(row.own) for row in rows.values())


@st.composite
def streams(draw):
    """Lines of one history that grows, shrinks and repeats itself, written in any way that JSON allows."""
    history, lines = [], []
    for message in draw(st.lists(messages, min_size=1, max_size=12)):
        history.append(message)
        if draw(st.booleans()):
            del history[: draw(st.integers(0, len(history)))]
        kind = draw(st.sampled_from(KINDS))
        event = {
            "type": kind,
            "n": len(lines),
            "messages": history * draw(st.integers(1, 4)),
            "message": message,
        }
        spaces = draw(st.sampled_from([(",", ":"), (", ", ": "), (" ,\t", " : ")]))
        text = json.dumps(event, separators=spaces, ensure_ascii=draw(st.booleans()))
        twice = text[:-1] + ',"message":' + json.dumps(message) + "}"
        lines.append(
            (kind, draw(st.sampled_from(["s.a.1", "s.b.1", None])), draw(st.sampled_from([text, twice])))
        )
    return [(kind, loop, text.encode(errors="surrogatepass")) for kind, loop, text in lines]


@st.composite
def variants(draw, message):
    """A message as another line repeats it: with more fields, fewer, or in another order."""
    keys = list(message)
    at = draw(st.integers(0, len(keys)))
    extended = {key: message[key] for key in keys[:at]} | TURN | {key: message[key] for key in keys[at:]}
    return draw(st.sampled_from([message, extended, dict(sorted(message.items())), {"role": "user"}]))


@st.composite
def loops(draw):
    """Lines of loops that start and end messages and repeat them, interleaved."""
    ended, lines = {"a": [], "b": []}, []
    spaces = draw(st.sampled_from([(",", ":"), (", ", ": ")]))
    for text in draw(st.lists(words.map(lambda text: f"It says {text * 4}"), min_size=1, max_size=12)):
        loop = draw(st.sampled_from("ab"))
        message = {"role": "assistant", "content": [{"type": "text", "text": text}], "usage": {"input": 1}}
        final = draw(st.sampled_from([message, message, message | {"content": []}]))
        ended[loop].append(final)
        turn = draw(st.integers(0, 4))
        repeats = [draw(variants(each)) for each in ended[loop][-turn:]]
        events = [
            {"type": "MessageStart", "loop_id": loop, "message": message},
            {"type": "MessageEnd", "loop_id": loop, "message": final},
            {"type": "TurnEnd", "loop_id": loop, "message": repeats[0], "tool_results": repeats[1:]},
            {
                "type": "AgentEnd",
                "loop_id": loop,
                "messages": repeats * draw(st.integers(1, 3)),
                "usage": None,
            },
        ]
        for event in events[: draw(st.integers(1, 4))]:
            raw = json.dumps(event, separators=spaces).encode()
            lines.append((event["type"], loop, raw[: draw(st.sampled_from([len(raw)] * 9 + [220]))]))
    return lines


@given(loops())
def test_repeated_messages_are_restored_byte_for_byte(lines):
    rows = store(lines)

    assert restored(rows) == [raw for _, _, raw in lines]
    near = {
        n: SourceSize(len(raw), len(rows[n].own), rows[n].pieces) for n, (_, _, raw) in enumerate(lines, 1)
    }
    assert not any(fault(n, near[n].size, len(row.own), row.pieces, near) for n, row in rows.items())


@given(streams())
def test_a_history_is_restored_byte_for_byte(lines):
    assert restored(store(lines)) == [raw for _, _, raw in lines]


@given(st.lists(st.tuples(st.sampled_from(KINDS), st.none(), st.binary(max_size=700)), max_size=8))
def test_bytes_of_any_kind_come_back(lines):
    twice = lines + [(kind, None, raw * 2 + b'":"' + raw) for kind, _, raw in lines]

    assert restored(store(twice)) == [raw for _, _, raw in twice]


@given(streams(), streams(), st.integers(0, 12))
def test_windows_that_know_nothing_of_each_other_break_nothing(one, other, cut):
    """Another process, a restart, another producer: each knows its own lines only."""
    rows = store(one[:cut])
    rows |= store(other, first=100)
    rows |= store(one[cut:], first=200)

    assert restored(rows) == [raw for _, _, raw in one[:cut] + other + one[cut:]]


@pytest.mark.parametrize("tape", TAPES, ids=lambda tape: tape.name[:2])
def test_a_tape_comes_back_and_takes_no_more_than_it_did(tape):
    lines = tape.read_bytes().splitlines()

    rows = store(events(lines))

    assert restored(rows) == lines
    assert own_bytes(rows) + sum(len(row.pieces or "") for row in rows.values()) < sum(map(len, lines))


def test_requests_of_a_long_loop_take_few_more_bytes_than_early_ones():
    lines = events(LongLoop(120).lines())
    rows = store(lines)

    requests = [rows[n] for n, (kind, _, _) in enumerate(lines, 1) if kind == "TurnRequest"]
    early, late = (
        sum(len(r.own) + len(r.pieces) for r in part) for part in (requests[20:40], requests[100:120])
    )
    assert late < 1.2 * early


def test_a_text_that_streams_and_repeats_itself_so_far_stays_small():
    text = " ".join(str(n) for n in range(3000))
    streamed = ({"type": "MessageUpdate", "message": build.assistant(text[:n])} for n in range(0, 12000, 8))
    sofar = list(map(build.line, streamed))

    rows = store(events(sofar))

    assert restored(rows) == sofar
    assert own_bytes(rows) < 150 * len(sofar)


def test_a_message_end_equal_to_its_start_stores_only_its_kind():
    results = [build.tool_result(f"c{n}", f"{n} tests passed. " * 30) for n in range(3)]
    lines = events(
        build.line(event)
        for result in results
        for event in (build.message_start(message=result), build.message_end(message=result))
    )

    rows = store(lines)

    assert restored(rows) == [raw for _, _, raw in lines]
    assert [rows[n].own for n in (2, 4, 6)] == [b'{"type":"MessageEnd"'] * 3
    assert {n: sources(n, rows[n].pieces) for n in (2, 4, 6)} == {2: {1}, 4: {3}, 6: {5}}


def test_a_text_repeated_many_times_is_copied_from_its_first_line():
    content = [{"type": "text", "text": "Nothing is known of this file, which is not there. " * 9}]
    lines = [build.line(build.tool_end(call=f"call-{n}", result={"content": content})) for n in range(100)]

    rows = store(events(lines))

    assert restored(rows) == lines
    assert {source for n, row in rows.items() for source in sources(n, row.pieces)} == {1}


def test_a_text_repeated_in_every_generation_is_still_copied_from_its_first_line():
    content = [{"type": "text", "text": "The file is not there, as it was not there before. " * 9}]
    lines = []
    for n in range(24):
        filler = [{"type": "text", "text": f"{n} {chr(97 + n) * 1_000_000}"}]
        lines.append(build.line(build.tool_end(call=f"call-{n}", result={"content": content})))
        lines.append(build.line(build.message_end(message=build.user(filler[0]["text"]))))

    rows = store(events(lines))

    assert sum(map(len, lines)) > 2.5 * GENERATION
    assert restored(rows) == lines
    assert {source for n in range(1, 48, 2) for source in sources(n, rows[n].pieces)} == {1}


@pytest.mark.parametrize("where", [0, 1, 9], ids=["first", "within", "last"])
def test_an_agent_end_copies_from_the_messages_of_its_loop(where):
    messages = [build.assistant(f"{n} said, and much more was {n} said. " * 9) for n in range(40)]
    repeats = [
        dict([*list(message.items())[:where], *TURN.items(), *list(message.items())[where:]])
        for message in messages
    ]
    ends = [build.message_end(message=message) for message in messages]
    rows = store(events(map(build.line, [*ends, build.agent_end(messages=repeats)])))

    assert sources(41, rows[41].pieces) == set(range(1, 41))
    assert len(rows[41].own) < 40 * 100


def test_a_message_that_holds_the_next_one_comes_back():
    inner = build.user("What was asked is said within the answer too. " * 3)
    outer = {"role": "assistant", "model": "m" * 60, "question": inner, "usage": "u" * 60}
    extended = {"role": "assistant", "model": "m" * 60, **TURN, "question": inner, "usage": "u" * 60}
    ends = [build.message_end(message=message) for message in (outer, inner)]
    lines = [build.line(event) for event in (*ends, build.agent_end(messages=[extended, inner]))]

    rows = store(events(lines))

    assert restored(rows) == lines
    assert rows[3].pieces.count("[") == 4


def test_a_large_line_has_a_bounded_number_of_copies():
    text = "A text that comes again and again, and goes on in other ways:"
    lines = [
        ("MessageEnd", "a", build.line({"texts": [f"{text} {n}" for n in many]}))
        for many in (range(4), range(20_000))
    ]
    rows = store([(kind, loop, raw.replace(b',"', b',"text":"')) for kind, loop, raw in lines])

    assert (rows[2].pieces or "").count("[") <= 2**FINEST


def test_a_window_forgets_and_its_memory_stays_in_bounds():
    window = Window(DAY)
    lines = [
        ("MessageEnd", f"{n}", build.line(build.message_end(message=build.user(f"a {n} " * 9000))))
        for n in range(900)
    ]

    for n, (kind, loop, raw) in enumerate(lines, 1):
        window.store(n, raw, kind, loop)
        assert window.size < 20_000_000
    assert len(pickle.dumps(window)) < 20_000_000


def test_all_windows_stay_within_bounds_and_the_most_recently_used_stays():
    made = {}
    for producer in range(-20, 0):
        windows = Windows()
        made[producer] = windows.of(producer, 0, DAY)
        for n in range(60):
            made[producer].store(n + 1, b'{"text":"a %d ' % n + b"x" * 100_000, "MessageEnd", None)
        windows.keep({producer: 0})

    kept = [window for producer, window in made.items() if Windows().of(producer, 0, DAY) is window]
    assert made[-1] in kept
    assert made[-20] not in kept
    assert sum(window.size for window in kept) <= KEPT_BYTES


def test_a_window_is_lost_with_the_transaction_that_has_it():
    first = Windows()
    window = first.of(-1, 0, DAY)
    assert first.of(-1, 3, DAY) is window
    first.keep({-1: 3})
    assert Windows().of(-1, 3, DAY) is window

    assert Windows().of(-1, 3, DAY) is not window


@pytest.mark.parametrize(("high", "day"), [(6, DAY), (7, date(2026, 2, 12))])
def test_a_window_of_another_history_or_day_is_of_no_use(high, day):
    windows = Windows()
    window = windows.of(-1, 7, DAY)
    windows.keep({-1: 7})

    assert Windows().of(-1, high, day) is not window


def test_windows_of_producers_that_sent_one_line_do_not_pile_up():
    for producer in range(-30_000, 0):
        windows = Windows()
        windows.of(producer, 0, DAY)
        windows.keep({producer: 0})

    assert Windows().of(-30_000, 0, DAY).high == -1
    assert Windows().of(-1, 0, DAY).high == 0


def test_so_many_loops_that_their_heads_are_forgotten():
    raw = b'{"text":"' + b"x" * 300
    rows = store([("MessageEnd", f"{n}", raw) for n in range(MOST_HEADS + 5)])

    assert set(restored(rows)) == {raw}


@given(st.binary(max_size=300), st.binary(max_size=300), st.binary(max_size=300), st.integers(0, 9))
def test_how_far_two_texts_are_the_same(same, one, other, shift):
    a, b = b"-" * shift + same + b"1" + one, same + b"2" + other
    assert common_prefix(a, shift, b, 0) == len(same)

    a, b = one + b"1" + same + b"-" * shift, other + b"2" + same
    end = len(a) - shift
    assert common_suffix(a, end, b, len(b), end) == len(same)
    assert common_suffix(a, end, b, len(b), len(same) // 2) == len(same) // 2
