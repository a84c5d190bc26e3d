"""The decoder that lies beside this file, in PyTorch: GPT-2's shape, Llama's, or Qwen3's.

    from model import load
    model = load()
    logits = model(torch.tensor([[1, 2, 3]]))          # (B, T) -> (B, T, V)

It needs PyTorch 1.13 or later, and nothing else. Parameters have Hugging Face's names.
"""

import json
import math
import pathlib
import struct

import torch
from torch import nn
from torch.nn import functional as F

HERE = pathlib.Path(__file__).parent


class LayerNorm(nn.LayerNorm):
    def __init__(self, width, config):
        super().__init__(width, eps=config["layer_norm_epsilon"])


class RMSNorm(nn.Module):
    def __init__(self, width, config):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))
        self.eps = config["rms_norm_eps"]

    def forward(self, x):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps) * self.weight


class Conv1D(nn.Module):
    """A linear layer whose matrix is stored (in, out), as GPT-2's are."""

    def __init__(self, n_in, n_out):
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(n_in, n_out))
        self.bias = nn.Parameter(torch.zeros(n_out))

    def forward(self, x):
        return x @ self.weight + self.bias


def attend(q, k, v):
    """Causal attention. (B, T, heads, hs) each, of k and v perhaps fewer heads -> (B, T, C)"""
    q, k, v = (x.transpose(1, 2) for x in (q, k, v))
    k, v = (x.repeat_interleave(q.size(1) // x.size(1), dim=1) for x in (k, v))
    scores = q @ k.transpose(-2, -1) / math.sqrt(q.size(-1))
    later = torch.ones(q.size(2), q.size(2), dtype=torch.bool, device=q.device).triu(1)
    return (scores.masked_fill(later, -math.inf).softmax(-1) @ v).transpose(1, 2).flatten(2)


class GPT2Attention(nn.Module):
    def __init__(self, config):
        super().__init__()
        width = config["n_embd"]
        self.heads = config["n_head"]
        self.c_attn, self.c_proj = Conv1D(width, 3 * width), Conv1D(width, width)

    def forward(self, x):
        q, k, v = (y.unflatten(-1, (self.heads, -1)) for y in self.c_attn(x).chunk(3, dim=-1))
        return self.c_proj(attend(q, k, v))


class GPT2MLP(nn.Module):
    def __init__(self, config):
        super().__init__()
        width = config["n_embd"]
        self.c_fc, self.c_proj = Conv1D(width, 4 * width), Conv1D(4 * width, width)

    def forward(self, x):
        return self.c_proj(F.gelu(self.c_fc(x), approximate="tanh"))


class GPT2Block(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.ln_1, self.attn = LayerNorm(config["n_embd"], config), GPT2Attention(config)
        self.ln_2, self.mlp = LayerNorm(config["n_embd"], config), GPT2MLP(config)

    def forward(self, x):
        x = x + self.attn(self.ln_1(x))
        return x + self.mlp(self.ln_2(x))


class GPT2(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.block_size = config["n_positions"]
        self.wte = nn.Embedding(config["vocab_size"], config["n_embd"])
        self.wpe = nn.Embedding(config["n_positions"], config["n_embd"])
        self.h = nn.ModuleList(GPT2Block(config) for _ in range(config["n_layer"]))
        self.ln_f = LayerNorm(config["n_embd"], config)
        if not config.get("tie_word_embeddings", True):
            self.lm_head = nn.Linear(config["n_embd"], config["vocab_size"], bias=False)

    def forward(self, tokens):
        x = self.wte(tokens) + self.wpe.weight[: tokens.size(1)]
        for block in self.h:
            x = block(x)
        x = self.ln_f(x)
        return self.lm_head(x) if hasattr(self, "lm_head") else x @ self.wte.weight.T


def turn(x, theta):
    """Rotary positions: features i and i + hs / 2 turned by angles that grow with the position. (B, T, heads, hs)"""
    half = x.size(-1) // 2
    frequencies = theta ** (torch.arange(half, dtype=torch.float64, device=x.device) / -half)
    angles = torch.arange(x.size(1), device=x.device)[:, None, None] * frequencies
    cosine, sine = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
    a, b = x[..., :half], x[..., half:]
    return torch.cat([a * cosine - b * sine, b * cosine + a * sine], dim=-1)


class LlamaAttention(nn.Module):
    def __init__(self, config):
        super().__init__()
        width, self.size, self.theta = config["hidden_size"], config["head_dim"], config["rope_theta"]
        shared = config["num_key_value_heads"] * self.size
        self.q_proj, self.o_proj = nn.Linear(width, width, bias=False), nn.Linear(width, width, bias=False)
        self.k_proj, self.v_proj = nn.Linear(width, shared, bias=False), nn.Linear(width, shared, bias=False)
        normed = config["model_type"] == "qwen3"
        self.q_norm = RMSNorm(self.size, config) if normed else nn.Identity()
        self.k_norm = RMSNorm(self.size, config) if normed else nn.Identity()

    def forward(self, x):
        q, k, v = (y.unflatten(-1, (-1, self.size)) for y in (self.q_proj(x), self.k_proj(x), self.v_proj(x)))
        q, k = turn(self.q_norm(q), self.theta), turn(self.k_norm(k), self.theta)
        return self.o_proj(attend(q, k, v))


class LlamaMLP(nn.Module):
    def __init__(self, config):
        super().__init__()
        width, inner = config["hidden_size"], config["intermediate_size"]
        self.gate_proj, self.up_proj = nn.Linear(width, inner, bias=False), nn.Linear(width, inner, bias=False)
        self.down_proj = nn.Linear(inner, width, bias=False)

    def forward(self, x):
        return self.down_proj(F.silu(self.gate_proj(x)) * self.up_proj(x))


class LlamaBlock(nn.Module):
    def __init__(self, config):
        super().__init__()
        width = config["hidden_size"]
        self.input_layernorm, self.self_attn = RMSNorm(width, config), LlamaAttention(config)
        self.post_attention_layernorm, self.mlp = RMSNorm(width, config), LlamaMLP(config)

    def forward(self, x):
        x = x + self.self_attn(self.input_layernorm(x))
        return x + self.mlp(self.post_attention_layernorm(x))


class Llama(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.block_size = config["max_position_embeddings"]
        self.model = nn.Module()
        self.model.embed_tokens = nn.Embedding(config["vocab_size"], config["hidden_size"])
        self.model.layers = nn.ModuleList(LlamaBlock(config) for _ in range(config["num_hidden_layers"]))
        self.model.norm = RMSNorm(config["hidden_size"], config)
        if not config["tie_word_embeddings"]:
            self.lm_head = nn.Linear(config["hidden_size"], config["vocab_size"], bias=False)

    def forward(self, tokens):
        x = self.model.embed_tokens(tokens)
        for layer in self.model.layers:
            x = layer(x)
        x = self.model.norm(x)
        return self.lm_head(x) if hasattr(self, "lm_head") else x @ self.model.embed_tokens.weight.T


def read_safetensors(path):
    """The tensors of a file by their names: 8 bytes of length, so much JSON, then the values."""
    dtypes = {"F32": torch.float32, "I64": torch.int64}
    data = bytearray(pathlib.Path(path).read_bytes())
    start = 8 + struct.unpack("<Q", data[:8])[0]
    tensors = {}
    for name, entry in json.loads(bytes(data[8:start])).items():
        if name != "__metadata__":
            begin, end = (start + offset for offset in entry["data_offsets"])
            values = torch.frombuffer(data, dtype=torch.uint8)[begin:end].clone().view(dtypes[entry["dtype"]])
            tensors[name] = values.reshape(entry["shape"])
    return tensors


def load(folder=HERE):
    """The model of a folder with config.json and model.safetensors, ready to write."""
    config = json.loads((pathlib.Path(folder) / "config.json").read_text(encoding="utf-8"))
    model = (GPT2 if config["model_type"] == "gpt2" else Llama)(config)
    tensors = read_safetensors(pathlib.Path(folder) / "model.safetensors")
    model.load_state_dict({name.removeprefix("transformer."): values for name, values in tensors.items()})
    return model.eval()
