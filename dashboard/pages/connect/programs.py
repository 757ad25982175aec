"""Example programs that send a first session without a package of ours; a test runs each as it is shown."""

PYTHON = """
import json, time, urllib.request, uuid
from datetime import datetime, timezone

URL = "ORIGIN/ingest/v1/events"
TOKEN = "TOKEN_HERE"

now = lambda: datetime.now(timezone.utc).isoformat()
session = str(uuid.uuid4())
loop = session + ".hello.1"
usage = {"input": 12, "output": 3}
prompt = {
    "role": "user",
    "timestamp": int(time.time() * 1000),
    "content": [{"type": "text", "text": "Say hello"}],
}
answer = {
    "role": "assistant",
    "timestamp": int(time.time() * 1000),
    "content": [{"type": "text", "text": "Hello."}],
    "stopReason": "stop",
    "model": "my-model",
    "provider": "my-provider",
    "usage": usage,
}

events = [
    {"type": "AgentStart", "agent_id": "hello", "session_id": session, "loop_id": loop, "timestamp": now()},
    {"type": "TurnStart", "loop_id": loop, "turn_index": 0, "triggered_by": "User", "timestamp": now()},
    {"type": "MessageEnd", "loop_id": loop, "message": prompt},
    {"type": "MessageEnd", "loop_id": loop, "message": answer},
    {
        "type": "TurnEnd",
        "loop_id": loop,
        "message": answer,
        "usage": usage,
        "tool_results": [],
        "timestamp": now(),
    },
    {"type": "AgentEnd", "loop_id": loop, "messages": [prompt, answer], "usage": usage, "timestamp": now()},
]
body = "\\n".join(json.dumps(event) for event in events).encode()
headers = {"Authorization": "Bearer " + TOKEN, "Content-Type": "application/x-ndjson"}
request = urllib.request.Request(URL, body, headers)
print(urllib.request.urlopen(request).read().decode())
"""

CURL = """
SESSION="hello-$(date +%s)"
LOOP="$SESSION.hello.1"
NOW="$(date -u +%Y-%m-%dT%H:%M:%SZ)"
PROMPT='{"role":"user","content":[{"type":"text","text":"Say hello"}]}'
ANSWER='{"role":"assistant","content":[{"type":"text","text":"Hello."}],"stopReason":"stop"}'
USAGE='{"input":12,"output":3}'

curl -sS "ORIGIN/ingest/v1/events" \\
  -H "Authorization: Bearer TOKEN_HERE" \\
  -H "Content-Type: application/x-ndjson" \\
  --data-binary @- <<EOF
{"type":"AgentStart","agent_id":"hello","session_id":"$SESSION","loop_id":"$LOOP","timestamp":"$NOW"}
{"type":"TurnStart","loop_id":"$LOOP","turn_index":0,"triggered_by":"User","timestamp":"$NOW"}
{"type":"MessageEnd","loop_id":"$LOOP","message":$PROMPT}
{"type":"MessageEnd","loop_id":"$LOOP","message":$ANSWER}
{"type":"TurnEnd","loop_id":"$LOOP","message":$ANSWER,"usage":$USAGE,"tool_results":[],"timestamp":"$NOW"}
{"type":"AgentEnd","loop_id":"$LOOP","messages":[],"usage":$USAGE,"timestamp":"$NOW"}
EOF
"""

WEBSOCKET = """
import json, time, uuid
from datetime import datetime, timezone
from websockets.sync.client import connect

URL = "SOCKET_ORIGIN/ingest/v1/ws"
TOKEN = "TOKEN_HERE"

now = lambda: datetime.now(timezone.utc).isoformat()
session = str(uuid.uuid4())
loop = session + ".hello.1"
usage = {"input": 12, "output": 6}
empty = {"role": "assistant", "content": []}
text = "Hello, this arrives word by word."

with connect(URL, additional_headers={"Authorization": "Bearer " + TOKEN}) as socket:
    sent = 0

    def send(kind, **fields):
        global sent
        socket.send(json.dumps({"type": kind, "loop_id": loop, **fields}))
        sent += 1

    send("AgentStart", agent_id="hello", session_id=session, timestamp=now())
    send("TurnStart", turn_index=0, triggered_by="User", timestamp=now())
    send("MessageStart", message=empty)
    for word in text.split():
        send("MessageUpdate", message=empty, delta={"Text": {"delta": word + " "}})
        time.sleep(0.2)
    answer = empty | {"content": [{"type": "text", "text": text}], "stopReason": "stop"}
    send("MessageEnd", message=answer)
    send("TurnEnd", message=answer, usage=usage, tool_results=[], timestamp=now())
    send("AgentEnd", messages=[answer], usage=usage, timestamp=now())

    ack = {}
    while ack.get("upto", -1) < sent - 1:  # acknowledged means stored
        ack = json.loads(socket.recv())
        print(ack)
"""
