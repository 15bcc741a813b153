"""Starting, steering and interrupting turns."""

from collections.abc import Iterable
from typing import Any

from pycodex.protocol.app.turns import TurnInterruptParams, TurnStartParams, TurnSteerParams
from pycodex.protocol.app.user_input import UserInput as GivenInput
from pycodex.protocol.events.turn import TaskComplete, TurnAborted
from pycodex.protocol.ids import new_turn_id
from pycodex.protocol.ops import Interrupt
from pycodex.protocol.user_input import Image, LocalImage, Mention, Skill, Text, UserInput
from pycodex.supervisor.frontends.app_server.error_info import turn_error
from pycodex.supervisor.frontends.app_server.method import INVALID_PARAMS, Caller, Json, Method, RpcError
from pycodex.supervisor.frontends.app_server.methods.calls import call_of, loaded
from pycodex.supervisor.frontends.app_server.wishes import wish_of
from pycodex.supervisor.session.session import NotSteerable

MAX_INPUT_CHARS = 1 << 20


async def start(caller: Caller, params: TurnStartParams) -> Json:
    call = call_of(caller)
    live = loaded(call, params.thread_id)
    inputs = _inputs(params.input)
    if not inputs:
        return _begun(new_turn_id())
    wish = wish_of(params, inputs).replace(output_schema=params.output_schema, client_id=params.client_user_message_id)
    call.at_the_end(live.gate.hold().release)
    turn_id = await live.thread.begin(wish)
    live.turn_submitted(turn_id)
    live.facts.note(wish, params)
    return _begun(turn_id)


def _begun(turn_id: str) -> Json:
    return {"turn": {"id": turn_id, "items": [], "itemsView": "full", "status": "inProgress", "error": None}}


def _inputs(given: Iterable[GivenInput]) -> tuple[UserInput, ...]:
    inputs = tuple(_input(each.to_json()) for each in given)
    check_length(sum(len(each.text) for each in inputs if isinstance(each, Text)))
    return inputs


def check_length(chars: int) -> None:
    """Raises RpcError for more than a client may say at once."""
    if chars > MAX_INPUT_CHARS:
        raise RpcError(
            f"Input exceeds the maximum length of {MAX_INPUT_CHARS} characters.",
            code=INVALID_PARAMS,
            data={"input_error_code": "input_too_large", "max_chars": MAX_INPUT_CHARS, "actual_chars": chars},
        )


def _input(given: dict[str, Any]) -> UserInput:
    match given["type"]:
        case "text":
            elements = (
                {"byte_range": each["byteRange"], "placeholder": each["placeholder"]} for each in given["text_elements"]
            )
            return Text(text=given["text"], text_elements=tuple(elements))
        case "image":
            return Image(url=given["url"])
        case "localImage":
            return LocalImage(path=given["path"])
        case "skill":
            return Skill(name=given["name"], path=given["path"])
        case _:
            return Mention(name=given["name"], path=given["path"])


async def steer(caller: Caller, params: TurnSteerParams) -> Json:
    live = loaded(call_of(caller), params.thread_id)
    inputs = _inputs(params.input)
    if not inputs:
        raise RpcError("input must not be empty")
    active = live.active_turn_id
    if active is None:
        raise RpcError("no active turn to steer")
    if params.expected_turn_id not in live.active_turn_ids:
        raise RpcError(f"expected active turn id `{params.expected_turn_id}` but found `{active}`")
    try:
        turn_id = live.thread.steer_input(inputs, expected_turn_id=active, client_id=params.client_user_message_id)
    except NotSteerable as error:
        raise RpcError(str(error), data=_not_steerable(error)) from error
    return {"turnId": turn_id}


def _not_steerable(error: NotSteerable) -> Json | None:
    """As clients know it of the kinds that they know."""
    if error.kind not in ("compact", "review"):
        return None
    return turn_error(str(error), {"active_turn_not_steerable": {"turn_kind": error.kind}})


async def interrupt(caller: Caller, params: TurnInterruptParams) -> Json:
    """Answered once the turn has ended, and before that is told."""
    call = call_of(caller)
    live = loaded(call, params.thread_id)
    active = live.active_turn_id
    if active is None:
        raise RpcError("no active turn to interrupt")
    if params.turn_id not in ("", *live.active_turn_ids):
        raise RpcError(f"expected active turn id {params.turn_id} but found {active}")
    waiter = live.awaited(TurnAborted, TaskComplete)
    call.at_the_end(lambda: live.give_up(waiter))
    # What a client knows of may have ended already, and what waited for its end may be running.
    known = live.telling.turn
    await live.submit(Interrupt(turn_id=None if known is None else known.turn_id))
    await waiter.wait()
    return {}


METHODS = (
    Method(name="turn/start", params=TurnStartParams, run=start),
    Method(name="turn/steer", params=TurnSteerParams, run=steer),
    Method(name="turn/interrupt", params=TurnInterruptParams, run=interrupt, may_wait=True),
)
