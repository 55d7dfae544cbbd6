"""Canonical bytes and the Merkle tree of the audit log."""

import hashlib
import json
from decimal import Decimal

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from strongroom_identity.domain import audit_chain
from strongroom_identity.domain.audit_chain import Frontier, canonical

TEXTS = st.text(st.characters(exclude_categories=("Cs",)), max_size=12)
NUMBERS = st.integers(-(2**63), 2**64 - 1) | st.floats(allow_nan=False, allow_infinity=False)
VALUES = st.recursive(
    st.none() | st.booleans() | NUMBERS | TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=12,
)
DOCUMENTS = st.dictionaries(TEXTS, VALUES, max_size=5)


def plain_root(leaves: list[bytes]) -> bytes:
    """RFC 6962, 2.1, word for word."""
    if not leaves:
        return hashlib.sha256().digest()
    if len(leaves) == 1:
        return leaves[0]
    split = 1
    while split * 2 < len(leaves):
        split *= 2
    return hashlib.sha256(b"\x01" + plain_root(leaves[:split]) + plain_root(leaves[split:])).digest()


@given(DOCUMENTS)
def test_a_document_has_the_same_bytes_after_it_was_written_and_read(document) -> None:
    written = canonical(document)
    assert canonical(orjson.loads(written)) == written
    assert canonical(orjson.loads(orjson.dumps(document))) == written
    assert canonical(dict(reversed(document.items()))) == written


@given(DOCUMENTS, DOCUMENTS)
def test_two_documents_have_the_same_bytes_only_if_they_are_equal(left, right) -> None:
    # JSON knows no difference between 1 and 1.0, and a float is what is written of it. It knows one between 1 and
    # true, which Python's == does not.
    def typed(value):
        if isinstance(value, dict):
            return {name: typed(one) for name, one in value.items()}
        if isinstance(value, list):
            return [typed(one) for one in value]
        if isinstance(value, float) and value.is_integer():
            value = int(Decimal(repr(value)))
        return (isinstance(value, bool), value)

    assert (canonical(left) == canonical(right)) == (typed(left) == typed(right))


def test_canonical_bytes_are_sorted_and_without_spaces() -> None:
    document = {"b": [1.0, -0.0, 1e3, 0.5, None, True], "a": {"z": "ü\n", "y": 2**64 - 1}}
    assert canonical(document) == '{"a":{"y":18446744073709551615,"z":"ü\\n"},"b":[1,0,1000,0.5,null,true]}'.encode()
    assert json.loads(canonical(document)) == document


@given(st.lists(st.binary(min_size=32, max_size=32), max_size=70))
def test_the_growing_tree_has_the_root_of_rfc_6962(leaves) -> None:
    tree = Frontier()
    for leaf in leaves:
        tree.add(leaf)
    assert tree.root() == plain_root(leaves)
    assert tree.count == len(leaves)


@given(st.lists(st.binary(min_size=32, max_size=32), max_size=40), st.integers(0, 40))
def test_a_tree_grows_on_from_its_frontier(leaves, cut) -> None:
    whole, first = Frontier(), Frontier()
    for leaf in leaves:
        whole.add(leaf)
    for leaf in leaves[:cut]:
        first.add(leaf)
    second = Frontier.of_bytes(first.count, first.to_bytes())
    for leaf in leaves[cut:]:
        second.add(leaf)
    assert second.root() == whole.root()


@pytest.mark.parametrize(("count", "raw"), [(1, b""), (0, bytes(32)), (3, bytes(32)), (1, bytes(31)), (2, bytes(33))])
def test_a_frontier_of_another_size_is_refused(count, raw) -> None:
    with pytest.raises(ValueError, match="frontier"):
        Frontier.of_bytes(count, raw)


def test_a_link_depends_on_the_key_on_what_went_before_and_on_the_record() -> None:
    macs = {
        audit_chain.link(key, previous, covered)
        for key in (b"k" * 32, b"l" * 32)
        for previous in (audit_chain.START, b"p" * 32)
        for covered in (b"{}", b"[]")
    }
    assert len(macs) == 8
