"""Client that records the runs of an agent; needs the standard library only, and no settings.

    from loopscope_client import Client

Recording calls return at once and never raise: lines wait on disk until the server has stored them.
docs/reference/python-client.md lists all calls.
"""

from loopscope_client.aio import AsyncClient
from loopscope_client.client import Client
from loopscope_client.status import Status

__version__ = "0.3.0"

__all__ = ["AsyncClient", "Client", "Status"]
