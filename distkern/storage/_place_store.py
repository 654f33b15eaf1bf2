"""What zarr reads a store of objects through."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable
from typing import TYPE_CHECKING, Any

from zarr.abc.store import OffsetByteRequest, RangeByteRequest, Store, SuffixByteRequest

from distkern.storage.places import URLPlace, read_range

if TYPE_CHECKING:
    from zarr.abc.store import ByteRequest
    from zarr.core.buffer import Buffer, BufferPrototype


class PlaceStore(Store):
    """A zarr store to read from, over a folder of objects.

    zarr has one over fsspec; this one asks again when the network fails, as everything else here does.
    """

    supports_writes = False
    supports_deletes = False
    supports_listing = True

    def __init__(self, folder: URLPlace) -> None:
        super().__init__(read_only=True)
        self.folder = folder

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PlaceStore) and other.folder == self.folder

    def __str__(self) -> str:
        return str(self.folder)

    async def get(
        self, key: str, prototype: BufferPrototype, byte_range: ByteRequest | None = None
    ) -> Buffer | None:
        try:
            content = await asyncio.to_thread(_content, self.folder / key if key else self.folder, byte_range)
        except (FileNotFoundError, IsADirectoryError):
            return None
        return prototype.buffer.from_bytes(content)

    async def get_partial_values(
        self, prototype: BufferPrototype, key_ranges: Iterable[tuple[str, ByteRequest | None]]
    ) -> list[Buffer | None]:
        return [await self.get(key, prototype, byte_range) for key, byte_range in key_ranges]

    async def exists(self, key: str) -> bool:
        return await asyncio.to_thread((self.folder / key).is_file)

    async def set(self, key: str, value: Buffer) -> None:
        raise PermissionError(f"{self.folder} is open for reading")

    async def delete(self, key: str) -> None:
        raise PermissionError(f"{self.folder} is open for reading")

    async def list(self) -> AsyncIterator[str]:
        async for key in self.list_prefix(""):
            yield key

    async def list_prefix(self, prefix: str) -> AsyncIterator[str]:
        for name in [name async for name in self.list_dir(prefix)]:
            key = f"{prefix.rstrip('/')}/{name}".lstrip("/")
            if await self.exists(key):
                yield key
            else:
                async for inner in self.list_prefix(key):
                    yield inner

    async def list_dir(self, prefix: str) -> AsyncIterator[str]:
        folder = self.folder / prefix.strip("/") if prefix.strip("/") else self.folder
        for entry in await asyncio.to_thread(lambda: [*folder.iterdir()]):
            yield entry.name


def _content(place: URLPlace, byte_range: Any) -> bytes:
    if byte_range is None:
        return place.read_bytes()
    if isinstance(byte_range, RangeByteRequest):
        return read_range(place, byte_range.start, byte_range.end)
    if isinstance(byte_range, OffsetByteRequest):
        return read_range(place, byte_range.offset)
    assert isinstance(byte_range, SuffixByteRequest)
    return read_range(place, -byte_range.suffix)
