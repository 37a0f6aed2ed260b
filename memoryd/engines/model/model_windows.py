"""Windows of models as their endpoint tells them, asked once a day: most runs need no request of their own for it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from memoryd.engines.model.client import BadRequestError, EndpointError
from memoryd.engines.model.context_window import LONG_NAME
from memoryd.errors import EngineStoppedError
from memoryd.state import settings

if TYPE_CHECKING:
    from collections.abc import Mapping

    from memoryd.engines.model.client import Client
    from memoryd.state.database import Database

_KEPT_SECONDS = 86_400.0
_ANSWER_SECONDS = 8.0
_DATED = re.compile(r"-20\d{6}$")


def answered_window(database: Database, client: Client, base_url: str, model: str, now: float) -> int:
    """Tokens that the endpoint says this model can read; 0 where it does not say, or cannot be asked now.

    Whatever is wrong with the endpoint, the request that follows tells it better.
    """
    kept = settings.get(database, settings.MODEL_WINDOWS)
    if kept is None or kept.value["base_url"] != base_url or not 0 <= now - kept.at < _KEPT_SECONDS:
        try:
            listed = client.models(now + _ANSWER_SECONDS)
        except (EndpointError, BadRequestError, EngineStoppedError):
            return 0
        windows = {known.name: known.window_tokens for known in listed or () if known.window_tokens}
        settings.put(database, settings.MODEL_WINDOWS, {"base_url": base_url, "windows": windows}, now)
    else:
        windows = kept.value["windows"]
    return window_among(windows, model)


def window_among(windows: Mapping[str, int], model: str) -> int:
    """The window of a model; a plain name is that of its dated ones, of which the smallest counts."""
    plain = model.removesuffix(LONG_NAME)
    if plain in windows:
        return windows[plain]
    return min((tokens for name, tokens in windows.items() if _DATED.sub("", name) == plain), default=0)
