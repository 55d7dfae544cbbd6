"""What a caller may do with the secrets of one environment."""

from collections.abc import Sequence
from typing import Any

from strongroom_common.access.callers import Standing

SECRETS = "secrets"
_OF_ONE_SECRET = frozenset({"secretName", "secretTags"})


class SecretRights:
    """Answers for many secrets at the price of one, as long as no rule looks at a single secret's name or tags."""

    def __init__(self, standing: Standing, environment: str) -> None:
        self._standing = standing
        self._environment = environment
        self._looks_at_one: dict[str, bool] = {}
        self._answers: dict[tuple[str, str], bool] = {}

    def may(self, action: str, path: str, name: str, tags: Sequence[str] = ()) -> bool:
        """Say whether the action is allowed on this secret; what is not there has no tags."""
        answer = self._answers.get((action, path))
        if answer is not None:
            return answer
        answer = self._standing.may(action, SECRETS, self._resource(path, name, tags))
        if not self._is_about_one(action):
            self._answers[(action, path)] = answer
        return answer

    def require(self, action: str, path: str, name: str, tags: Sequence[str] = ()) -> None:
        """Raise `PermissionDenied` unless the action is allowed on this secret."""
        if not self.may(action, path, name, tags):
            self._standing.require(action, SECRETS, self._resource(path, name, tags))

    def require_with_some_tags(self, action: str, path: str, name: str) -> None:
        """Raise `PermissionDenied` if the action is forbidden whatever tags the secret has: the cheap first question.

        Who is not refused here is asked again with `require`, once the tags are known.
        """
        known = {"environment": self._environment, "secretPath": path, "secretName": name}
        if not self._standing.rules.might(action, SECRETS, known):
            self.require(action, path, name)

    def _resource(self, path: str, name: str, tags: Sequence[str]) -> dict[str, Any]:
        return {"environment": self._environment, "secretPath": path, "secretName": name, "secretTags": tags}

    def _is_about_one(self, action: str) -> bool:
        known = self._looks_at_one.get(action)
        if known is None:
            rules = self._standing.rules.about(action, SECRETS)
            known = self._looks_at_one[action] = any(not _OF_ONE_SECRET.isdisjoint(rule.conditions) for rule in rules)
        return known
