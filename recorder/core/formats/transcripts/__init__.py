"""Transcripts that coding agents write to disk, one reader each; `open_loop` writes the native events.

A line of a transcript is a message or a part of one. An answer is complete when a tool result, another
answer, a prompt or the end of the stream follows it. No events are invented: there is no streaming, and a
loop ends with the next prompt unless the agent marks its end.
"""
