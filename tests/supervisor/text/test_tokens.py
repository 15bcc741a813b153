"""Estimates of tokens."""

import base64
import io
import json

import pytest
from PIL import Image

from pycodex.supervisor.text.tokens import IMAGE_BYTES, estimate_item_tokens, estimate_tokens
from support.rollouts import Item, call, message, output


@pytest.mark.parametrize(("text", "tokens"), [("", 0), ("a", 1), ("abcd", 1), ("abcde", 2), ("éé", 1), ("ééa", 2)])
def test_four_bytes_are_a_token(text: str, tokens: int) -> None:
    assert estimate_tokens(text) == tokens


def picture(width: int, height: int) -> str:
    file = io.BytesIO()
    Image.new("L", (width, height)).save(file, "PNG")
    return "data:image/png;base64," + base64.b64encode(file.getvalue()).decode()


def compact(item: Item) -> str:
    return json.dumps(item, separators=(",", ":"))


def test_item_costs_what_its_json_takes() -> None:
    item = message("user", "é")
    sent = '{"type":"message","role":"user","content":[{"type":"input_text","text":"é"}]}'
    assert estimate_item_tokens(item) == -(-len(sent.encode()) // 4)


def test_id_is_not_sent_and_costs_nothing() -> None:
    assert estimate_item_tokens({**call("c"), "id": "x" * 400}) == estimate_item_tokens(call("c"))


@pytest.mark.parametrize(
    ("item", "tokens"),
    [
        ({"type": "reasoning", "summary": [], "content": None, "encrypted_content": "x" * 2000}, 213),
        ({"type": "reasoning", "summary": [], "content": None, "encrypted_content": "b64"}, 0),
        ({"type": "compaction", "encrypted_content": "x" * 2000}, 213),
        ({"type": "ghost_snapshot", "ghost_commit": {"id": "x" * 400}}, 0),
    ],
)
def test_items_whose_bytes_the_model_does_not_read(item: Item, tokens: int) -> None:
    assert estimate_item_tokens(item) == tokens


@pytest.mark.parametrize("field", ["content", "output"])
def test_picture_costs_the_same_whatever_its_size(field: str) -> None:
    item = message("user", "") if field == "content" else output("c", [])
    part = {"type": "input_image", "image_url": "data:image/png;base64,"}
    rest = len(compact({**item, field: [part]}))
    shown = {**item, field: [{**part, "image_url": picture(900, 900)}]}
    assert estimate_item_tokens(shown) == -(-(rest + IMAGE_BYTES) // 4)


def test_picture_in_full_detail_costs_by_its_size() -> None:
    part = {"type": "input_image", "image_url": picture(64, 33), "detail": "original"}
    rest = len(compact(output("c", [{**part, "image_url": "data:image/png;base64,"}])))
    assert estimate_item_tokens(output("c", [part])) == -(-(rest + 2 * 2 * 4) // 4)


@pytest.mark.parametrize("payload", ["", "!!!", base64.b64encode(b"no picture").decode()])
def test_what_is_no_picture_costs_as_much_as_one(payload: str) -> None:
    part = {"type": "input_image", "image_url": f"data:image/png;base64,{payload}", "detail": "original"}
    rest = len(compact(output("c", [{**part, "image_url": "data:image/png;base64,"}])))
    assert estimate_item_tokens(output("c", [part])) == -(-(rest + IMAGE_BYTES) // 4)


def test_picture_elsewhere_costs_its_address() -> None:
    part = {"type": "input_image", "image_url": "https://example.com/a.png"}
    assert estimate_item_tokens(output("c", [part])) == -(-len(compact(output("c", [part]))) // 4)
