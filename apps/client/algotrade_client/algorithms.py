"""Algorithms: their steps, versions and words, and templates."""

from collections.abc import Iterator, Mapping
from typing import Any

from .records import (
    Algorithm,
    AlgorithmItem,
    Json,
    Review,
    SavedAlgorithm,
    Summary,
    Template,
    Version,
    VersionSummary,
)
from .resource import Id, Resource, id_of, to_wire

_PATH = "/api/trading/algorithms"


class Algorithms(Resource):
    def list(self, *, status: str | None = None) -> Iterator[AlgorithmItem]:
        return self._listed(AlgorithmItem, _PATH, {"status": status}, is_growing=True)

    def get(self, algorithm: Id) -> Algorithm:
        return self._get(Algorithm, f"{_PATH}/{id_of(algorithm)}")

    def create(
        self, *, name: str | None = None, idempotency_key: str | None = None, **steps: Any
    ) -> SavedAlgorithm:
        """Create an algorithm of steps by their wire names: `create(**json.load(file))`.

        It may be incomplete; `missing_fields` and `errors` say why.
        """
        body = to_wire({"name": name, **steps})
        return self._post(SavedAlgorithm, _PATH, body, idempotency_key=idempotency_key)

    def update(self, algorithm: Id, **changes: Any) -> SavedAlgorithm:
        """Replace the steps and fields that are given."""
        path = f"{_PATH}/{id_of(algorithm)}"
        return SavedAlgorithm.read(self._transport.call("PATCH", path, changes))

    def delete(self, algorithm: Id) -> None:
        self._transport.call("DELETE", f"{_PATH}/{id_of(algorithm)}")

    def clone(
        self, source: Id, *, name: str | None = None, idempotency_key: str | None = None
    ) -> SavedAlgorithm:
        """Copy an algorithm or a template."""
        return self._post(
            SavedAlgorithm,
            f"{_PATH}/{id_of(source)}/clone",
            to_wire({"name": name}),
            idempotency_key=idempotency_key,
        )

    def validate(self, steps: Id | Json) -> Review:
        """Judge a stored algorithm, or steps that are not stored."""
        if isinstance(steps, Mapping):
            return self._post(Review, f"{_PATH}/validate", steps)
        return self._post(Review, f"{_PATH}/{id_of(steps)}/validate")

    def summary(self, algorithm: Id) -> Summary:
        """Describe an algorithm in words."""
        return self._get(Summary, f"{_PATH}/{id_of(algorithm)}/summary")

    def versions(self, algorithm: Id) -> Iterator[Version]:
        """Yield all versions, newest first."""
        return self._listed(Version, f"{_PATH}/{id_of(algorithm)}/versions")

    def changes(self, algorithm: Id, version: int, *, since: int) -> VersionSummary:
        """Describe a version in words, and its changes since another one."""
        path = f"{_PATH}/{id_of(algorithm)}/versions/{version}/summary"
        return self._get(VersionSummary, path, since=since)

    def templates(self) -> Iterator[Template]:
        """Yield the templates of users, then the built-in ones."""
        return self._listed(Template, "/api/trading/templates", is_growing=True)

    def indicators(self) -> Iterator[Json]:
        """Yield the catalogue of indicators: parameters, outputs and sources."""
        return self._rows("/api/trading/indicators")
