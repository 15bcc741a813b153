"""What is shown is what would have been sent."""

import base64
import os
import re
from pathlib import Path
from typing import Any

import pytest

from pycodex.protocol.ops import UserTurn
from pycodex.protocol.user_input import LocalImage, Text, UserInput
from pycodex.supervisor.model.scripted import Reply, say
from pycodex.supervisor.policy.rules import PrefixRule, Rules
from pycodex.supervisor.session.preview import preview
from support.engine import Place, config_of, open_engine, said

PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
SKILL = "---\nname: rhyme\ndescription: Speak in rhymes\n---\nAlways rhyme.\n"


def furnish(place: Place) -> None:
    (place.workspace / "AGENTS.md").write_text("Be brief.")
    (place.home / "AGENTS.md").write_text("Be kind.")
    skill = place.home / "skills" / "rhyme" / "SKILL.md"
    skill.parent.mkdir(parents=True)
    skill.write_text(SKILL)


@pytest.mark.parametrize("flags", [{}, {"sandbox_mode": "workspace-write"}, {"model": "gpt-5.1"}])
async def test_first_request_is_shown_to_the_byte(place: Place, tmp_path: Path, flags: dict[str, Any]) -> None:
    furnish(place)
    picture = tmp_path / "dot.png"
    picture.write_bytes(PIXEL)
    inputs: list[UserInput] = [LocalImage(path=str(picture)), Text(text="Use $rhyme, please")]
    overrides = ('developer_instructions="Mind the gap."',)
    async with open_engine(place, [Reply(parts=say("ok"))]) as engine:
        talk = await engine.start(*overrides, **flags)
        await talk.thread.submit(UserTurn(items=tuple(inputs)))
        await talk.ended()
        seen = await preview(config_of(place, *overrides, **flags), inputs, env=place.env, rules=Rules())
    (request,) = engine.server.requests
    assert seen.input == request.body["input"]
    assert seen.instructions == request.body["instructions"]
    assert "Always rhyme." in seen.input[-1]["content"][0]["text"]


async def test_without_a_task_only_the_context_is_shown(place: Place) -> None:
    furnish(place)
    place.point_at("http://127.0.0.1:9/v1")
    seen = await preview(config_of(place), [], env=place.env, rules=Rules())
    assert [item["role"] for item in seen.input] == ["developer", "user"]
    (around,) = said(seen.input, "user")
    assert re.search(r"Be kind\..*Be brief\..*<cwd>", around, re.DOTALL)


async def test_nothing_is_started_and_no_session_is_kept(place: Place) -> None:
    place.point_at("http://127.0.0.1:9/v1")
    await preview(config_of(place), [Text(text="go")], env=place.env, rules=Rules())
    assert place.sessions() == []
    assert os.listdir(place.runtime) == [], "a pool was opened"


async def test_what_is_left_out_is_told(place: Place) -> None:
    furnish(place)
    broken = place.home / "skills" / "broken" / "SKILL.md"
    broken.parent.mkdir()
    broken.write_text("no head\n")
    place.point_at("http://127.0.0.1:9/v1")
    config = config_of(place, "features.memories=true")
    seen = await preview(config, [], env=place.env, rules=Rules())
    assert [warning.partition(":")[0] for warning in seen.warnings] == [
        "Under-development features enabled",
        f"The skill at {broken} is left out",
    ]


async def test_skill_that_vanished_is_told(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    furnish(place)
    place.point_at("http://127.0.0.1:9/v1")
    skill = place.home / "skills" / "rhyme" / "SKILL.md"

    def vanish(*_: object) -> str:
        skill.unlink()
        return "2026-01-01"

    # Between the search for skills and their use.
    monkeypatch.setattr("pycodex.supervisor.session.preview.new_turn_id", vanish)
    seen = await preview(config_of(place), [Text(text="$rhyme")], env=place.env, rules=Rules())
    assert seen.warnings == (f"Failed to load skill rhyme at {skill}: No such file or directory",)


async def test_commands_that_rules_allow_are_named(place: Place) -> None:
    rules = Rules(prefix_rules=(PrefixRule(program="touch"), PrefixRule(program="git", rest=(("push", "fetch"),))))
    seen = await preview(config_of(place, approval_policy="on-request"), [], env=place.env, rules=rules)
    told = seen.input[0]["content"][0]["text"]
    assert '\n- ["touch"]\n- ["git", "push"]\n- ["git", "fetch"]\n' in told
