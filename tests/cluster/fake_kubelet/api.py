"""Just enough of the Kubernetes API for a kubelet: plain dictionaries, and a watch that never ends.

Dictionaries, since a typed client drops the fields that it does not know.
"""

from __future__ import annotations

import asyncio
import base64
import json
import ssl
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx2
import yaml

AGAIN_AFTER = 0.2


class Api:
    """An API server, as the user of a kubeconfig with certificates in it."""

    def __init__(self, kubeconfig: Path) -> None:
        content = yaml.safe_load(kubeconfig.read_text())
        cluster, user = content["clusters"][0]["cluster"], content["users"][0]["user"]
        trust = ssl.create_default_context(cadata=base64.b64decode(cluster["certificate-authority-data"]).decode())
        with tempfile.NamedTemporaryFile() as pair:
            pair.write(base64.b64decode(user["client-certificate-data"]))
            pair.write(base64.b64decode(user["client-key-data"]))
            pair.flush()
            trust.load_cert_chain(pair.name)
        limits = httpx2.Limits(max_connections=40, max_keepalive_connections=40)
        self._client = httpx2.AsyncClient(base_url=cluster["server"], verify=trust, limits=limits, timeout=30)

    async def get(self, path: str, **query: str) -> dict[str, Any]:
        return await self._call("GET", path, params=query)

    async def post(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        return await self._call("POST", path, json=body)

    async def delete(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        return await self._call("DELETE", path, json=body)

    async def patch(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        """A strategic merge patch: conditions are merged by type."""
        headers = {"Content-Type": "application/strategic-merge-patch+json"}
        return await self._call("PATCH", path, content=json.dumps(body), headers=headers)

    async def watch(self, path: str, **query: str) -> AsyncIterator[tuple[bool, dict[str, Any]]]:
        """Each object that matches, as (there, object): first all there are, then each as it changes, for ever.

        After a lost connection it lists anew, and reports as gone what disappeared meanwhile.
        """
        known: dict[str, dict[str, Any]] = {}
        while True:
            try:
                listed = await self.get(path, **query)
                present = {each["metadata"]["uid"] for each in listed["items"]}
                for uid in known.keys() - present:
                    yield False, known.pop(uid)
                for each in listed["items"]:
                    known[each["metadata"]["uid"]] = each
                    yield True, each
                version = listed["metadata"]["resourceVersion"]
                async for kind, each in self._events(path, {**query, "watch": "true", "resourceVersion": version}):
                    there = kind != "DELETED"
                    if there:
                        known[each["metadata"]["uid"]] = each
                    else:
                        known.pop(each["metadata"]["uid"], None)
                    yield there, each
            except httpx2.HTTPError:
                await asyncio.sleep(AGAIN_AFTER)

    async def _events(self, path: str, query: dict[str, str]) -> AsyncIterator[tuple[str, dict[str, Any]]]:
        async with self._client.stream("GET", path, params=query, timeout=httpx2.Timeout(30, read=None)) as answer:
            answer.raise_for_status()
            async for line in answer.aiter_lines():
                event = json.loads(line)
                if event["type"] == "ERROR":
                    return
                yield event["type"], event["object"]

    async def _call(self, method: str, path: str, **options: Any) -> dict[str, Any]:
        answer = await self._client.request(method, path, **options)
        answer.raise_for_status()
        found: dict[str, Any] = answer.json()
        return found
