"""What a thread that works for another one is opened with."""

from dataclasses import replace
from pathlib import Path

from pycodex.protocol.permissions import Permissions
from pycodex.supervisor.session.children import ChildTerms, child_config
from pycodex.supervisor.session.settings import first_settings
from support.engine import Place, config_of


def test_child_has_what_is_set_now_and_what_its_opener_says(place: Place, tmp_path: Path) -> None:
    place.point_at("http://127.0.0.1:9")
    parent = config_of(place, 'notify=["x"]', 'web_search="live"', "nonsense.key=1")
    other = tmp_path / "other"
    (other / ".git" / "objects").mkdir(parents=True)
    settings = replace(
        first_settings(parent, model="m2", user_instructions=None),
        cwd=str(other),
        permissions=Permissions(mode="workspace-write"),
        effort="low",
        developer_instructions="d",
    )
    terms = ChildTerms(
        kind="review", settings=settings, instructions="Look.", service_tier="flex", web_search="disabled"
    )
    child = child_config(parent, terms)
    assert (child.cwd, child.project_root, child.model) == (str(other), str(other), "m2")
    assert (child.permissions, child.model_reasoning_effort) == (settings.permissions, "low")
    assert (child.model_instructions, child.developer_instructions) == ("Look.", "d")
    assert (child.service_tier, child.web_search, child.notify, child.warnings) == ("flex", "disabled", (), ())
    assert (child.codex_home, child.provider) == (parent.codex_home, parent.provider)
