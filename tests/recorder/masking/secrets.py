"""A secret for each rule, drawn from the rule's own pattern, and JSON with a secret anywhere in it."""

import json
import re

from hypothesis import strategies as st

from recorder.masking.catalogue import BY_NAME, RULES

WORD = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
PEM = "MIIEowIBAAKCAQEA7bq1uYd3k2\nabcdefghijklmnopqrstuvwxyz0123456789+/AB\nwJalrXUtnFEMIK7MDENGbPx==\n"
# Rules with a context, a check or many line ends: what stands around the secret, and secrets.
WRITTEN = {
    "private-key": ("{}", [f"-----BEGIN{kind} PRIVATE KEY-----\n{PEM}-----END{kind} PRIVATE KEY-----"
                           for kind in ("", " RSA", " EC", " OPENSSH", " ENCRYPTED")]),
    "private-key-part": ("{}", [f"-----BEGIN RSA PRIVATE KEY-----\n{PEM}".rstrip()]),
    "connection-string": ("postgresql://app:{}@db.example:5432/app",
                          ["s3cr3t-pa55", "hunter2", "pa%40ss", "päss:wörd"]),
    "connection-string-pairs": ("Server=db;User Id=sa;Password={};Encrypt=true", ["hunter2!", "S3cr3t"]),
    "connection-string-slash": ("postgres://app:{}@db.example/app", ["S3c/rT9xqd", "S3c'rT9xqe", "a/b/c'd9"]),
    "connection-string-first": ("Password={};Server=db;User Id=sa", ["hunter2!", "S3cr3t"]),
    "connection-string-query": ("jdbc:mysql://db/app?user=app&password={}&ssl=1", ["hunter2!", "S3cr3t"]),
    "connection-string-libpq": ("host=db user=app password={} dbname=app", ["hunter2!", "S3cr3t"]),
    "bearer-header": ("Authorization: Bearer {}", ["0123456789abcdefghij", "mF_9.B5f-4.1JqMabcdefg"]),
    "basic-header": ("Authorization: Basic {}", ["dXNlcjpwYXNzd29yZA==", "YWRtaW46aHVudGVyMg=="]),
    "aws-secret-access-key": ("aws_secret_access_key = {}", ["wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"]),
    "aws-session-token": ("AWS_SESSION_TOKEN={}", ["FwoGZXIvYXdzEBYaD" * 8]),
    "twilio-auth-token": ("TWILIO_AUTH_TOKEN='{}'", ["0123456789abcdef0123456789abcdef"]),
    "email": ("mail {} now", ["ada@example.org", "a.b+c@sub.example.co.uk"]),
    "card-number": ("card {} ok", ["4111111111111111", "5500 0055 5555 5559", "3782-8224-6310-005"]),
    "iban": ("to {} now", ["DE89370400440532013000", "GB82 WEST 1234 5698 7654 32"]),
    "secret-assignment": ("password: {} ", ["x8Kq2mVz7Lp4", "Tr0ub4dor&3-Zq9"]),
    "azure-storage-key": ("AccountName=a;AccountKey={};Suffix=b", [WORD + "Ab0123456789ABCDEFGHIJKL=="]),
    "azure-shared-access-key": ("SharedAccessKey={};", [WORD[:43] + "="]),
    "azure-sas-signature": ("?sv=2024&sig={}&se=1", [WORD[:43] + "%3D"]),
    "slack-webhook": ("https://hooks.slack.com/services/{}", ["T01ABCDEF/B01ABCDEF/" + WORD[:24]]),
    "discord-webhook": ("https://discord.com/api/webhooks/123456789012345678/{}", [WORD + "_-abcdef"]),
    "jwt": ("{}", ["eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9P"]),
}  # fmt: skip


def contexts(name):
    """Return a strategy of pairs: a text with a secret of a rule in it, and the secret."""
    around, found = WRITTEN.get(name, ("{}", None))
    secrets = st.sampled_from(found) if found else _of_pattern(BY_NAME[name].pattern)
    return secrets.map(lambda secret: (around.format(secret), secret))


def _of_pattern(pattern):
    """Return a strategy of whole matches without what would follow them as a part of the key."""
    return st.from_regex(re.compile(pattern, re.ASCII), fullmatch=True).filter(str.isascii)


planted = st.sampled_from([rule.name for rule in RULES]).flatmap(
    lambda name: contexts(name).map(lambda pair: (name, *pair))
)

PLAIN = st.text('abc .,;é\n\t"\\😀', max_size=20)
SEPARATOR = st.sampled_from(["", " ", "\n", "\t", " = ", '"', "'", "(", ": "])


@st.composite
def documents(draw, secret):
    """Return an event with a text in one place of its content: a value, a key, or JSON within text."""
    before, after = draw(PLAIN) + draw(SEPARATOR) + " ", " " + draw(SEPARATOR) + draw(PLAIN)
    value = before + secret + after
    for _ in range(draw(st.integers(0, 3))):
        value = json.dumps({"q": value, "n": 12}, ensure_ascii=draw(st.booleans()))
    place = draw(st.sampled_from(["value", "key", "list", "deep"]))
    content = {"value": value, "key": {value: 1}, "list": [1, [value]], "deep": {"a": [{"b": value}]}}[place]
    return {"type": "Custom", "loop_id": "s.a.1", "timestamp": "2026-01-01T00:00:00Z", "content": content}


@st.composite
def encoded(draw, event):
    """Return an event as a line of JSON in one of its spellings."""
    text = json.dumps(
        event,
        ensure_ascii=draw(st.booleans()),
        separators=draw(st.sampled_from([(",", ":"), (", ", ": ")])),
    )
    if draw(st.booleans()):
        text = text.replace("/", "\\/")
    chars = draw(st.sets(st.sampled_from("AaEeSsTtkPp_-:1"), max_size=4))
    return _with_escapes(text, chars).encode()


def _with_escapes(text, chars):
    """Write some characters of the content as \\u escapes."""
    start = text.index('"content"') + len('"content"')

    def spelled(found):
        is_plain = found[0] in chars and _in_string(text, start + found.start())
        return f"\\u{ord(found[0]):04x}" if is_plain else found[0]

    return text[:start] + re.sub(r"\\u[0-9a-f]{4}|\\.|.", spelled, text[start:], flags=re.DOTALL)


def _in_string(text, at):
    """Return whether an offset is within a string of JSON."""
    return len(re.findall(r'(?<!\\)(?:\\\\)*"', text[:at])) % 2 == 1
