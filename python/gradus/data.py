"""torch.utils.data: Dataset, TensorDataset, Subset, DataLoader, default_collate, random_split, with PyTorch's order of batches."""
from __future__ import annotations

import itertools
from typing import Any, Iterator

from . import _core
from ._core import Error, Tensor
from ._missing import missing
from ._tensor import tensor
from ._types import float64


def random_seed(generator: Any = None) -> int:
    """A whole number of 63 bits, two words of the stream: what PyTorch's DataLoader draws."""
    return int(_core.randint(-2**62, 2**62, (1,), generator=generator).item()) + 2**62


class Dataset:
    """What has `__getitem__(i)` and `__len__()`."""

    def __class_getitem__(cls, item: Any) -> Any:
        return cls

    def __getitem__(self, index: Any) -> Any:
        raise NotImplementedError(f"{type(self).__name__} must define __getitem__")


class TensorDataset(Dataset):
    """Item i is the tuple of row i of each tensor. Raises Error unless all have as many rows."""

    def __init__(self, *tensors: Tensor) -> None:
        sizes = [t.size(0) for t in tensors]
        if len(set(sizes)) != 1:
            raise _core.InputError(f"[TensorDataset] tensors must have as many rows, got {sizes}.")
        self.tensors = tensors

    def __getitem__(self, index: Any) -> Any:
        return tuple(t[index] for t in self.tensors)

    def __len__(self) -> int:
        return len(self.tensors[0])


class Subset(Dataset):
    """The items of a data set at some places."""

    def __init__(self, dataset: Any, indices: Any) -> None:
        self.dataset, self.indices = dataset, indices

    def __getitem__(self, index: Any) -> Any:
        return self.dataset[self.indices[index]]

    def __len__(self) -> int:
        return len(self.indices)


def random_split(dataset: Any, lengths: Any, generator: Any = None) -> list[Subset]:
    """Subsets of these lengths, of items in random order. Raises Error unless the lengths add up to that of the data set."""
    if all(isinstance(n, float) for n in lengths) and abs(sum(lengths) - 1) < 1e-6:  # shares; what rounding leaves goes one by one
        lengths = [int(share * len(dataset)) for share in lengths]
        left = len(dataset) - sum(lengths)
        lengths = [n + left // len(lengths) + (i < left % len(lengths)) for i, n in enumerate(lengths)]
    if sum(lengths) != len(dataset):
        raise _core.InputError(f"[random_split] lengths must add up to {len(dataset)}, got {list(lengths)}.")
    order = iter(_core.randperm(len(dataset), generator=generator).tolist())
    return [Subset(dataset, [next(order) for _ in range(n)]) for n in lengths]


def default_collate(batch: Any) -> Any:
    """A batch of items: tensors are stacked, numbers become a tensor, tuples, lists and dictionaries are batched by part."""
    first = batch[0]
    if isinstance(first, Tensor):
        return _core.stack(list(batch), 0)
    if isinstance(first, (bool, int, float)):
        return tensor(batch, dtype=float64 if isinstance(first, float) else None)
    if isinstance(first, dict):
        return {key: default_collate([item[key] for item in batch]) for key in first}
    if isinstance(first, (tuple, list)):
        parts = [default_collate(part) for part in zip(*batch, strict=True)]
        return type(first)(*parts) if hasattr(first, "_fields") else parts
    return _core.stack([tensor(item) for item in batch], 0) if hasattr(first, "__array_interface__") else batch


class DataLoader:
    """Batches of a data set. `shuffle` draws the order, of each pass anew, as PyTorch does: one seed of the default stream, from
    which another stream makes a permutation. Batches are made in this process, whatever num_workers is."""

    def __init__(self, dataset: Any, batch_size: int = 1, shuffle: bool = False, sampler: Any = None, num_workers: int = 0,
                 collate_fn: Any = None, pin_memory: bool = False, drop_last: bool = False, generator: Any = None, worker_init_fn: Any = None,
                 prefetch_factor: Any = None, persistent_workers: bool = False) -> None:
        if batch_size < 1 or num_workers < 0:
            raise _core.InputError(f"[DataLoader] batch_size must be at least 1 and num_workers at least 0, got {batch_size} and {num_workers}.")
        if sampler is not None and shuffle:
            raise _core.InputError("[DataLoader] a sampler has its own order, got shuffle=True.")
        self.dataset, self.batch_size, self.shuffle, self.drop_last = dataset, batch_size, shuffle, drop_last
        self.collate_fn, self.generator, self.sampler = collate_fn or default_collate, generator, sampler

    def __len__(self) -> int:
        n, size = len(self.dataset if self.sampler is None else self.sampler), self.batch_size
        return n // size if self.drop_last else -(-n // size)

    def _order(self) -> Iterator[int]:
        if self.sampler is not None or not self.shuffle:
            yield from range(len(self.dataset)) if self.sampler is None else self.sampler
            return
        stream = self.generator or _core.Generator(random_seed() % 2**32)
        yield from _core.randperm(len(self.dataset), generator=stream).tolist()
        _core.randperm(len(self.dataset), generator=stream)  # PyTorch draws it at the end of a pass and does not use it

    def __iter__(self) -> Iterator[Any]:
        random_seed(self.generator)  # of workers, in PyTorch
        return self._batches()

    def _batches(self) -> Iterator[Any]:
        order = self._order()
        while places := list(itertools.islice(order, self.batch_size)):
            if len(places) == self.batch_size or not self.drop_last:
                yield self.collate_fn([self.dataset[i] for i in places])


__getattr__ = missing("torch.utils.data", globals())
