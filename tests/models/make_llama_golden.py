#!/usr/bin/env python3
"""Writes the folders of CONFIGS in golden: two-layer decoders of Llama's and Gemma 3's shapes, and what PyTorch computes with them.

    /usr/bin/python3 make_llama_golden.py            # writes them
    /usr/bin/python3 make_llama_golden.py --check    # compares them with what PyTorch computes now; 77: there is none

Each is a folder as transformers would save it, float32, and expected.safetensors: a batch and, computed in float64 from the
same float32 weights, its logits, loss and the gradient of every parameter; then twenty batches, and for each optimizer the loss
at each of twenty steps on them, and the parameters after the last. Needs torch only; the numbers in the repository came from
1.13.
"""
import json
import math
import pathlib
import sys

from golden_files import check, check_config, read_safetensors, write_safetensors

import torch
import torch.nn.functional as F

FOLDER = pathlib.Path(__file__).parent / "golden"
VOCAB, BLOCK, LAYERS, WIDTH, BATCH, LENGTH, STEPS = 11, 8, 2, 16, 3, 6, 20
LR, BETAS, DECAY = 1e-2, (0.9, 0.95), 0.1

LLAMA = {"model_type": "llama", "architectures": ["LlamaForCausalLM"], "vocab_size": VOCAB, "hidden_size": WIDTH,
         "intermediate_size": 20, "num_hidden_layers": LAYERS, "num_attention_heads": 4, "num_key_value_heads": 2,
         "hidden_act": "silu", "max_position_embeddings": BLOCK, "rms_norm_eps": 1e-5, "rope_theta": 10000.0,
         "rope_scaling": None, "attention_bias": False, "mlp_bias": False, "tie_word_embeddings": True}
QWEN3 = {"model_type": "qwen3", "architectures": ["Qwen3ForCausalLM"], "vocab_size": VOCAB, "hidden_size": WIDTH,
         "intermediate_size": 24, "num_hidden_layers": LAYERS, "num_attention_heads": 4, "num_key_value_heads": 1,
         "head_dim": 4, "hidden_act": "silu", "max_position_embeddings": BLOCK, "rms_norm_eps": 1e-6,
         "rope_theta": 500.0, "attention_bias": False, "use_sliding_window": False, "tie_word_embeddings": False}
# What attention may have besides: scaled frequencies, heads of another size, biases and windows.
LLAMA3 = {**LLAMA, "head_dim": 6, "attention_bias": True, "max_position_embeddings": 32, "rope_scaling": {
    "rope_type": "llama3", "factor": 4.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
    "original_max_position_embeddings": 8}}
