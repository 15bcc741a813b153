"""What is known of a thread stays consistent, whatever comes of it."""

from typing import Any

from pycodex.supervisor.frontends.app_server.telling import IDLE, MAX_KEPT_OUTPUT_CHARS, Telling


def item(item_id: str, kind: str = "agentMessage", **fields: Any) -> dict[str, Any]:
    return {"id": item_id, "type": kind, **fields}


def begun() -> Telling:
    telling = Telling("thread")
    telling.turn_started("t1")
    return telling


def test_item_begins_once_and_ends_once() -> None:
    telling = begun()
    assert len(telling.item_started(item("a"))) == 1
    assert telling.item_started(item("a")) == []
    assert [notice.method for notice in telling.item_completed(item("a"))] == ["item/completed"]
    assert telling.item_completed(item("a")) == []
    assert telling.item_started(item("a")) == []
    both = telling.item_completed(item("b", text="all"), before=item("b", text=""))
    assert [(notice.method, notice.params["item"]["text"]) for notice in both] == [
        ("item/started", ""),
        ("item/completed", "all"),
    ]


def test_ids_may_come_again_in_another_turn() -> None:
    telling = begun()
    telling.item_started(item("a"))
    telling.turn_ended()
    telling.turn_started("t2")
    (started,) = telling.item_started(item("a"))
    assert started.params["turnId"] == "t2"


def test_command_goes_on_after_its_turn() -> None:
    telling = begun()
    telling.item_started(item("c", "commandExecution"))
    telling.turn_ended()
    telling.turn_started("t2")
    assert telling.turn_of("c") == "t1"
    assert [
        notice.params["turnId"] for notice in telling.item_completed(item("c", "commandExecution"), turn_id="t1")
    ] == ["t1"]
    assert telling.turn_of("c") == "t2"


def test_those_who_join_see_items_as_they_were_last_told() -> None:
    telling = begun()
    telling.item_started(item("a", text=""))
    telling.item_completed(item("a", text="all"))
    assert telling.turn is not None
    told = telling.turn.told("inProgress", telling.turn.items)
    assert told["items"] == [item("a", text="all")]
    assert "completedAt" not in told


def test_status_is_told_when_it_changes() -> None:
    telling = Telling("thread")
    assert telling.status_change(IDLE) == []
    (change,) = telling.status_change({"type": "active", "activeFlags": []})
    assert change.params == {"threadId": "thread", "status": {"type": "active", "activeFlags": []}}


def test_output_is_kept_of_the_latest_commands_only() -> None:
    telling = begun()
    for number in range(5):
        telling.item_completed(
            item(f"c{number}", "commandExecution", aggregatedOutput="x" * (MAX_KEPT_OUTPUT_CHARS // 2))
        )
    assert telling.turn is not None
    kept = {kept["id"]: kept["aggregatedOutput"] is not None for kept in telling.turn.items}
    assert kept == {"c0": False, "c1": False, "c2": False, "c3": True, "c4": True}
