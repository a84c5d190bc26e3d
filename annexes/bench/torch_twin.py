"""The PyTorch twin of `gradus bench`, which compare.py starts: the same decoder, weights and batches.

    torch_twin.py WORKLOAD THREADS WEIGHTS

WORKLOAD is "task architecture layers heads width block batch vocabulary dropout dtype", WEIGHTS the file of `bench --save`.
Prints the losses of the first batch in evaluation mode and, without dropout, of two training steps (and the tokens that were
generated). Then answers each line, "run SECONDS STEPS" or "memory", with a line of JSON. Training in bfloat16 is
torch.autocast's; generation from bfloat16 weights computes in float32, which is many times as fast as PyTorch's products of one
row in bfloat16.
Each form is the fastest that PyTorch has on a CPU: one product for q, k and v; the mask added by the product that makes
the scores (or the fused attention, where there is one); AdamW tensor by tensor; Muon for all matrices of a shape at once, in
bfloat16 where that is faster; gemv for one-row products; batches cut beforehand.
"""

import ctypes
import json
import math
import statistics
import struct
import sys
import time

import torch
import torch.nn.functional as F

WARM_UP_SECONDS = 0.05
MUON_STEPS = ((8.3837, -24.7659, 18.3571), (4.0083, -2.9277, 0.5428), (3.4970, -2.5733, 0.5045), (2.2643, -1.6502, 0.3839))
FUSED_ATTENTION = getattr(F, "scaled_dot_product_attention", None)


def load(path):
    kinds = {"F32": torch.float32, "I64": torch.int64, "BF16": torch.bfloat16}
    with open(path, "rb") as file:
        (size,) = struct.unpack("<Q", file.read(8))
        entries = json.loads(file.read(size))
        start = file.tell()
        tensors = {}
        for name, entry in entries.items():
            if name == "__metadata__":
                continue
            begin, end = entry["data_offsets"]
            file.seek(start + begin)
            values = torch.frombuffer(bytearray(file.read(end - begin)), dtype=kinds[entry["dtype"]])
            values = values.reshape(entry["shape"]).clone()
            tensors[name] = values.float() if values.is_floating_point() else values
        return tensors


