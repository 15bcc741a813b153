"""`feedback/upload`: nothing is sent to anybody, whatever the configuration says."""

from pycodex.protocol.app.host import FeedbackUploadParams
from pycodex.supervisor.frontends.app_server.method import Caller, Json, Method, RpcError


async def upload(caller: Caller, params: FeedbackUploadParams) -> Json:
    del caller, params
    raise RpcError("sending feedback is disabled by configuration")


METHODS = (Method(name="feedback/upload", params=FeedbackUploadParams, run=upload),)
