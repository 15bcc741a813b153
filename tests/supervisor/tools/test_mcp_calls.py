"""What the model gets of a server's answer."""

from typing import Any

import pytest

from pycodex.supervisor.tools.mcp_calls import NO_PICTURES, output_of, text_output

TEXT = {"type": "text", "text": "ü"}
PICTURE = {"type": "image", "data": "QQ==", "mimeType": "image/png"}


@pytest.mark.parametrize(
    ("result", "output"),
    [
        ({"content": []}, "[]"),
        ({"content": [TEXT]}, '[{"type":"text","text":"ü"}]'),
        ({"content": [TEXT], "isError": True}, '[{"type":"text","text":"ü"}]'),
        ({"content": [TEXT], "structuredContent": {"k": [1]}}, '{"k":[1]}'),
        ({"content": [TEXT], "structuredContent": None}, '[{"type":"text","text":"ü"}]'),
        ({"content": [{"type": "image"}]}, '[{"type":"image"}]'),
        (
            {"content": [TEXT, PICTURE, {"type": "odd", "x": 1}]},
            [
                {"type": "input_text", "text": "ü"},
                {"type": "input_image", "image_url": "data:image/png;base64,QQ=="},
                {"type": "input_text", "text": '{"type":"odd","x":1}'},
            ],
        ),
        (
            {"content": [{"type": "image", "data": "data:image/gif;base64,QQ=="}]},
            [{"type": "input_image", "image_url": "data:image/gif;base64,QQ=="}],
        ),
        (
            {"content": [{"type": "image", "data": "QQ==", "mimeType": 3}]},
            [{"type": "input_image", "image_url": "data:application/octet-stream;base64,QQ=="}],
        ),
    ],
)
def test_output(result: dict[str, Any], output: Any) -> None:
    assert output_of(result, takes_images=True) == output


def test_a_model_that_sees_nothing_is_told_so() -> None:
    assert output_of({"content": [PICTURE]}, takes_images=False) == text_output(NO_PICTURES)