class Decoder:
    def __init__(self, layers, heads, width, block, dropout, weights):
        self.heads, self.size, self.dropout = heads, width // heads, dropout
        self.block, self.scale = block, 1.0 / math.sqrt(width // heads)
        self.weights = weights
        self.wte, self.wpe = weights["wte.weight"], weights["wpe.weight"]
        self.layers = [self.part(f"h.{i}.") for i in range(layers)]
        self.last = self.pair("ln_f")
        self.mask = torch.full((1, block, block), float("-inf")).triu_(1)
        self.training = False

    def pair(self, name):
        return self.weights[name + ".weight"], self.weights[name + ".bias"]

    def part(self, prefix):
        names = ("ln_1", "attn.c_attn", "attn.c_proj", "ln_2", "mlp.c_fc", "mlp.c_proj")
        return [self.pair(prefix + name) for name in names]

    def norm(self, x, pair):
        return F.layer_norm(x, x.shape[-1:], *pair)

    def drop(self, x):
        return F.dropout(x, self.dropout) if self.training and self.dropout else x

    def attend(self, qkv):
        return self.mix(qkv.view(qkv.shape[0], qkv.shape[1], 3, self.heads, self.size).permute(2, 0, 3, 1, 4))

    def mix(self, parts):
        """Attention of q, k and v, (3, B, nh, T, hs)."""
        batch, length, width = parts.shape[1], parts.shape[3], self.heads * self.size
        if FUSED_ATTENTION:
            p = self.dropout if self.training else 0.0
            y = FUSED_ATTENTION(*parts.unbind(0), dropout_p=p, is_causal=True)
            return y.transpose(1, 2).reshape(batch, length, width)
        q, k, v = parts.reshape(3, batch * self.heads, length, self.size).unbind(0)
        scores = torch.baddbmm(self.mask[:, :length, :length], q, k.transpose(1, 2), alpha=self.scale)
        weights = self.drop(torch.softmax(scores, -1))
        y = torch.bmm(weights, v).view(batch, self.heads, length, self.size)
        return y.transpose(1, 2).reshape(batch, length, width)

    def loss(self, x, y):
        h = self.drop(F.embedding(x, self.wte) + self.wpe[: x.shape[1]])
        for ln_1, qkv, projection, ln_2, up, down in self.layers:
            h = h + self.drop(F.linear(self.attend(F.linear(self.norm(h, ln_1), *qkv)), *projection))
            wide = F.gelu(F.linear(self.norm(h, ln_2), *up), approximate="tanh")
            h = h + self.drop(F.linear(wide, *down))
        logits = F.linear(self.norm(h, self.last), self.wte)
        return F.cross_entropy(logits.view(-1, logits.shape[-1]), y.reshape(-1))

    def generate(self):
        """As many tokens as the block is long, from token 0, each the likeliest after those before it."""
        keys = torch.empty(len(self.layers), self.heads, self.block, self.size)
        values = torch.empty_like(keys)
        tokens, token = [], 0
        for at in range(self.block):
            h = self.wte[token] + self.wpe[at]
            for i, (ln_1, qkv, projection, ln_2, up, down) in enumerate(self.layers):
                row = torch.addmv(qkv[1], qkv[0], self.norm(h, ln_1)).view(3, self.heads, self.size)
                keys[i, :, at], values[i, :, at] = row[1], row[2]
                scores = torch.bmm(keys[i, :, : at + 1], row[0].unsqueeze(2)).squeeze(2)
                weights = torch.softmax(scores * self.scale, -1)
                mixed = torch.bmm(weights.unsqueeze(1), values[i, :, : at + 1]).view(-1)
                h = h + torch.addmv(projection[1], projection[0], mixed)
                wide = F.gelu(torch.addmv(up[1], up[0], self.norm(h, ln_2)), approximate="tanh")
                h = h + torch.addmv(down[1], down[0], wide)
            token = int(torch.mv(self.wte, self.norm(h, self.last)).argmax())
            tokens.append(token)
        return tokens


class Llama(Decoder):
    """With norms of queries and keys. The weights of q, k and v are one tensor, and those of gate and up."""

    def __init__(self, layers, heads, width, block, dropout, weights):
        self.heads, self.size, self.dropout, self.block = heads, width // heads, dropout, block
        self.scale = 1.0 / math.sqrt(self.size)
        self.wte, self.last = weights["model.embed_tokens.weight"], weights["model.norm.weight"]
        self.weights, self.layers = {"wte": self.wte, "last": self.last}, []
        for i in range(layers):
            part = {name.split(".", 3)[3][: -len(".weight")]: value for name, value in weights.items() if f".layers.{i}." in name}
            part["qkv"] = torch.cat([part.pop(f"self_attn.{name}_proj") for name in "qkv"])
            part["gate_up"] = torch.cat([part.pop(f"mlp.{name}_proj") for name in ("gate", "up")])
            self.layers.append(part)
            self.weights.update((f"{i}.{name}", value) for name, value in part.items())
        self.mask = torch.full((1, block, block), float("-inf")).triu_(1)
        angles = torch.outer(torch.arange(block), 10000.0 ** (-torch.arange(0, self.size, 2) / self.size)).repeat(1, 2)
        self.cos, self.sin = angles.cos(), angles.sin()
        self.training = False

    def matrices(self):
        """The tensors that Muon updates, and the number of matrices in each."""
        counts = {"qkv": 3, "gate_up": 2, "self_attn.o_proj": 1, "mlp.down_proj": 1}
        return [(part[name], count) for part in self.layers for name, count in counts.items()]

    def norm(self, x, weight):
        return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + 1e-5) * weight

    def rotate(self, x):
        half = self.size // 2
        return x * self.cos[: x.shape[-2]] + torch.cat((-x[..., half:], x[..., :half]), -1) * self.sin[: x.shape[-2]]

    def loss(self, x, y):
        h = self.drop(F.embedding(x, self.wte))
        for part in self.layers:
            qkv = F.linear(self.norm(h, part["input_layernorm"]), part["qkv"])
            q, k, v = qkv.view(*x.shape, 3, self.heads, self.size).permute(2, 0, 3, 1, 4).float().unbind(0)
            q, k = (self.rotate(self.norm(each, part[f"self_attn.{n}_norm"])) for n, each in (("q", q), ("k", k)))
            h = h + self.drop(F.linear(self.mix(torch.stack((q, k, v))), part["self_attn.o_proj"]))
            gate, up = F.linear(self.norm(h, part["post_attention_layernorm"]), part["gate_up"]).chunk(2, -1)
            h = h + self.drop(F.linear(F.silu(gate) * up, part["mlp.down_proj"]))
        logits = F.linear(self.norm(h, self.last), self.wte)
        return F.cross_entropy(logits.view(-1, logits.shape[-1]), y.reshape(-1))


