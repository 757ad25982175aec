"""An OpenID Connect provider over HTTP: discovery, authorization, token, keys and UserInfo.

It checks what a provider must: the client, the redirect address, PKCE, and that a code is used once. Tests
set what it says of a user, and what is wrong with its ID tokens.
"""

from __future__ import annotations

import base64
import json
import secrets
import threading
import time
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import jwt
from cryptography.hazmat.primitives.asymmetric import rsa

CLIENT, SECRET = "loopscope", "s3cret"
LIFETIME_S = 300
KEY = rsa.generate_private_key(public_exponent=65537, key_size=2048)


class OpenIDProvider:
    """A running provider; everybody who comes is the user of `claims`, without being asked."""

    def __init__(self, port: int = 0) -> None:
        self._server = ThreadingHTTPServer(("127.0.0.1", port), _handler(self))
        self.issuer = f"http://127.0.0.1:{self._server.server_address[1]}"
        self.claims: dict[str, Any] = {"sub": "ada-1", "preferred_username": "ada"}
        self.in_id_token: dict[str, Any] = {}  # claims of ID tokens that differ from the right ones
        self.in_document: dict[str, Any] = {}  # values of the discovery document that differ
        self.profile: dict[str, Any] = {}  # claims of UserInfo that differ
        self.signing_key = KEY
        self.algorithm = "RS256"
        self.requests: list[str] = []  # paths
        self._codes: dict[str, dict[str, str]] = {}
        self._tokens: set[str] = set()
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()

    def stop(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def document(self) -> dict[str, Any]:
        return {
            "issuer": self.issuer,
            "authorization_endpoint": f"{self.issuer}/authorize",
            "token_endpoint": f"{self.issuer}/token",
            "userinfo_endpoint": f"{self.issuer}/userinfo",
            "jwks_uri": f"{self.issuer}/keys",
            "token_endpoint_auth_methods_supported": ["client_secret_post"],
        } | self.in_document

    def keys(self) -> dict[str, Any]:
        public = json.loads(jwt.algorithms.RSAAlgorithm.to_jwk(KEY.public_key()))
        return {"keys": [public | {"kid": "one", "use": "sig", "alg": "RS256"}]}

    def authorize(self, query: dict[str, str]) -> str:
        """Return the address to redirect to."""
        assert query["response_type"] == "code"
        assert query["client_id"] == CLIENT
        assert "openid" in query["scope"].split()
        assert query["code_challenge_method"] == "S256"
        code = secrets.token_urlsafe()
        self._codes[code] = query
        return f"{query['redirect_uri']}?{urlencode({'code': code, 'state': query['state']})}"

    def token(self, form: dict[str, str]) -> tuple[int, dict[str, Any]]:
        """Return the status and the answer to the exchange of a code."""
        request = self._codes.pop(form["code"], None)  # once
        verifier = sha256(form["code_verifier"].encode()).digest()
        challenge = base64.urlsafe_b64encode(verifier).rstrip(b"=").decode()
        is_right = (
            request is not None
            and (form["client_id"], form["client_secret"]) == (CLIENT, SECRET)
            and form["redirect_uri"] == request["redirect_uri"]
            and challenge == request["code_challenge"]
        )
        if not is_right:
            return 400, {"error": "invalid_grant"}
        access = secrets.token_urlsafe()
        self._tokens.add(access)
        return 200, {"access_token": access, "token_type": "Bearer", "id_token": self.id_token()}

    def id_token(self) -> str:
        now = int(time.time())
        claims = {"iss": self.issuer, "aud": CLIENT, "iat": now, "exp": now + LIFETIME_S, **self.claims}
        return jwt.encode(claims | self.in_id_token, self.signing_key, self.algorithm, headers={"kid": "one"})

    def userinfo(self, bearer: str) -> tuple[int, dict[str, Any]]:
        if bearer.removeprefix("Bearer ") not in self._tokens:
            return 401, {}
        return 200, self.claims | self.profile


def _handler(provider: OpenIDProvider) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            parts = urlsplit(self.path)
            provider.requests.append(parts.path)
            match parts.path:
                case "/.well-known/openid-configuration":
                    self._json(200, provider.document())
                case "/keys":
                    self._json(200, provider.keys())
                case "/userinfo":
                    self._json(*provider.userinfo(self.headers["Authorization"]))
                case "/authorize":
                    self.send_response(302)
                    self.send_header("Location", provider.authorize(_fields(parts.query)))
                    self.end_headers()
                case _:
                    self._json(404, {})

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"])).decode()
            provider.requests.append(self.path)
            self._json(*provider.token(_fields(body)))

        def _json(self, status: int, value: dict[str, Any]) -> None:
            body = json.dumps(value).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    return Handler


def _fields(text: str) -> dict[str, str]:
    return {name: values[0] for name, values in parse_qs(text).items()}
