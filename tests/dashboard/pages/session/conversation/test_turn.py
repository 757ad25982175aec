"""The items of a turn: in recorded order and without duplicates, also for incomplete recordings."""

from datetime import UTC, datetime

from dashboard.pages.session.conversation.items import (
    Block,
    Child,
    CompactionDivider,
    CutOff,
    MessageText,
    Note,
    Picture,
    Thought,
    Tool,
)
from dashboard.pages.session.conversation.turn import Call, Reading
from dashboard.pages.session.events.bodies import PREVIEW, Body
from dashboard.web import links
from tests.support import build

NOON = datetime(2026, 2, 11, 12, tzinfo=UTC)


def bodies(*events):
    return [Body(n, event["type"], event, NOON) for n, event in enumerate(events, 1)]


def read(*events, **more):
    return Reading("default", bodies(*events), **more).items()


def answer(*content, **more):
    return {"role": "assistant", "content": list(content), **more}


def text(words):
    return {"type": "text", "text": words}


def tool_call(call="c1", name="bash", **arguments):
    return {"type": "toolCall", "id": call, "name": name, "arguments": arguments}


def ran(call="c1", state="done", start=None, update=None, end=None, **more):
    return Call(call, start, update, end, Tool(pk=5, name="bash", summary="ls", state=state, **more))


def test_an_answer_repeated_in_the_end_of_the_turn_is_shown_once():
    message = build.assistant("Done.")

    items = read(
        build.message_start(message=message),
        build.message_end(message=message),
        build.turn_end(message=message),
    )

    assert [item.text.text for item in items if isinstance(item, MessageText)] == ["Done."]


def test_a_turn_without_a_message_shows_the_one_at_its_end():
    assert [item.text.text for item in read(build.turn_end(message=build.assistant("Imported.")))] == [
        "Imported."
    ]


def test_thoughts_text_and_images_keep_their_order():
    thinking = {"type": "thinking", "thinking": "Let me see.\nYes."}
    image = {"type": "image", "mimeType": "image/png", "data": "aGVsbG8="}

    thought, text_item, picture = read(build.message_end(message=answer(thinking, text("**Yes**"), image)))

    assert isinstance(thought, Thought)
    assert thought.first_words == "Let me see. Yes."
    assert text_item.is_prose
    assert text_item.is_first
    assert picture == Picture("image/png", 5)


def test_a_tool_call_is_shown_at_its_start_with_arguments_and_result():
    events = (
        build.message_end(message=answer(tool_call(command="ls"))),
        build.tool_start(args={"command": "ls"}),
        build.tool_end(),
        build.message_end(message=build.tool_result()),
    )

    (tool,) = read(*events, calls=[ran(start=2, end=3)])

    assert '"command": "ls"' in tool.args.text
    assert tool.result is not None
    assert tool.pk == 5


def test_a_running_tool_shows_the_result_so_far():
    events = build.tool_start(), build.tool_update(text="half")

    (tool,) = read(*events, calls=[ran(state="running", start=1, update=2)], is_open=True)

    assert (tool.partial.text, tool.result) == ("half", None)


def test_a_requested_call_that_never_ran_is_skipped_and_shows_the_reason():
    denied = build.tool_result(text="Denied by a hook.") | {"isError": True}

    (tool,) = read(build.message_end(message=answer(tool_call())), build.message_end(message=denied))

    assert (tool.state, tool.result.text, tool.pk) == ("skipped", "Denied by a hook.", 0)


def test_a_requested_call_of_an_open_turn_may_still_start():
    (tool,) = read(build.message_end(message=answer(tool_call())), is_open=True)

    assert tool.state == "requested"


def test_tool_calls_of_an_imported_turn_get_the_results_of_its_end():
    end = build.turn_end(message=answer(tool_call()), results=[build.tool_result(text="a.txt")])

    (tool,) = read(end)

    assert (tool.state, tool.result.text) == ("done", "a.txt")


def test_a_sub_agent_that_was_not_recorded_has_no_address():
    (tool,) = read(build.tool_start(), calls=[ran(start=1, child=Child("s2"))])

    assert tool.child == Child("s2", "")


def test_a_compaction_is_shown_once_and_an_unfinished_one_as_running_or_cut():
    first, second = (links.compaction_of("default", event) for event in (1, 2))
    items = read(build.compaction_started(), build.compaction_ended())

    assert items == [CompactionDivider("done", 5000, 400, 9, 7, url=second)]
    assert read(build.compaction_started()) == [CompactionDivider("cut", url=first)]
    assert read(build.compaction_started(), is_open=True) == [CompactionDivider("running", url=first)]


def test_a_long_summary_of_a_compaction_is_folded():
    (divider,) = read(build.compaction_ended(summary="word " * 400_000))

    assert len(divider.summary.text) < 20_000
    assert divider.summary.url.endswith("text?at=summary")


def test_events_between_messages_become_notes():
    events = (
        build.input_rejected(reason="blocked term"),
        build.prun_applied(),
        build.revert_applied(),
        build.ours("ErrorRaised", scope="tool", message="no such tool"),
        {"type": "Telepathy", "loop_id": "s.a.1", "strength": 3},
    )

    notes = read(*events)

    assert all(isinstance(note, Note) for note in notes)
    assert [note.tone for note in notes] == ["rejected", "compaction", "compaction", "error", ""]
    assert notes[0].body.text == "blocked term"
    assert notes[1].text == "Pruned 1 message and 10 tokens from its context"
    assert "Telepathy" in notes[-1].text
    assert '"strength": 3' in notes[-1].json.text


def test_a_message_of_another_role_is_shown_as_json():
    (note,) = read(build.message_end(message={"role": "plan", "kind": "todo", "data": {"open": 2}}))

    assert (note.text, '"open": 2' in note.json.text) == ("plan · todo", True)


def test_a_continuation_after_a_message_is_not_one_after_tool_results():
    asked = Reading("default", bodies(build.message_end(message=build.user("And now?"))))
    answered = Reading("default", bodies(build.message_end(message=build.assistant("Done."))))

    assert asked.trigger("Continuation", 1) == "after a message"
    assert answered.trigger("Continuation", 1) == "after tool results"
    assert asked.trigger("Continuation", 0) == "continued"
    assert asked.trigger("User", 1) == "started by the user"


def test_invalid_content_raises_nothing():
    for content in (
        None,
        7,
        "plain",
        {},
        [None],
        [[]],
        [{"type": "text"}],
        [{"type": "text", "text": 4}],
        [{"type": 1}],
    ):
        read(build.message_end(message={"role": "assistant", "content": content}))
        read(build.message_end(message={"role": "user", "content": content}))
    for message in (None, "x", [], {"role": 3}):
        read(build.message_end(message=message), build.turn_end(message=message))


def test_invalid_characters_are_replaced():
    (item,) = read(build.message_end(message=build.user("a\0b\ud800c")))

    assert item.text.text == "a\ufffdb\ufffdc"


def test_a_long_text_is_shortened_with_the_url_of_the_whole():
    (item,) = read(build.message_end(message=build.user("x" * (PREVIEW + 1))))

    assert len(item.text.text) == PREVIEW
    assert item.text.url == "/p/default/events/1/text?at=message.content.0.text"


def test_streaming_text_is_at_the_end_and_an_interrupted_message_at_its_start():
    first, second = (Block(n, "x", "text", f"block {n}", is_first=True) for n in (1, 2))
    begun = build.message_start(message=answer())

    reading = Reading("default", bodies(begun, begun), blocks={1: (first,), 2: (second,)}, is_open=True)

    assert reading.items() == [CutOff((first,))]
    assert reading.streaming() == (second,)
