"""torch.utils.data: Dataset, TensorDataset, Subset, DataLoader, default_collate, random_split, with PyTorch's order of batches."""
import gradus.torch as torch


class Dataset:
    """What has `__getitem__(i)` and `__len__()`."""

    def __getitem__(self, index):
        raise NotImplementedError(f"{type(self).__name__} must define __getitem__")


class TensorDataset(Dataset):
    """Item i is the tuple of row i of each tensor. Throws Error unless all have as many rows."""

    def __init__(self, *tensors):
        sizes = [t.size(0) for t in tensors]
        if len(set(sizes)) != 1:
            raise torch.Error(f"[TensorDataset] tensors must have as many rows, got {sizes}.")
        self.tensors = tensors

    def __getitem__(self, index):
        return tuple(t[index] for t in self.tensors)

    def __len__(self):
        return self.tensors[0].size(0)


class Subset(Dataset):
    """The items of a data set at some places."""

    def __init__(self, dataset, indices):
        self.dataset, self.indices = dataset, indices

    def __getitem__(self, index):
        return self.dataset[self.indices[index]]

    def __len__(self):
        return len(self.indices)


def random_split(dataset, lengths, generator=None):
    """Subsets of these lengths, of items in random order. Throws Error unless the lengths add up to that of the data set."""
    if sum(lengths) != len(dataset):
        raise torch.Error(f"[random_split] lengths must add up to {len(dataset)}, got {list(lengths)}.")
    order, parts = torch.randperm(len(dataset), generator=generator).tolist(), []
    for n in lengths:
        parts.append(Subset(dataset, order[:n]))
        order = order[n:]
    return parts


def default_collate(batch):
    """A batch of items: tensors are stacked, numbers become a tensor, tuples, lists and dictionaries are batched by part."""
    first = batch[0]
    if isinstance(first, torch.Tensor):
        return torch.stack(list(batch), 0)
    if isinstance(first, (bool, int, float)):
        return torch.tensor(batch, dtype=torch.float64) if isinstance(first, float) else torch.tensor(batch)
    if isinstance(first, dict):
        return {key: default_collate([item[key] for item in batch]) for key in first}
    if isinstance(first, (tuple, list)):
        return [default_collate(part) for part in zip(*batch, strict=True)]
    return torch.stack([torch.tensor(item) for item in batch], 0) if hasattr(first, "__array_interface__") else list(batch)


class DataLoader:
    """Batches of a data set. `shuffle` draws the order, of each pass anew, as PyTorch does: one seed of the default stream, from
    which another stream makes a permutation. Batches are made in this process, whatever num_workers is."""

    def __init__(self, dataset, batch_size=1, shuffle=False, num_workers=0, collate_fn=None, drop_last=False, generator=None,
                 pin_memory=False, sampler=None):
        if batch_size < 1 or num_workers < 0:
            raise torch.Error(f"[DataLoader] batch_size must be at least 1 and num_workers at least 0, got {batch_size} and {num_workers}.")
        if sampler is not None and shuffle:
            raise torch.Error("[DataLoader] a sampler has its own order, got shuffle=True.")
        self.dataset, self.batch_size, self.shuffle, self.drop_last = dataset, batch_size, shuffle, drop_last
        self.collate_fn, self.generator, self.sampler = collate_fn or default_collate, generator, sampler
        self.num_workers, self.pin_memory = num_workers, pin_memory

    def __len__(self):
        n, size = len(self.dataset if self.sampler is None else self.sampler), self.batch_size
        return n // size if self.drop_last else -(-n // size)

    def order(self):
        if self.sampler is not None:
            return list(self.sampler)
        if not self.shuffle:
            return list(range(len(self.dataset)))
        stream = self.generator or torch.Generator().manual_seed(torch.random_seed())
        return torch.randperm(len(self.dataset), generator=stream).tolist()

    def __iter__(self):
        torch.random_seed(self.generator)  # of workers, in PyTorch
        order = self.order()
        for begin in range(0, len(self) * self.batch_size, self.batch_size):
            yield self.collate_fn([self.dataset[i] for i in order[begin:begin + self.batch_size]])