class Muon:
    """Of gradus's default recipe: momentum 0.95, learning rate 5e-3, weight decay 0.1, updates of AdamW's size."""

    def __init__(self, matrices):
        self.lr, self.groups = 5e-3, {}
        for tensor, count in matrices:
            for each in tensor.detach().chunk(count):
                self.groups.setdefault(each.shape, []).append([each, tensor, len(tensor) // count])
        for shape, members in self.groups.items():
            first = {}
            for member in members:  # the first row of each in its tensor
                member.append(first.setdefault(id(member[1]), 0))
                first[id(member[1])] += member[2]
        self.momenta = {shape: torch.zeros(len(members), *shape) for shape, members in self.groups.items()}
        self.dtype = min((torch.float32, torch.bfloat16), key=self.seconds) if torch.is_autocast_cpu_enabled() else torch.float32

    def seconds(self, dtype):
        probe = torch.ones(next(iter(self.momenta.values())).shape)
        self.dtype = dtype
        return min(take_turn(lambda: self.orthogonalized(probe), 0.1, 10))

    def orthogonalized(self, x):
        tall = x.shape[1] > x.shape[2]
        x = (x / (x.norm(dim=(1, 2), keepdim=True) + 1e-7)).to(self.dtype)
        x = x.mT if tall else x
        for a, b, c in MUON_STEPS:
            squares = torch.bmm(x, x.mT)
            x = torch.baddbmm(x, torch.baddbmm(squares, squares, squares, beta=b, alpha=c), x, beta=a)
        return (x.mT if tall else x).float()

    @torch.no_grad()
    def step(self):
        with torch.autocast("cpu", enabled=False):
            for shape, members in self.groups.items():
                gradients = torch.stack([tensor.grad[first : first + rows] for _, tensor, rows, first in members])
                momenta = self.momenta[shape].mul_(0.95).add_(gradients)
                directions = self.orthogonalized(gradients.add_(momenta, alpha=0.95))
                for (matrix, *_), direction in zip(members, directions):
                    matrix.mul_(1 - self.lr * 0.1).add_(direction, alpha=-self.lr * 0.2 * math.sqrt(max(shape)))


class Training:
    def __init__(self, model, batches):
        self.model, self.batches, self.next = model, batches, 0
        model.training = True
        self.parameters = [model.weights[name].requires_grad_() for name in sorted(model.weights)]
        matrices = model.matrices() if isinstance(model, Llama) else []
        self.muon = Muon(matrices) if matrices else None
        of_muon = {id(tensor) for tensor, _ in matrices}
        decayed = [p for p in self.parameters if p.dim() > 1 and id(p) not in of_muon]
        others = [p for p in self.parameters if p.dim() < 2]
        groups = [{"params": decayed, "weight_decay": 0.1}, {"params": others, "weight_decay": 0.0}]
        lr, beta2 = (5e-3, 0.99) if matrices else (3e-4, 0.95)
        self.optimizer = torch.optim.AdamW(groups, lr=lr, betas=(0.9, beta2), eps=1e-8, foreach=False)

    def set_rate(self, lr):
        self.muon.lr = lr
        for group in self.optimizer.param_groups:
            group["lr"] = lr

    def step(self):
        x, y = self.batches[self.next % len(self.batches)]
        self.next += 1
        loss = self.model.loss(x, y)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.parameters, 1.0)
        self.optimizer.step()
        if self.muon:
            self.muon.step()
        for parameter in self.parameters:
            parameter.grad = None
        return loss.item()


def take_turn(step, seconds, steps):
    warm, start = 0, time.perf_counter()
    while not warm or (warm < steps // 10 and time.perf_counter() - start < min(0.1 * seconds, WARM_UP_SECONDS)):
        step()
        warm += 1
    ms, start = [], time.perf_counter()
    while not ms or (len(ms) < steps and time.perf_counter() - start < seconds):
        before = time.perf_counter()
        step()
        ms.append(1e3 * (time.perf_counter() - before))
    return ms


def blas_libraries():
    """OpenBLAS as PyTorch has loaded it, if it has."""
    with open("/proc/self/maps") as maps:
        paths = {line.split()[-1] for line in maps if "blas" in line}
    libraries = [ctypes.CDLL(path) for path in paths if path.startswith("/")]
    return [library for library in libraries if hasattr(library, "openblas_set_num_threads")]


def use_fastest_threads(step, threads):
    """PyTorch's threads and OpenBLAS's may wait for the same cores: both, or those of one alone, as a few steps tell."""
    libraries = blas_libraries()
    if threads == 1 or not libraries:
        return

    def use(own, blas):
        torch.set_num_threads(own)
        for library in libraries:
            library.openblas_set_num_threads(blas)

    ms = {}
    for setting in ((threads, threads), (1, threads), (threads, 1)):
        use(*setting)
        ms[setting] = min(take_turn(step, 0.3, 10))
    use(*min(ms, key=ms.get))


def reset_peak_memory():
    try:
        with open("/proc/self/clear_refs", "w") as file:
            file.write("5")
    except OSError:
        pass


def peak_mib():
    with open("/proc/self/status") as file:
        for line in file:
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) / 1024


def say(**answer):
    print(json.dumps(answer), flush=True)


def main():
    task, architecture, *sizes, dropout, dtype = sys.argv[1].split()
    layers, heads, width, block, _, _ = map(int, sizes)
    threads = int(sys.argv[2])
    torch.set_num_threads(threads)
    torch.manual_seed(1)
    weights = load(sys.argv[3])
    tokens = weights.pop("tokens")
    batches = [(b[:, :-1].contiguous(), b[:, 1:].contiguous()) for b in tokens]
    model = (Llama if architecture == "llama" else Decoder)(layers, heads, width, block, float(dropout), weights)

    reset_peak_memory()

    at = 0

    @torch.no_grad()
    def forward():
        nonlocal at
        at += 1
        return model.loss(*batches[(at - 1) % len(batches)]).item()

    # Weights in bfloat16 are computed with in float32; products in bfloat16 are autocast's.
    rounded = dtype == "bfloat16" and task != "generate"
    with torch.autocast("cpu", torch.bfloat16, enabled=rounded, cache_enabled=False):
        run(task, model, batches, forward, block, threads)


def run(task, model, batches, forward, block, threads):
    share = 1
    losses, step = [forward()], forward
    if task == "generate":
        share, step = block, torch.no_grad()(model.generate)
        say(losses=losses, tokens=step())
    else:
        if task == "train":
            step = Training(model, batches).step
            losses += [step(), step()]
        say(losses=losses[:1] if model.dropout else losses)

    use_fastest_threads(step, threads)
    for line in sys.stdin:
        command, *numbers = line.split()
        if command == "run":
            ms = [t / share for t in take_turn(step, float(numbers[0]), int(numbers[1]))]
            say(ms_median=statistics.median(ms), ms_min=min(ms), steps=len(ms))
        elif command == "memory":
            say(peak_mib=peak_mib())


if __name__ == "__main__":
    main()
