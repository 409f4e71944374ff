"""Any list of JSON is cut into its items, byte for byte."""

import json

from hypothesis import given
from hypothesis import strategies as st

from mmeval.model_backends.wire.replies.verbatim import (
    json_list,
    verbatim_items,
)

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=10,
)


@given(st.lists(VALUES), st.sampled_from([None, 1]), st.booleans())
def test_what_was_cut_out_makes_the_same_list(
    values: list[object], indent: int | None, is_ascii: bool
) -> None:
    text = json.dumps({"a": [values]}, indent=indent, ensure_ascii=is_ascii)
    items = verbatim_items(text, ("a", 0))
    assert json.loads(json_list(items).decode("utf-8", "surrogatepass")) == values
