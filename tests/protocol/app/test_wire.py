"""Names on the wire, and what is left out there."""

import pytest
from pydantic import ValidationError

from pycodex.protocol.app.approvals import CommandExecutionRequestApprovalParams, FileChangeRequestApprovalParams
from pycodex.protocol.app.config_values import AppConfig, AppsConfig, Config
from pycodex.protocol.app.elicitation import (
    McpElicitationBooleanSchema,
    McpElicitationSchema,
    McpServerElicitationRequestResponse,
)
from pycodex.protocol.app.threads import GitInfo
from pycodex.protocol.app.user_input import ByteRange, TextElement, TextUserInput


def test_python_names_become_camel_case() -> None:
    assert GitInfo(origin_url="u").to_json() == {"sha": None, "branch": None, "originUrl": "u"}
    assert GitInfo.model_validate({"originUrl": "u"}) == GitInfo(origin_url="u")


def test_some_names_stay_as_they_are() -> None:
    said = TextUserInput(text="a", text_elements=[TextElement(byte_range=ByteRange(start=0, end=1))])
    assert said.to_json() == {
        "type": "text",
        "text": "a",
        "text_elements": [{"byteRange": {"start": 0, "end": 1}, "placeholder": None}],
    }


def test_names_that_python_does_not_allow_have_their_own() -> None:
    answer = McpServerElicitationRequestResponse(action="accept", meta={"a": 1})
    assert answer.to_json() == {"action": "accept", "content": None, "_meta": {"a": 1}}


def test_unset_fields_are_null_or_left_out_as_the_reference_has_it() -> None:
    ids = {"threadId": "t", "turnId": "u", "itemId": "i"}
    assert CommandExecutionRequestApprovalParams(thread_id="t", turn_id="u", item_id="i").to_json() == ids
    asked = FileChangeRequestApprovalParams(thread_id="t", turn_id="u", item_id="i")
    assert asked.to_json() == {**ids, "reason": None, "grantRoot": None}


def test_what_is_empty_is_not_unset() -> None:
    asked = CommandExecutionRequestApprovalParams(thread_id="t", turn_id="u", item_id="i", reason="")
    assert asked.to_json()["reason"] == ""
    assert McpElicitationBooleanSchema(type="boolean", default=False).to_json() == {"type": "boolean", "default": False}


def test_open_shapes_keep_what_nobody_declared() -> None:
    read = Config.model_validate({"model": "m", "notify": ["x"]}).to_json()
    assert (read["model"], read["notify"]) == ("m", ["x"])
    apps = AppsConfig.model_validate({"mail": {"enabled": False}})
    assert apps.__pydantic_extra__ == {"mail": AppConfig(enabled=False)}


def test_closed_shapes_refuse_what_nobody_declared() -> None:
    with pytest.raises(ValidationError):
        McpElicitationSchema.model_validate({"type": "object", "properties": {}, "title": "x"})
