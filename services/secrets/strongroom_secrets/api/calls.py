"""What a handler of this service gets."""

from typing import TypeVar

from pydantic import BaseModel

from strongroom_common.http.endpoints import Call as BaseCall
from strongroom_secrets.usecases.context import SecretsContext

B = TypeVar("B", bound=BaseModel)
Q = TypeVar("Q", bound=BaseModel)

Call = BaseCall[SecretsContext, B, Q]
