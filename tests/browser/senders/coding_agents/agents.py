"""The command lines of coding agents, each with a home that leads it to the scripted model server.

Updates, statistics and lists of models are switched off: the agents ask no other server.
"""

import json
from dataclasses import dataclass, field

PROMPT, SECOND_PROMPT = "Weather in Oslo?", "And tomorrow?"


@dataclass(frozen=True)
class CodingAgent:
    """How to run an agent once: files of its home, variables and the command.

    MODEL_SERVER stands for the address of the model server. `second_command` goes on with the session, for an
    agent whose transcript has the end of a loop only when the next begins.
    """

    command: str
    variables: dict[str, str] = field(default_factory=dict)
    files: dict[str, str] = field(default_factory=dict)
    second_command: str = ""

    def write_home(self, home, model_server):
        for name, text in self.files.items():
            (home / name).parent.mkdir(parents=True, exist_ok=True)
            (home / name).write_text(text.replace("MODEL_SERVER", model_server))

    def environment(self, model_server):
        return {name: value.replace("MODEL_SERVER", model_server) for name, value in self.variables.items()}


CODEX = """
model = "gpt-stub-1"
model_provider = "stub"
check_for_update_on_startup = false

[analytics]
enabled = false

[model_providers.stub]
name = "stub"
base_url = "MODEL_SERVER/v1"
wire_api = "responses"
env_key = "STUB_KEY"
"""
GEMINI_CLI = {
    "general": {"enableAutoUpdate": False},
    "privacy": {"usageStatisticsEnabled": False},
    "security": {"auth": {"selectedType": "gemini-api-key"}},
}
OPENCODE = {
    "model": "anthropic/claude-sonnet-4-5",
    "small_model": "anthropic/claude-sonnet-4-5",
    "provider": {"anthropic": {"options": {"baseURL": "MODEL_SERVER/v1", "apiKey": "none"}}},
}
PI = {
    "baseUrl": "MODEL_SERVER",
    "api": "anthropic-messages",
    "apiKey": "none",
    "models": [{"id": "claude-stub-1"}],
}
AGENTS = {
    "claude-code": CodingAgent(
        f'claude --print --allowedTools Bash -- "{PROMPT}"',
        {
            "ANTHROPIC_BASE_URL": "MODEL_SERVER",
            "ANTHROPIC_API_KEY": "none",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        },
    ),
    "codex": CodingAgent(
        f'codex exec --skip-git-repo-check --sandbox danger-full-access "{PROMPT}"',
        {"STUB_KEY": "none"},
        {".codex/config.toml": CODEX},
    ),
    "gemini-cli": CodingAgent(
        f'gemini --yolo --skip-trust --model gemini-2.5-flash --prompt "{PROMPT}"',
        {"GOOGLE_GEMINI_BASE_URL": "MODEL_SERVER", "GEMINI_API_KEY": "none"},
        {".gemini/settings.json": json.dumps(GEMINI_CLI)},
        f'gemini --yolo --skip-trust --model gemini-2.5-flash --resume latest --prompt "{SECOND_PROMPT}"',
    ),
    "opencode": CodingAgent(
        f'opencode run "{PROMPT}"',
        {
            "OPENCODE_DISABLE_AUTOUPDATE": "1",
            "OPENCODE_DISABLE_DEFAULT_PLUGINS": "1",
            "OPENCODE_DISABLE_LSP_DOWNLOAD": "1",
            "OPENCODE_DISABLE_MODELS_FETCH": "1",
        },
        {".config/opencode/opencode.json": json.dumps(OPENCODE)},
    ),
    "pi": CodingAgent(
        f'pi --provider stub --model claude-stub-1 --print "{PROMPT}"',
        {"PI_OFFLINE": "1"},
        {".pi/agent/models.json": json.dumps({"providers": {"stub": PI}})},
    ),
}