YARN = {**QWEN3, "head_dim": 8, "rope_scaling": {
    "rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 8, "beta_fast": 0.4, "beta_slow": 0.02}}
QWEN2 = {**LLAMA, "model_type": "qwen2", "architectures": ["Qwen2ForCausalLM"], "use_sliding_window": True,
         "sliding_window": 3, "max_window_layers": 1, "rope_scaling": {"type": "linear", "factor": 2.0}}
MISTRAL = {**LLAMA, "model_type": "mistral", "architectures": ["MistralForCausalLM"], "sliding_window": 2, "head_dim": 2}
# Gemma 3 (arXiv 2503.19786): the first layer has a window and angles of base 10000, the second sees all and has scaled angles.
GEMMA3 = {"model_type": "gemma3_text", "architectures": ["Gemma3ForCausalLM"], "vocab_size": VOCAB, "hidden_size": WIDTH,
          "intermediate_size": 20, "num_hidden_layers": LAYERS, "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 6,
          "query_pre_attn_scalar": 6, "hidden_activation": "gelu_pytorch_tanh", "max_position_embeddings": BLOCK,
          "rms_norm_eps": 1e-6, "rope_theta": 1e6, "rope_scaling": {"rope_type": "linear", "factor": 8.0},
          "rope_local_base_freq": 10000.0, "sliding_window": 3, "layer_types": ["sliding_attention", "full_attention"],
          "attention_bias": False, "attn_logit_softcapping": None, "final_logit_softcapping": None, "tie_word_embeddings": True}
CONFIGS = {"llama": (2023, LLAMA), "qwen3": (2025, QWEN3), "llama3": (2026, LLAMA3), "yarn": (2027, YARN),
           "qwen2": (2028, QWEN2), "mistral": (2029, MISTRAL), "gemma3": (2030, GEMMA3)}


def head_size(config):
    return config.get("head_dim") or WIDTH // config["num_attention_heads"]


def is_gemma(config):
    return config["model_type"] == "gemma3_text"


def window_of(config, layer):
    if is_gemma(config) and config["layer_types"][layer] == "full_attention":
        return None
    if config["model_type"] == "qwen2" and layer < config["max_window_layers"]:
        return None
    return config.get("sliding_window")


def make_weights(config):
    heads, kv_heads = config["num_attention_heads"], config["num_key_value_heads"]
    size, inner, qk_norm = head_size(config), config["intermediate_size"], config["model_type"] in ("qwen3", "gemma3_text")
    matrices, norms = {"model.embed_tokens": (VOCAB, WIDTH)}, {"model.norm": WIDTH}
    for i in range(LAYERS):
        at = f"model.layers.{i}."
        norms[at + "input_layernorm"] = norms[at + "post_attention_layernorm"] = WIDTH
        matrices[at + "self_attn.q_proj"], matrices[at + "self_attn.o_proj"] = (heads * size, WIDTH), (WIDTH, heads * size)
        matrices[at + "self_attn.k_proj"] = matrices[at + "self_attn.v_proj"] = (kv_heads * size, WIDTH)
        matrices[at + "mlp.gate_proj"] = matrices[at + "mlp.up_proj"] = (inner, WIDTH)
        matrices[at + "mlp.down_proj"] = (WIDTH, inner)
        if is_gemma(config):
            norms[at + "pre_feedforward_layernorm"] = norms[at + "post_feedforward_layernorm"] = WIDTH
        if qk_norm:
            norms[at + "self_attn.q_norm"] = norms[at + "self_attn.k_norm"] = size
    if not config["tie_word_embeddings"]:
        matrices["lm_head"] = (VOCAB, WIDTH)
    # Wider than at the start of a training, so that no gradient is close to 0 and no path hides behind another.
    weights = {name + ".weight": 0.3 * torch.randn(shape) for name, shape in matrices.items()}
    usual = 0 if is_gemma(config) else 1
    weights.update({name + ".weight": usual + 0.2 * torch.randn(size) for name, size in norms.items()})
    biased = ("q_proj", "k_proj", "v_proj") if config["model_type"] == "qwen2" else ()
    if config["attention_bias"]:
        biased = ("q_proj", "k_proj", "v_proj", "o_proj")
    for name, shape in matrices.items():
        if name.endswith(biased):
            weights[name + ".bias"] = 0.3 * torch.randn(shape[0])
    return weights


def rms_norm(x, weight, eps):
    return weight * x / (x.pow(2).mean(-1, keepdim=True) + eps).sqrt()


def frequencies_of(config):
    """The frequencies and the factor of rotated queries and keys, as transformers' modeling_rope_utils defines them."""
    size, theta, scaling = head_size(config), config["rope_theta"], config.get("rope_scaling")
    frequencies = 1.0 / theta ** (torch.arange(0, size, 2, dtype=torch.float64) / size)
    if not scaling:
        return frequencies, 1.0
    factor = scaling["factor"]
    if "linear" in (scaling.get("type"), scaling.get("rope_type")):
        return frequencies / factor, 1.0
    length = scaling["original_max_position_embeddings"]
    if scaling["rope_type"] == "llama3":
        low, high = scaling["low_freq_factor"], scaling["high_freq_factor"]
        waves = 2 * math.pi / frequencies
        smooth = (length / waves - low) / (high - low)
        smoothed = (1 - smooth) * frequencies / factor + smooth * frequencies
        scaled = torch.where(waves > length / low, frequencies / factor, frequencies)
        is_medium = (waves >= length / high) & (waves <= length / low)
        return torch.where(is_medium, smoothed, scaled), 1.0

    def dimension(rotations):
        return size * math.log(length / (rotations * 2 * math.pi)) / (2 * math.log(theta))
    low = max(math.floor(dimension(scaling["beta_fast"])), 0)
    high = min(math.ceil(dimension(scaling["beta_slow"])), size - 1)
    ramp = ((torch.arange(size // 2, dtype=torch.float64) - low) / ((high - low) or 0.001)).clamp(0, 1)
    return frequencies / factor * ramp + frequencies * (1 - ramp), 0.1 * math.log(factor) + 1


def rotate(x, frequencies, scale):
    """x: (B, heads, T, size): scale * (x * cos + (-second half, first half) * sin)."""
    length, size = x.shape[-2:]
    angles = torch.outer(torch.arange(length, dtype=torch.float64), frequencies)
    angles = torch.cat((angles, angles), -1)
    first, second = x[..., : size // 2], x[..., size // 2:]
    return scale * (x * angles.cos() + torch.cat((-second, first), -1) * angles.sin())


def logits_of(config, w, idx):
    batch, length = idx.shape
    heads, kv_heads = config["num_attention_heads"], config["num_key_value_heads"]
    size, eps, gemma = head_size(config), config["rms_norm_eps"], is_gemma(config)

    def norm(x, name):
        return rms_norm(x, gemma + w[name + ".weight"], eps) if name + ".weight" in w else x

    def dense(x, name):
        return x @ w[name + ".weight"].T + w.get(name + ".bias", 0)

    def split(x, n):
        return x.view(batch, length, n, size)

    ones = torch.ones(length, length, dtype=torch.bool)
    x = w["model.embed_tokens.weight"][idx] * (math.sqrt(WIDTH) if gemma else 1)
    for i in range(LAYERS):
        at, attn = f"model.layers.{i}.", f"model.layers.{i}.self_attn."
        y = norm(x, at + "input_layernorm")
        q = norm(split(dense(y, attn + "q_proj"), heads), attn + "q_norm").transpose(1, 2)
        k = norm(split(dense(y, attn + "k_proj"), kv_heads), attn + "k_norm").transpose(1, 2)
        v = split(dense(y, attn + "v_proj"), kv_heads).transpose(1, 2)
        window = window_of(config, i)
        local = {"rope_theta": config["rope_local_base_freq"], "rope_scaling": None} if gemma and window else {}
        frequencies, scale = frequencies_of({**config, **local})
        q, k = rotate(q, frequencies, scale), rotate(k, frequencies, scale)
        hidden = torch.triu(ones, 1) | torch.tril(ones, -window) if window else torch.triu(ones, 1)
        k, v = (t.repeat_interleave(heads // kv_heads, 1) for t in (k, v))
        scores = q @ k.transpose(-2, -1) / math.sqrt(size)
        mixed = scores.masked_fill(hidden, float("-inf")).softmax(-1) @ v
        y = dense(mixed.transpose(1, 2).reshape(batch, length, heads * size), attn + "o_proj")
        x = x + (norm(y, at + "post_attention_layernorm") if gemma else y)
        y = norm(x, at + ("pre_feedforward_layernorm" if gemma else "post_attention_layernorm"))
        gate = dense(y, at + "mlp.gate_proj")
        gate = 0.5 * gate * (1 + torch.tanh(math.sqrt(2 / math.pi) * (gate + 0.044715 * gate ** 3))) if gemma else F.silu(gate)
        x = x + norm(dense(gate * dense(y, at + "mlp.up_proj"), at + "mlp.down_proj"), at + "post_feedforward_layernorm")
    head = "model.embed_tokens" if config["tie_word_embeddings"] else "lm_head"
    return dense(norm(x, "model.norm"), head)


def loss_of(config, w, idx, targets):
    return F.cross_entropy(logits_of(config, w, idx).reshape(-1, VOCAB), targets.reshape(-1))


def groups(w):
    return [{"params": [v for v in w.values() if v.dim() == 2], "weight_decay": DECAY},
            {"params": [v for v in w.values() if v.dim() != 2], "weight_decay": 0.0}]


def orthogonalized(x):
    """Four steps of the Polar Express with the coefficients of gradus, in the precision of x."""
    y = x.T if x.shape[0] > x.shape[1] else x
    y = y / (y.norm() + 1e-7)
    for a, b, c in ((8.3837, -24.7659, 18.3571), (4.0083, -2.9277, 0.5428), (3.4970, -2.5733, 0.5045), (2.2643, -1.6502, 0.3839)):
        squares = y @ y.T
        y = a * y + (b * squares + c * squares @ squares) @ y
    return y.T if x.shape[0] > x.shape[1] else y


class Muon:
    """For matrices but embeddings and heads, updates as large as AdamW's (arXiv 2502.16982); AdamW for the rest."""

    def __init__(self, w):
        hidden = {name for name, v in w.items() if v.dim() == 2 and "embed" not in name and "head" not in name}
        self.matrices = [w[name] for name in sorted(hidden)]
        self.momenta = [torch.zeros_like(v) for v in self.matrices]
        rest = {name: v for name, v in w.items() if name not in hidden}
        self.adamw = torch.optim.AdamW(groups(rest), lr=LR, betas=BETAS, eps=1e-8)

    @torch.no_grad()
    def step(self):
        self.adamw.step()
        for p, momentum in zip(self.matrices, self.momenta):
            momentum.mul_(0.95).add_(p.grad)
            update = orthogonalized(p.grad + 0.95 * momentum) * 0.2 * math.sqrt(max(p.shape))
            p.mul_(1 - LR * DECAY).sub_(LR * update)


OPTIMIZERS = {
    "adamw": lambda w: torch.optim.AdamW(groups(w), lr=LR, betas=BETAS, eps=1e-8),
    "muon": Muon,
    "sgd": lambda w: torch.optim.SGD(groups(w), lr=LR, momentum=0.9, nesterov=True),
}


def trained(config, weights, name, make_optimizer, step_idx, step_targets):
    w = {name: values.double().requires_grad_() for name, values in weights.items()}
    optimizer, losses = make_optimizer(w), []
    for idx, targets in zip(step_idx, step_targets):
        for v in w.values():
            v.grad = None
        loss = loss_of(config, w, idx, targets)
        loss.backward()
        optimizer.step()
        losses.append(loss.detach())
    return {f"{name}.loss": torch.stack(losses), **{f"{name}.after.{key}": v for key, v in w.items()}}


def expected_of(config, weights, idx, targets, step_idx, step_targets):
    w = {name: values.double().requires_grad_() for name, values in weights.items()}
    logits = logits_of(config, w, idx)
    loss = loss_of(config, w, idx, targets)
    loss.backward()
    expected = {"idx": idx, "targets": targets, "logits": logits, "loss": loss,
                "steps.idx": step_idx, "steps.targets": step_targets}
    expected.update({"grad." + name: values.grad.clone() for name, values in w.items()})

    for name, make_optimizer in OPTIMIZERS.items():
        if name != "adamw" and config is not LLAMA and config is not QWEN3:
            continue
        expected.update(trained(config, weights, name, make_optimizer, step_idx, step_targets))
    return expected


def make(config, seed):
    torch.manual_seed(seed)
    weights = make_weights(config)
    idx, targets = torch.randint(VOCAB, (2, BATCH, LENGTH))
    targets[1, 2] = -100
    step_idx, step_targets = torch.randint(VOCAB, (2, STEPS, BATCH, LENGTH))
    return weights, expected_of(config, weights, idx, targets, step_idx, step_targets)


def recomputed(folder, config):
    """What PyTorch makes of the stored weights and batches, and what is stored."""
    weights, stored = read_safetensors(folder / "model.safetensors"), read_safetensors(folder / "expected.safetensors")
    batches = (stored[key] for key in ("idx", "targets", "steps.idx", "steps.targets"))
    return expected_of(config, weights, *batches), stored


def main():
    for name, (seed, config) in CONFIGS.items():
        folder = FOLDER / name
        if sys.argv[1:] == ["--check"]:
            check_config(config, folder / "config.json")
            check(*recomputed(folder, config), folder)
            continue
        weights, expected = make(config, seed)
        folder.mkdir(parents=True, exist_ok=True)
        write_safetensors(folder / "model.safetensors", weights)
        write_safetensors(folder / "expected.safetensors", expected)
        (folder / "config.json").write_text(json.dumps(config, indent=2) + "\n")


if __name__ == "__main__":
    main()
