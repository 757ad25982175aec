"""Words for verdicts, kinds and how blocks left. Pure."""

KINDS = {
    "tool_definition": "Tool definition",
    "system": "System",
    "compaction_summary": "Compaction summary",
    "user": "User",
    "assistant": "Assistant",
    "thinking": "Thinking",
    "sub_agent_report": "Sub-agent report",
    "tool_result": "Tool result",
}
VERDICTS = {
    "append_only": "append only",
    "first_call": "first call",
    "model_changed": "model changed",
    "settings_changed": "settings changed",
    "tools_changed": "tool definitions changed",
    "system_changed": "system prompt changed",
    "history_edited": "history edited",
    "ttl_lapsed": "cache expired",
    "undecided": "undecided",
    "provider_miss": "provider miss",
    "unknown": "unknown",
}
ICONS = {
    "model_changed": "bot",
    "settings_changed": "settings",
    "tools_changed": "wrench",
    "system_changed": "file-text",
    "history_edited": "fold-vertical",
    "ttl_lapsed": "clock",
    "undecided": "scale",
    "provider_miss": "globe",
    "unknown": "circle-question-mark",
}
HINTS = {
    "model_changed": "Each model has a cache of its own: change the model between sessions, not within one.",
    "settings_changed": "Keep the settings of a session the same.",
    "tools_changed": "Send the same tools in the same order in every call.",
    "system_changed": "Keep times and ids out of the system prompt, or put them in the last message.",
    "history_edited": "Messages before the new ones were edited, pruned or compacted.",
    "ttl_lapsed": "A longer cache life costs more to write and pays if calls are often this far apart.",
    "undecided": "Either alone would have missed the cache: an unchanged request saves nothing here.",
    "unknown": "The requests are not recorded, so there is no evidence of a cause.",
}
EXPLAINED = {  # words of the heading: "Turn 14 paid $0.91 again: ..."
    "model_changed": "another model answered",
    "settings_changed": "the settings changed",
    "tools_changed": "the tool definitions changed",
    "system_changed": "the system prompt changed",
    "history_edited": "the history was edited",
    "ttl_lapsed": "the cache expired",
    "undecided": "the request changed, and the cache had expired by then",
    "provider_miss": "the request only added to the one before, and the provider read less",
    "unknown": "no cause is recorded",
}
AGREEMENT = {  # of the provider's own reason with the verdict
    True: "It says the same.",
    False: "It disagrees with the requests as they were recorded.",
    None: "It neither confirms nor contradicts the verdict.",
}
