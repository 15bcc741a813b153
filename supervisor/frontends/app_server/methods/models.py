"""`model/list` and `collaborationMode/list`: what a thread can be run with.

Owns the form of the answers, and a few words for each effort. Which models there are is known to `model/catalog`.
"""

from functools import partial

import trio

from pycodex.protocol.app.catalogue import CollaborationModeListParams, ModelListParams
from pycodex.supervisor.config.config import Config
from pycodex.supervisor.frontends.app_server.latest_config import latest_config
from pycodex.supervisor.frontends.app_server.method import Caller, Json, Method
from pycodex.supervisor.frontends.app_server.paging import page
from pycodex.supervisor.model.catalog import Catalog, OfferedModel, read_catalog

_EFFORTS = {
    "none": "No reasoning at all",
    "minimal": "Hardly any reasoning, for the quickest answers",
    "low": "Little reasoning, for quick answers",
    "medium": "As much reasoning as everyday work takes",
    "high": "More reasoning, for hard problems",
    "xhigh": "The most reasoning, for the hardest problems",
}
_NO_EFFORT = "none"


async def list_models(caller: Caller, params: ModelListParams) -> Json:
    config = latest_config(caller.server)
    offered = await trio.to_thread.run_sync(partial(_offered, config))
    models = [model for model in offered if params.include_hidden or not model.is_hidden]
    found, cursor = page(models, cursor=params.cursor, limit=params.limit, what="models")
    return {"data": [_told(model) for model in found], "nextCursor": cursor}


def _offered(config: Config) -> list[OfferedModel]:
    catalog = read_catalog(config.model_catalog_path) if config.model_catalog_path else Catalog()
    return list(catalog.offered())


def _told(model: OfferedModel) -> Json:
    info = model.info
    return {
        "id": info.slug,
        "model": info.slug,
        "upgrade": model.upgrade,
        "upgradeInfo": None if model.upgrade is None else _upgrade(model.upgrade),
        "availabilityNux": None,
        "displayName": info.display_name,
        "description": info.description,
        "hidden": model.is_hidden,
        "supportedReasoningEfforts": [
            {"reasoningEffort": effort, "description": _EFFORTS.get(effort, "")}
            for effort in info.supported_reasoning_efforts
        ],
        "defaultReasoningEffort": info.default_reasoning_effort or _NO_EFFORT,
        "inputModalities": list(info.input_modalities),
        "supportsPersonality": model.supports_personality,
        "isDefault": model.is_default,
    }


def _upgrade(name: str) -> Json:
    return {"model": name, "upgradeCopy": None, "modelLink": None, "migrationMarkdown": None}


async def list_modes(caller: Caller, params: CollaborationModeListParams) -> Json:
    del caller, params
    return {
        "data": [
            {"name": "Plan", "mode": "plan", "model": None, "reasoning_effort": "medium"},
            {"name": "Default", "mode": "default", "model": None, "reasoning_effort": None},
        ]
    }


METHODS = (
    Method(name="model/list", params=ModelListParams, run=list_models),
    Method(name="collaborationMode/list", params=CollaborationModeListParams, run=list_modes, experimental=True),
)
