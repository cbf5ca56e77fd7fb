"""What is kept: a SQLite journal beside content-addressed files, in one folder.

``journal.sqlite``  every attempt, score, case and entry; the only place where a state is kept
``blobs/``          outputs and image archives by SHA-256; written once, renamed into place
``owners/``         one lock file per running process, held by flock for its lifetime
``tmp/<owner>/``    work in progress; removed when its owner is dead
``secret``          32 random bytes behind every opaque id and pseudonym

A row is committed only after the file it points to is on disk, so killing the process at any
instant loses the attempts in flight and nothing else. Alternatives that were weighed: one JSON
file per attempt is readable, but a case list, claims and entries then need a second mechanism to
stay consistent; a server database is one more thing to install on a GPU host.
"""

from segtrial.store.store import Store, open_store

__all__ = ["Store", "open_store"]
