"""Calls of the engine that report as they go: building, loading and pulling images.

docker-py hands out a generator without the connection behind it, so a call that has to be given
up half-way would go on in the engine until somebody collects the garbage. Here the connection is
closed when the block is left, and the engine stops.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager

import requests
from docker.errors import create_api_error_from_http_exception

from segtrial.container.engine import Engine, Json


@contextmanager
def messages(
    engine: Engine,
    path: str,
    *,
    params: Mapping[str, str],
    data: Iterable[bytes] | None = None,
    headers: Mapping[str, str] | None = None,
) -> Iterator[Iterator[Json]]:
    """Post to the engine and give its messages, one parsed JSON object each.

    Parameters
    ----------
    path
        Of the call, such as ``/build``.
    params
        Its query.
    data
        Its body, sent in pieces of unknown total size.
    headers
        Its headers.

    Raises
    ------
    docker.errors.APIError
        The engine refuses the call.
    requests.RequestException
        It does not answer.
    """
    api = engine.api
    response = api.post(
        f"{api.base_url}/v{api.api_version}{path}",
        params=dict(params),
        data=data,
        headers=dict(headers or {}),
        stream=True,
        timeout=api.timeout,
    )
    try:
        _require_accepted(response)
        yield (json.loads(line) for line in response.iter_lines() if line.strip())
    finally:
        response.close()


def _require_accepted(response: requests.Response) -> None:
    try:
        response.raise_for_status()
    except requests.HTTPError as error:
        create_api_error_from_http_exception(error)
