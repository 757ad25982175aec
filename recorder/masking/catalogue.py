"""All rules of ours: definite ones, on by default, and candidates, off until a project names them."""

from __future__ import annotations

from recorder.masking.rule import (
    Rule,
    has_digit,
    is_card_number,
    is_iban,
    is_key_block,
    is_password,
    is_random,
)
from recorder.masking.vendors import ASSIGNED, VENDORS

_KEY_BEGIN = r"-----BEGIN[ A-Z0-9]{0,40}PRIVATE KEY(?: BLOCK)?-----"
_KEY_END = r"-----END[ A-Z0-9]{0,40}PRIVATE KEY(?: BLOCK)?-----"
# Characters that may stand between two lines of a key: line ends, also escaped ones, the quotes of a list of
# lines, and the numbers of lines, as tools that read files print them.
_BETWEEN = r"""(?:[\s\\"',>|]|\\[nrt]|[0-9]{1,6}(?:[\s\\:|-]|→))*"""
_HEADER = r"(?:Proc-Type|DEK-Info|Version|Comment): ?[^\n\\\"]{0,200}"
_LOGIN = r"""[^\s/"'<>\\`]"""
_USER = r"""[^\s:/?#@"'<>\\`]"""
_VALUE = r"""[^\s&;"'<>\\`]"""
_FIRST = r"""[^\s&;,()\[\]{}"'<>\\`]"""
_LOGIN_PART = r"[A-Za-z0-9_.!~*%^$&=#+-]+"
_NAMES = (
    "(?i:passw(?:or)?d|passphrase|pwd|secret|token|api_?key|access_?key|auth_?key|credentials?|private_?key)"
)

# In order of preference: a bearer token that is a JSON Web Token is called one.
GENERIC: tuple[Rule, ...] = (
    Rule("private-key", "definite", "Private key block, from BEGIN to END", ("-----BEGIN",),
         f"{_KEY_BEGIN}[^{{}}]*?{_KEY_END}", check=is_key_block),
    # Of its own: one pattern with an optional end would look for the end from every beginning.
    Rule("private-key-part", "definite", "Private key block without its end", ("-----BEGIN",),
         f"{_KEY_BEGIN}(?:{_BETWEEN}{_HEADER})*(?:{_BETWEEN}[A-Za-z0-9+/=]{{16,}})+"),
    Rule("jwt", "definite", "JSON Web Token", ("eyJ",),
         r"\beyJ[A-Za-z0-9_-]{8,}\.(?:eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*|(?:[A-Za-z0-9_-]*\.){3}[A-Za-z0-9_-]+)",
         prefilter=r"eyJ[A-Za-z0-9_-]{8}"),
    Rule("connection-string", "definite", "Password in an address: scheme://user:password@host", ("://",),
         rf"\b[A-Za-z][A-Za-z0-9+.-]{{1,30}}://{_USER}{{0,200}}:({_LOGIN}{{1,512}})@", 1,
         r""":(?:\\*/){2}[^\s/"]*:[^\s"]+@""", is_password),
    Rule("connection-string-slash", "definite", "Password with a slash or an apostrophe in an address", ("://",),
         rf"\b[A-Za-z][A-Za-z0-9+.-]{{1,30}}://{_USER}{{0,200}}:"
         rf"({_LOGIN_PART}(?:[/']{_LOGIN_PART}){{1,8}})@[A-Za-z0-9]", 1,
         r""":(?:\\*/){2}[^\s/"]*:[^\s"]+@""", is_password),
    Rule("connection-string-pairs", "definite", "Password in key=value; pairs", ("password=", "pwd="),
         rf"(?i);\s{{0,4}}(?:password|pwd)\s?=\s?'?({_VALUE}{{1,512}})", 1, r"(?i:(?:password|pwd)\s?=)",
         is_password),
    Rule("connection-string-query", "definite", "Password in the query of an address", ("password=", "pwd="),
         rf"(?i)[?&](?:password|pwd|passwd)=({_VALUE}{{1,512}})", 1, "[?&](?i:password|pwd|passwd)=",
         is_password),
    Rule("connection-string-libpq", "definite", "Password in PostgreSQL's key=value pairs", ("password=",),
         rf"(?i)\b(?:host|hostaddr|port|dbname|user|sslmode)\s?=\s?{_VALUE}{{1,200}}\s"
         rf"(?:[a-z_]{{1,30}}\s?=\s?{_VALUE}+\s)*?password\s?=\s?({_VALUE}{{1,512}})", 1,
         r"(?i:password\s?=)", is_password),
    Rule("connection-string-first", "definite", "Password before the other pairs of a connection string",
         ("password=", "pwd="),
         rf"(?i)\b(?:password|pwd)\s?=\s?'?({_FIRST}{{1,512}})'?(?:;\s{{0,4}}"
         r"(?:server|data source|host|database|initial catalog|user id|uid|username)\s?=|"
         r"[ \t]{1,4}(?:host|hostaddr|port|dbname|user|sslmode)=)[^\s=]", 1, r"(?i:(?:password|pwd)\s?=)",
         is_password),
    Rule("bearer-header", "definite", "Token after Bearer", ("Bearer", "bearer"),
         r"(?i:\bbearer)(?:[ \t]|%20){1,4}([A-Za-z0-9._~+/-]{16,}=*)", 1,
         r"(?i:bearer)(?:[ \t]|%20)+[A-Za-z0-9._~+/-]{16}", has_digit),
    Rule("basic-header", "definite", "Credentials after Authorization: Basic", ("Basic", "basic"),
         rf"""(?i:\b(?:proxy-)?authorization)(?:{ASSIGNED}|[\s:="'\\]{{1,12}})(?i:basic)[ \t]{{1,4}}"""
         r"([A-Za-z0-9+/]{8,}={0,2})", 1, r"(?i:basic)[ \t]+[A-Za-z0-9+/]{8}"),
)  # fmt: skip

CANDIDATES: tuple[Rule, ...] = (
    Rule("email", "candidate", "E-mail address", ("@",),
         r"\b[A-Za-z0-9._%+-]{1,64}@[A-Za-z0-9-]{1,63}(?:\.[A-Za-z0-9-]{1,63}){0,6}\.[A-Za-z]{2,24}\b", 0,
         "[A-Za-z0-9._%+-]@[A-Za-z0-9]"),
    Rule("card-number", "candidate", "Card number with a valid check digit", (),
         r"\b[0-9](?:[ -]?[0-9]){12,18}\b", 0, "[0-9](?:[ -]?[0-9]){12}", is_card_number),
    Rule("iban", "candidate", "Account number (IBAN) with valid check digits", (),
         r"\b[A-Z]{2}[0-9]{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,3})?\b", 0,
         r"[A-Z]{2}[0-9]{2} ?[A-Z0-9]{4}", is_iban),
    Rule("secret-assignment", "candidate",
         "Value of high entropy that is assigned to a name like password, secret, token or api_key",
         ("password", "passwd", "pwd", "secret", "token", "key", "credential"),
         rf"{_NAMES}[A-Za-z0-9_.-]{{0,40}}{ASSIGNED}([A-Za-z0-9+/_=.~!@#$%^&*-]{{12,200}})", 1,
         _NAMES, is_random),
)  # fmt: skip

DEFINITE: tuple[Rule, ...] = (*VENDORS, *GENERIC)
RULES: tuple[Rule, ...] = (*DEFINITE, *CANDIDATES)
BY_NAME = {rule.name: rule for rule in RULES}
