"""`feedback/upload`: what a person says is kept on this machine, for them to pass on; nothing is sent to anybody."""

import trio

from pycodex.protocol.app.host import FeedbackUploadParams
from pycodex.protocol.ids import new_thread_id
from pycodex.supervisor.frontends.app_server.method import INTERNAL_ERROR, Caller, Json, Method, RpcError
from pycodex.supervisor.workspace.feedback import Feedback, NotKept, keep


async def upload(caller: Caller, params: FeedbackUploadParams) -> Json:
    server = caller.server
    config = server.load_config()
    if config.settings.get("feedback", "enabled") is False:
        raise RpcError("sending feedback is disabled by configuration")
    thread_id = params.thread_id or new_thread_id()
    feedback = Feedback(
        thread_id=thread_id,
        classification=params.classification,
        reason=params.reason,
        log_files=(config.log_dir, *(params.extra_log_files or ())) if params.include_logs else (),
    )
    try:
        await trio.to_thread.run_sync(keep, feedback, server.codex_home)
    except NotKept as error:
        raise RpcError(f"failed to keep feedback: {error}", code=INTERNAL_ERROR) from error
    return {"threadId": thread_id}


METHODS = (Method(name="feedback/upload", params=FeedbackUploadParams, run=upload),)
