"""What every handler here gets, and the texts that only these routes have."""

from typing import Annotated, TypeAlias, TypeVar

from pydantic import BaseModel, GetPydanticSchema, StringConstraints
from pydantic_core import core_schema

from strongroom_common.http.endpoints import Call as BaseCall
from strongroom_common.http.models import NoBody, NoQuery
from strongroom_common.kernel.secret import Secret
from strongroom_identity.usecases.context import IdentityContext

B = TypeVar("B", bound=BaseModel)
Q = TypeVar("Q", bound=BaseModel)

Call: TypeAlias = BaseCall[IdentityContext, B, Q]
BareCall: TypeAlias = BaseCall[IdentityContext, NoBody, NoQuery]
"""A call with neither body nor query."""

LONGEST_SECRET = 8192

SecretText = Annotated[
    Secret,
    GetPydanticSchema(
        lambda _source, _handler: core_schema.no_info_after_validator_function(
            Secret, core_schema.str_schema(strip_whitespace=True, min_length=1, max_length=LONGEST_SECRET)
        )
    ),
]
"""A secret in a request: it cannot be printed by whoever holds the body."""

Text = Annotated[str, StringConstraints(strip_whitespace=True, max_length=1024)]
"""A text that is only compared."""
