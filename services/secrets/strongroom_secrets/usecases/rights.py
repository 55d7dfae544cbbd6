"""What a caller may do with the secrets of one environment."""

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

    def may(self, action: str, path: str, name: str) -> bool:
        """Say whether the action is allowed on this secret."""
        answer = self._answers.get((action, path))
        if answer is not None:
            return answer
        answer = self._standing.may(action, SECRETS, self._resource(path, name))
        if not self._is_about_one(action):
            self._answers[(action, path)] = answer
        return answer

    def require(self, action: str, path: str, name: str) -> None:
        """Raise `PermissionDenied` unless the action is allowed on this secret."""
        if not self.may(action, path, name):
            self._standing.require(action, SECRETS, self._resource(path, name))

    def _resource(self, path: str, name: str) -> dict[str, Any]:
        return {"environment": self._environment, "secretPath": path, "secretName": name, "secretTags": ()}

    def _is_about_one(self, action: str) -> bool:
        known = self._looks_at_one.get(action)
        if known is None:
            rules = self._standing.rules.about(action, SECRETS)
            known = self._looks_at_one[action] = any(not _OF_ONE_SECRET.isdisjoint(rule.conditions) for rule in rules)
        return known
