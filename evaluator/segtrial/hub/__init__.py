"""The Hugging Face Hub: publishing that cannot lose or overwrite, and checking what is public."""

from segtrial.hub.draft import Wish
from segtrial.hub.front_matter import dataset_readme
from segtrial.hub.publish import Published, Tools, preview, publish
from segtrial.hub.remote import Remote, Sdk
from segtrial.hub.signing import check_signature, signer_from
from segtrial.hub.sources import source_of
from segtrial.hub.space_files import space_files
from segtrial.hub.verify import Verification, check_page, verify

__all__ = [
    "Published",
    "Remote",
    "Sdk",
    "Tools",
    "Verification",
    "Wish",
    "check_page",
    "check_signature",
    "dataset_readme",
    "preview",
    "publish",
    "signer_from",
    "source_of",
    "space_files",
    "verify",
]
