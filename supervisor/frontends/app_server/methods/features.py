"""`experimentalFeature/list`: which features there are, and which are on.

Owns the form of the answer. Everything in it is known to `config/features` and `config/feature_menu`.
"""

from pycodex.protocol.app.catalogue import ExperimentalFeatureListParams
from pycodex.supervisor.config import features
from pycodex.supervisor.config.feature_menu import ENTRIES, ORDER
from pycodex.supervisor.frontends.app_server.latest_config import latest_config
from pycodex.supervisor.frontends.app_server.method import Caller, Json, Method
from pycodex.supervisor.frontends.app_server.paging import page

_STAGES = {
    features.STABLE: "stable",
    features.EXPERIMENTAL: "beta",
    features.UNDER_DEVELOPMENT: "underDevelopment",
    features.DEPRECATED: "deprecated",
    features.REMOVED: "removed",
}


async def list_features(caller: Caller, params: ExperimentalFeatureListParams) -> Json:
    on = latest_config(caller.server).features
    names, cursor = page(ORDER, cursor=params.cursor, limit=params.limit, what="feature flags")
    return {"data": [_told(name, is_on=name in on) for name in names], "nextCursor": cursor}


def _told(name: str, *, is_on: bool) -> Json:
    entry = ENTRIES.get(name)
    return {
        "name": name,
        "stage": _STAGES[features.STAGES[name]],
        "displayName": None if entry is None else entry.name,
        "description": None if entry is None else entry.description,
        "announcement": None if entry is None else entry.announcement,
        "enabled": is_on,
        "defaultEnabled": name in features.ON_BY_DEFAULT,
    }


METHODS = (Method(name="experimentalFeature/list", params=ExperimentalFeatureListParams, run=list_features),)
