"""Both ends of a stream, in bounded memory."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from segtrial.container.bounded_log import first_and_last

SIZES = st.integers(1, 20)


@given(chunks=st.lists(st.binary(max_size=30)), head=SIZES, tail=SIZES)
def test_the_ends_are_the_streams_own(chunks: list[bytes], head: int, tail: int) -> None:
    whole = b"".join(chunks)

    log = first_and_last(chunks, head_bytes=head, tail_bytes=tail)

    assert log.kept_bytes == len(whole)
    assert log.head == whole[:head]
    assert log.tail == whole[head:][-tail:]
