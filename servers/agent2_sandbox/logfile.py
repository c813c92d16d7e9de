"""A log that never outgrows its limit: its beginning and its end are kept; standard library only."""

import os
from collections import deque

_HEAD_SHARE = 0.8


class CappedLog:
    """Keeps the first 80 % and the last 20 % of what is written to it, in a file that can be read meanwhile."""

    def __init__(self, path: str, limit_bytes: int) -> None:
        """Open the file anew."""
        self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o644)
        self._head_bytes = int(limit_bytes * _HEAD_SHARE)
        self._tail_bytes = limit_bytes - self._head_bytes
        self._in_head = 0
        self._tail: deque[bytes] = deque()
        self._in_tail = 0
        self.dropped_bytes = 0
        self.total_bytes = 0

    def write(self, data: bytes) -> None:
        """Take in some output."""
        self.total_bytes += len(data)
        room = self._head_bytes - self._in_head
        if room > 0:
            os.pwrite(self._descriptor, data[:room], self._in_head)
            self._in_head += len(data[:room])
            data = data[room:]
        if data:
            self._tail.append(data)
            self._in_tail += len(data)
            while self._in_tail - len(self._tail[0]) >= self._tail_bytes:
                first = self._tail.popleft()
                self._in_tail -= len(first)
                self.dropped_bytes += len(first)

    def flush(self) -> None:
        """Write the kept end behind the kept beginning."""
        if not self._tail:
            return
        end = b"".join(self._tail)
        surplus = max(0, len(end) - self._tail_bytes)
        dropped = self.dropped_bytes + surplus
        if dropped:
            end = f"\n[{dropped} bytes of output dropped by the log cap]\n".encode() + end[surplus:]
        os.pwrite(self._descriptor, end, self._head_bytes)
        os.ftruncate(self._descriptor, self._head_bytes + len(end))

    def recent(self, limit_bytes: int = 65536) -> str:
        """Give the end of what was written."""
        text = b"".join(self._tail)[-limit_bytes:]
        missing = limit_bytes - len(text)
        if missing > 0 and self._in_head:
            start = max(0, self._in_head - missing)
            text = os.pread(self._descriptor, self._in_head - start, start) + text
        return text.decode(errors="replace")
