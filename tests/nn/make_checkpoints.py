#!/usr/bin/env python3
"""Writes golden/checkpoints: small files of PyTorch as others save them, and views.safetensors, what one holds.

    /usr/bin/python3 make_checkpoints.py    # needs PyTorch; the files in the repository came from 1.13

nano.pt is nanoGPT's ckpt.pt, of a compiled model; meta.pkl its character vocabulary; book.pth the state and the optimizer of the
book Build a Large Language Model (From Scratch); views.pt has tensors that share storages and are not contiguous; evil.pt and
evil.pkl would call os.system; old.pt has PyTorch's format from before 1.6; deflated.pt is views.pt in a compressed archive, protocol5.pt with a pickle of protocol 5.
The models have the weights of tests/models/golden/model.
"""
import collections
import io
import os
import pathlib
import pickle
import sys
import zipfile

import torch

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "models"))
from golden_files import read_safetensors, write_safetensors  # noqa: E402

FOLDER = HERE / "golden" / "checkpoints"


class Evil:
    def __reduce__(self):
        return os.system, ("touch evil",)


def nano():
    state = collections.OrderedDict()
    for name, values in read_safetensors(HERE.parent / "models/golden/model/model.safetensors").items():
        is_conv1d = name.endswith(("c_attn.weight", "c_proj.weight", "c_fc.weight"))
        state["_orig_mod.transformer." + name] = values.T.contiguous() if is_conv1d else values
    state["_orig_mod.lm_head.weight"] = state["_orig_mod.transformer.wte.weight"]
    state._metadata = collections.OrderedDict([("", {"version": 1})])
    arguments = {"n_layer": 2, "n_head": 2, "n_embd": 16, "block_size": 6, "bias": True, "vocab_size": 11, "dropout": 0.0}
    parameter = torch.nn.Parameter(torch.arange(4.0))
    optimizer = torch.optim.AdamW([parameter], lr=1e-3)
    parameter.sum().backward()
    optimizer.step()
    return {"model": state, "optimizer": optimizer.state_dict(), "model_args": arguments, "iter_num": 2000,
            "best_val_loss": torch.tensor(1.4697), "config": {"dataset": "shakespeare_char", "compile": True, "beta2": 0.99}}


def book():
    torch.manual_seed(3)
    pool = (torch.randn(64 * 256) * 0.05).half()  # that all matrices share keeps the file small

    def layer(rows, columns):
        return pool[:rows * columns].view(rows, columns)

    state = {"tok_emb.weight": layer(11, 64), "pos_emb.weight": layer(6, 64), "final_norm.scale": torch.ones(64),
             "final_norm.shift": torch.zeros(64), "out_head.weight": layer(11, 64)}
    block = "trf_blocks.0."
    for part in ("W_query", "W_key", "W_value", "out_proj"):
        state[block + f"att.{part}.weight"] = layer(64, 64)
    state.update({block + "att.out_proj.bias": torch.zeros(64), block + "att.mask": torch.triu(torch.ones(6, 6), 1),
                  block + "ff.layers.0.weight": layer(256, 64), block + "ff.layers.0.bias": torch.zeros(256),
                  block + "ff.layers.2.weight": layer(64, 256), block + "ff.layers.2.bias": torch.zeros(64)})
    for n in (1, 2):
        state.update({block + f"norm{n}.scale": torch.ones(64), block + f"norm{n}.shift": torch.zeros(64)})
    return {"model_state_dict": state, "optimizer_state_dict": {"state": {}}}


def views():
    base = torch.arange(24, dtype=torch.float32)
    matrix = base.view(4, 6)
    return {"base": base, "matrix": matrix, "transposed": matrix.T, "columns": matrix[:, 1:5:2], "row": matrix[2], "one": base[7],
            "cube": base.view(2, 3, 4).permute(2, 0, 1), "empty": base[3:3],
            "double": torch.tensor([0.1, -2.5], dtype=torch.float64), "half": torch.tensor([1.5, -0.25]).half(),
            "bf16": torch.tensor([1.5, -3.0]).bfloat16(), "long": torch.tensor([2 ** 40, -1]), "flags": torch.tensor([True, False]),
            "parameter": torch.nn.Parameter(torch.tensor([[1.0, 2.0]])), "nested": {"list": [torch.tensor([5.0]), 3, "x"]}}


def main():
    FOLDER.mkdir(parents=True, exist_ok=True)
    torch.save(nano(), FOLDER / "nano.pt")
    torch.save(book(), FOLDER / "book.pth")
    torch.save(views(), FOLDER / "views.pt")
    torch.save(views(), FOLDER / "protocol5.pt", pickle_protocol=5)
    torch.save(views(), FOLDER / "old.pt", _use_new_zipfile_serialization=False)
    torch.save({"model": Evil()}, FOLDER / "evil.pt")
    (FOLDER / "evil.pkl").write_bytes(pickle.dumps({"model": Evil()}))
    characters = sorted("\n !abcdefgh")
    (FOLDER / "meta.pkl").write_bytes(pickle.dumps({
        "vocab_size": len(characters), "itos": dict(enumerate(characters)), "stoi": {c: i for i, c in enumerate(characters)}}))
    with zipfile.ZipFile(FOLDER / "views.pt") as stored, zipfile.ZipFile(FOLDER / "deflated.pt", "w") as archive:
        for name in stored.namelist():
            archive.writestr(zipfile.ZipInfo(name), stored.read(name), zipfile.ZIP_DEFLATED)
    values = {"nested.list.0": torch.tensor([5.0])}
    for name, tensor in views().items():
        if name != "nested":
            values[name] = tensor.float() if tensor.dtype in (torch.float16, torch.bfloat16) else tensor
    values["flags"] = values["flags"].long()
    write_safetensors(FOLDER / "views.safetensors", values)


if __name__ == "__main__":
    main()
