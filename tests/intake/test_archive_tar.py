"""Honest tar archives are read as the standard library reads them."""

from __future__ import annotations

import io
import tarfile

import pytest
from hypothesis import given
from hypothesis import strategies as st

from segtrial.container.archive_tar import read_members
from segtrial.errors import SubmissionError

part = st.text("abcdefghijklmnop.é ", min_size=1, max_size=60).filter(lambda p: set(p) != {"."})
names = st.lists(part, min_size=1, max_size=6).map("/".join)
FORMATS = {"gnu": tarfile.GNU_FORMAT, "pax": tarfile.PAX_FORMAT}


@pytest.mark.parametrize("form", FORMATS)
@given(files=st.dictionaries(names, st.binary(max_size=2000), max_size=6))
def test_names_and_contents_are_those_that_were_written(form: str, files: dict[str, bytes]) -> None:
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w", format=FORMATS[form]) as tar:
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size, member.mtime = len(content), 1.5
            tar.addfile(member, io.BytesIO(content))
    stream.seek(0)
    assert {member.name: content.read() for member, content in read_members(stream)} == files


@given(data=st.binary(max_size=3000))
def test_any_bytes_are_members_or_a_refusal(data: bytes) -> None:
    try:
        for _ in read_members(io.BytesIO(data)):
            pass
    except SubmissionError:
        return


def test_links_are_told_with_their_targets() -> None:
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w") as tar:
        for kind in (tarfile.SYMTYPE, tarfile.LNKTYPE):
            link = tarfile.TarInfo(f"link-{kind.decode()}")
            link.type, link.linkname = kind, "target/" * 40
            tar.addfile(link)
    stream.seek(0)
    found = [(member.kind, member.target) for member, _ in read_members(stream)]
    assert found == [("symlink", "target/" * 40), ("link", "target/" * 40)]
