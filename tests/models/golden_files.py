"""What the makers of golden files share: safetensors files of them, and whether PyTorch still computes what is stored.

Importing it without PyTorch ends the program with 77, which ctest takes for a skipped test.
"""
import json
import struct
import sys

try:
    import torch
except ImportError:
    print("skipped: there is no PyTorch")
    sys.exit(77)

NAMES = {torch.int64: "I64", torch.float64: "F64", torch.float32: "F32"}  # in the order of a file's tensors


def write_safetensors(path, tensors):
    rank = list(NAMES).index
    header, values = {"__metadata__": {"format": "pt"}}, b""
    for key, t in sorted(tensors.items(), key=lambda item: (rank(item[1].dtype), item[0])):
        data = t.detach().contiguous().numpy().tobytes()
        header[key] = {"dtype": NAMES[t.dtype], "shape": list(t.shape),
                       "data_offsets": [len(values), len(values) + len(data)]}
        values += data
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + values)


def read_safetensors(path):
    data = path.read_bytes()
    size = int.from_bytes(data[:8], "little")
    types = {name: dtype for dtype, name in NAMES.items()}
    tensors = {}
    for name, entry in json.loads(data[8:8 + size]).items():
        if name != "__metadata__":
            begin, end = (8 + size + offset for offset in entry["data_offsets"])
            tensors[name] = torch.frombuffer(bytearray(data[begin:end]), dtype=types[entry["dtype"]]).view(entry["shape"])
    return tensors


def check(now, stored, what):
    """Ends with a message unless both hold the same names and, to 1e-11 of each tensor's largest value, numbers."""
    if now.keys() != stored.keys():
        sys.exit(f"{what}: names differ: {sorted(now.keys() ^ stored.keys())}")
    for name, values in now.items():
        difference = (values.detach() - stored[name]).abs().max().item()
        if not difference <= 1e-11 * max(1, stored[name].abs().max().item()):
            sys.exit(f"{what}, {name}: off by {difference}")


def check_config(config, path):
    """Ends with a message unless the file holds that configuration."""
    if json.loads(path.read_text()) != config:
        sys.exit(f"{path}: another configuration")
