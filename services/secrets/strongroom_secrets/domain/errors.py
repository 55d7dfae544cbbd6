"""What can be wrong with secrets and folders, by name. Names of secrets may stand in a message, values never."""

from collections.abc import Iterable

from strongroom_common.kernel.errors import Conflict, NotFound

MOST_NAMED = 50


class ProjectNotFound(NotFound):
    """There is no such project in the caller's organization."""

    def __init__(self) -> None:
        super().__init__("There is no such project in your organization")


class EnvironmentNotFound(NotFound):
    """The project has no such environment."""

    def __init__(self, slug: str) -> None:
        super().__init__(f"The project has no environment '{slug}'")


class FolderNotFound(NotFound):
    """The environment has no such folder."""

    def __init__(self, what: str) -> None:
        super().__init__(f"There is no folder {what}")


class SecretNotFound(NotFound):
    """These secrets are not there."""

    @classmethod
    def named(cls, names: Iterable[str], path: str) -> "SecretNotFound":
        """Name the missing ones and where they were looked for."""
        return cls(f"There is no secret {listed(names)} in {path}")


class TagNotFound(NotFound):
    """The project has no such tag."""

    def __init__(self) -> None:
        super().__init__("A tag of this request does not exist in the project")


class TagExists(Conflict):
    """The slug is taken."""

    def __init__(self, slug: str) -> None:
        super().__init__(f"The project has a tag '{slug}' already")


class TooManyTags(Conflict):
    """The project has as many tags as a list may show."""

    def __init__(self) -> None:
        super().__init__("The project has too many tags: delete one first")


class SecretsExist(Conflict):
    """These names are taken."""

    def __init__(self, names: Iterable[str], path: str) -> None:
        super().__init__(f"A secret with this name already exists in {path}: {listed(names)}")


class NamedTwice(Conflict):
    """One request speaks of the same secret more than once."""

    def __init__(self, names: Iterable[str]) -> None:
        super().__init__(f"The request names a secret more than once: {listed(names)}")


class LowerCaseName(Conflict):
    """The project demands upper-case names."""

    def __init__(self, names: Iterable[str]) -> None:
        super().__init__(f"This project allows only upper-case secret names, which is not true of {listed(names)}")


class RotatedSecret(Conflict):
    """A rotation owns these secrets: it alone may change value and name, or delete."""

    def __init__(self, names: Iterable[str]) -> None:
        super().__init__(
            f"A rotation owns {listed(names)}: value and name cannot be changed here, nor can it be deleted"
        )


class PersonalByMachine(Conflict):
    """Only people have personal overrides."""

    def __init__(self) -> None:
        super().__init__("Personal secrets are for users: a machine identity can only use shared secrets")


class NothingToOverride(Conflict):
    """A personal override needs the shared secret that it overrides."""

    def __init__(self, names: Iterable[str], path: str) -> None:
        super().__init__(f"There is no shared secret in {path} to override: {listed(names)}")


class PersonalRename(Conflict):
    """A personal override has the name of what it overrides."""

    def __init__(self) -> None:
        super().__init__("A personal secret cannot be renamed: it has the name of the secret that it overrides")


class FolderExists(Conflict):
    """The folder is there already."""

    def __init__(self, path: str) -> None:
        super().__init__(f"The folder {path} already exists")


class FolderNotEmpty(Conflict):
    """Only a forced delete removes what is in a folder."""

    def __init__(self, path: str) -> None:
        super().__init__(f"The folder {path} is not empty: use forceDelete to delete it with all that is in it")


class RootFolder(Conflict):
    """The root folder belongs to its environment."""

    def __init__(self) -> None:
        super().__init__("The root folder of an environment cannot be deleted")


def listed(names: Iterable[str]) -> str:
    """Name them in a sentence, but not thousands of them."""
    names = list(names)
    text = ", ".join(f"'{name}'" for name in names[:MOST_NAMED])
    return f"{text} and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else text
