"""The layers of encoders and decoders (Vaswani et al., arXiv 1706.03762), made of modules, as in PyTorch."""
from __future__ import annotations

import copy
import math
from typing import Any, Iterator

from .. import _core
from .._core import Tensor
from .._module import Module, Point
from .._types import Parameter
from . import GELU, Dropout, LayerNorm, Linear, ModuleList, ReLU, functional, init


class NonDynamicallyQuantizableLinear(Linear):
    """The out_proj of a MultiheadAttention, which reads its weight and bias and does not call it."""


class MultiheadAttention(Module):
    """Attention of queries to keys and values (T, B, embed_dim), or (B, T, embed_dim) with batch_first (Vaswani et al., arXiv
    1706.03762) -> the result and the weights (B, T, S). Masks are True, or -inf, where a query must not look; one that sees no key
    gives NaN."""

    def __init__(self, embed_dim: int, num_heads: int, dropout: float = 0.0, bias: bool = True, add_bias_kv: bool = False,
                 add_zero_attn: bool = False, kdim: int | None = None, vdim: int | None = None, batch_first: bool = False,
                 device: Any = None, dtype: Any = None, generator: Any = None) -> None:
        if embed_dim < 1 or num_heads < 1 or embed_dim % num_heads != 0:
            raise AssertionError("embed_dim must be divisible by num_heads")
        self.embed_dim, self.num_heads, self.head_dim, self.dropout = embed_dim, num_heads, embed_dim // num_heads, dropout
        self.kdim, self.vdim = (embed_dim if size is None else size for size in (kdim, vdim))
        self.batch_first, self.add_zero_attn = batch_first, add_zero_attn
        same = self._qkv_same_embed_dim = self.kdim == self.vdim == embed_dim
        self._pattern, self._output = Point(), Point()
        self.out_proj = NonDynamicallyQuantizableLinear(embed_dim, embed_dim, bias, device=device, dtype=dtype, generator=generator)
        shapes: dict[str, Any] = {
            "in_proj_weight": same and (3 * embed_dim, embed_dim), "q_proj_weight": not same and (embed_dim, embed_dim),
            "k_proj_weight": not same and (embed_dim, self.kdim), "v_proj_weight": not same and (embed_dim, self.vdim),
            "in_proj_bias": bias and (3 * embed_dim,), **dict.fromkeys(("bias_k", "bias_v"), add_bias_kv and (1, 1, embed_dim))}
        for name, shape in shapes.items():
            setattr(self, name, Parameter(_core.zeros(shape, dtype=dtype)) if shape else None)
        self._reset_parameters(*(() if generator is None else (generator,)))

    def _reset_parameters(self, generator: Any = None) -> None:
        for name in ("in_proj_weight",) if self._qkv_same_embed_dim else ("q_proj_weight", "k_proj_weight", "v_proj_weight"):
            init.xavier_uniform_(getattr(self, name), generator=generator)
        if self.in_proj_bias is not None:
            init.zeros_(self.in_proj_bias)
            init.zeros_(self.out_proj.bias)
        for bias in (self.bias_k, self.bias_v):
            if bias is not None:
                init.xavier_normal_(bias, generator=generator)

    def _parts(self, prefix: str = "", above: Any = ()) -> Iterator[tuple[str, Any]]:
        yield from (*super()._parts(prefix, above), (f"{prefix}pattern", self._pattern.core), (prefix.rstrip("."), self._output.core))

    def _projected(self, query: Tensor, key: Tensor, value: Tensor) -> Any:
        if not self._qkv_same_embed_dim:
            biases = (None,) * 3 if self.in_proj_bias is None else self.in_proj_bias.chunk(3)
            weights = self.q_proj_weight, self.k_proj_weight, self.v_proj_weight
            return (functional.linear(x, weight, bias) for x, weight, bias in zip((query, key, value), weights, biases))
        weight, bias, size = self.in_proj_weight, self.in_proj_bias, self.embed_dim
        if query is key and key is value:
            return functional.linear(query, weight, bias).chunk(3, -1)
        parts = [size, 2 * size] if key is value else [size] * 3
        biases = (None,) * 3 if bias is None else bias.split(parts)
        found = [functional.linear(x, w, b) for x, w, b in zip((query, key, value), weight.split(parts), biases)]
        return found if len(found) == 3 else (found[0], *found[1].chunk(2, -1))

    def _mask(self, attn_mask: Any, padding: Any, is_causal: bool, sizes: tuple[int, int, int], dtype: Any) -> Any:
        """What is added to the scores (B, heads, T, S): the sum of the masks, or None."""
        B, T, S = sizes
        if padding is not None and padding.dtype.name == "int64":
            raise AssertionError("only bool and floating types of key_padding_mask are supported")
        if padding is not None and tuple(padding.shape) != (B, S):
            raise AssertionError(f"expecting key_padding_mask shape of {(B, S)}, but got {padding.shape}")
        is_shared = attn_mask is None or attn_mask.dim() == 2
        wanted = (T, S) if is_shared else (B * self.num_heads, T, S)
        if attn_mask is not None and tuple(attn_mask.shape) != wanted:
            raise RuntimeError(f"The shape of the {attn_mask.dim()}D attn_mask is {attn_mask.shape}, but should be {wanted}.")
        masks = [attn_mask if is_shared else attn_mask.view(B, self.num_heads, T, S),
                 None if padding is None else padding.view(B, 1, 1, S), _core.ones((T, S)).triu(1) != 0 if is_causal else None]
        added = [x if x.dtype.is_floating_point else _core.zeros(x.shape, dtype=dtype).masked_fill(x != 0, -math.inf)
                 for x in masks if x is not None]
        return sum(added[1:], added[0]) if added else None

    def forward(self, query: Tensor, key: Tensor, value: Tensor, key_padding_mask: Any = None, need_weights: bool = True,
                attn_mask: Any = None, average_attn_weights: bool = True, is_causal: bool = False) -> Any:
        is_batch, heads, inputs = query.dim() == 3, self.num_heads, {id(x): x for x in (query, key, value)}
        if not is_batch or self.batch_first:  # tensors that are the same stay so
            inputs = {i: x.transpose(0, 1) if is_batch else x.unsqueeze(1) for i, x in inputs.items()}
        query, key, value = (inputs[id(x)] for x in (query, key, value))
        (T, B, size), S = query.shape, key.size(0)
        if size != self.embed_dim:
            raise AssertionError(f"was expecting embedding dimension of {self.embed_dim}, but got {size}")
        if key.shape[:2] != value.shape[:2] or self._qkv_same_embed_dim and key.shape != value.shape:
            raise AssertionError(f"key shape {key.shape} does not match value shape {value.shape}")
        padding = key_padding_mask if is_batch or key_padding_mask is None else key_padding_mask.unsqueeze(0)
        mask = self._mask(attn_mask, padding, is_causal, (B, T, S), query.dtype)
        q, k, v = self._projected(query, key, value)
        if self.bias_k is not None:
            k, v = (_core.cat([x, bias.repeat(1, B, 1)]) for x, bias in ((k, self.bias_k), (v, self.bias_v)))
        if self.add_zero_attn:
            k, v = (_core.cat([x, _core.zeros((1, B, size), dtype=x.dtype)]) for x in (k, v))
        q, k, v = (x.reshape(x.size(0), B, heads, size // heads).permute(1, 2, 0, 3) for x in (q, k, v))
        scores, more = (q / math.sqrt(size // heads)) @ k.mT, k.size(2) - S
        scores = scores if mask is None else scores + (functional.pad(mask, (0, more)) if more else mask)
        weights = functional.dropout(self._pattern(functional.softmax(scores, -1)), self.dropout, self.training)
        output = (weights @ v).permute(2, 0, 1, 3).reshape(T * B, size)
        output = functional.linear(output, self.out_proj.weight, self.out_proj.bias)  # its call is not made, as in PyTorch
        output = output.view(T, B, output.size(1))
        output = self._output(output.squeeze(1) if not is_batch else output.transpose(0, 1) if self.batch_first else output)
        if not need_weights:
            return output, None
        weights = weights.sum(1) / heads if average_attn_weights else weights.view(weights.shape)
        return output, weights if is_batch else weights.squeeze(0)


class _Block(Module):
    """What the layers of an encoder and of a decoder share: attention, feed-forward, and a norm and dropout for each (Vaswani et al.,
    arXiv 1706.03762), with norm_first before them (Xiong et al., arXiv 2002.04745)."""

    _attentions: tuple[str, ...] = ("self_attn",)

    def __init__(self, d_model: int, nhead: int, dim_feedforward: int = 2048, dropout: float = 0.1, activation: Any = "relu",
                 layer_norm_eps: float = 1e-5, batch_first: bool = False, norm_first: bool = False, device: Any = None, dtype: Any = None,
                 generator: Any = None) -> None:
        if isinstance(activation, str) and activation not in ("relu", "gelu"):
            raise _core.InputError(f"[module] activation must be 'relu' or 'gelu', got '{activation}'.")
        count, drawn = len(self._attentions) + 1, {"generator": generator, "device": device, "dtype": dtype}
        for name in self._attentions:
            setattr(self, name, MultiheadAttention(d_model, nhead, dropout, batch_first=batch_first, **drawn))
        self.linear1, self.dropout = Linear(d_model, dim_feedforward, **drawn), Dropout(dropout)
        self.linear2 = Linear(dim_feedforward, d_model, **drawn)
        for i in range(1, count + 1):
            setattr(self, f"norm{i}", LayerNorm(d_model, layer_norm_eps, device=device, dtype=dtype))
        for i in range(1, count + 1):
            setattr(self, f"dropout{i}", Dropout(dropout))
        self.norm_first, self.activation = norm_first, getattr(functional, activation) if isinstance(activation, str) else activation

    def _residual(self, i: int, x: Tensor, block: Any, *masks: Any) -> Tensor:
        norm = getattr(self, f"norm{i}")
        return x + block(norm(x), *masks) if self.norm_first else norm(x + block(x, *masks))  # type: ignore[no-any-return]

    def _sa_block(self, x: Tensor, attn_mask: Any, key_padding_mask: Any) -> Tensor:
        return self.dropout1(self.self_attn(x, x, x, attn_mask=attn_mask, key_padding_mask=key_padding_mask, need_weights=False)[0])  # type: ignore[no-any-return]

    def _ff_block(self, x: Tensor) -> Tensor:
        drop = getattr(self, f"dropout{len(self._attentions) + 1}")
        return drop(self.linear2(self.dropout(self.activation(self.linear1(x)))))  # type: ignore[no-any-return]

    def _mask(self, x: Tensor, mask: Any, is_causal: bool) -> Any:
        size = x.size(-2 if x.dim() == 2 or self.self_attn.batch_first else 0)
        return _core.ones((size, size)).triu(1) != 0 if is_causal and mask is None else mask


class TransformerEncoderLayer(_Block):
    """Self-attention and feed-forward. Masks are True, or -inf, where a query must not look: src_mask (T, T), src_key_padding_mask (B, T)."""

    def forward(self, src: Tensor, src_mask: Any = None, src_key_padding_mask: Any = None, is_causal: bool = False) -> Tensor:
        x = self._residual(1, src, self._sa_block, self._mask(src, src_mask, is_causal), src_key_padding_mask)
        return self._residual(2, x, self._ff_block)


class TransformerDecoderLayer(_Block):
    """Self-attention, attention to the memory, and feed-forward, with masks for both."""

    _attentions = ("self_attn", "multihead_attn")

    def _mha_block(self, x: Tensor, mem: Tensor, attn_mask: Any, key_padding_mask: Any) -> Tensor:
        attended = self.multihead_attn(x, mem, mem, attn_mask=attn_mask, key_padding_mask=key_padding_mask, need_weights=False)[0]
        return self.dropout2(attended)  # type: ignore[no-any-return]

    def forward(self, tgt: Tensor, memory: Tensor, tgt_mask: Any = None, memory_mask: Any = None, tgt_key_padding_mask: Any = None,
                memory_key_padding_mask: Any = None, tgt_is_causal: bool = False) -> Tensor:
        x = self._residual(1, tgt, self._sa_block, self._mask(tgt, tgt_mask, tgt_is_causal), tgt_key_padding_mask)
        x = self._residual(2, x, self._mha_block, memory, memory_mask, memory_key_padding_mask)
        return self._residual(3, x, self._ff_block)


class _Stack(Module):
    """A row of copies of a transformer layer, and a norm after them."""

    def __init__(self, layer: Module, num_layers: int, norm: Any = None) -> None:
        self.layers = ModuleList(copy.deepcopy(layer) for _ in range(num_layers))
        self.num_layers, self.norm = num_layers, norm

    def _run(self, x: Tensor, *others: Any, **masks: Any) -> Tensor:
        for layer in self.layers:
            x = layer(x, *others, **masks)
        return x

    def _normed(self, x: Tensor) -> Tensor:
        return x if self.norm is None else self.norm(x)


class TransformerEncoder(_Stack):
    """num_layers copies of a TransformerEncoderLayer, and a norm."""

    def __init__(self, encoder_layer: Module, num_layers: int, norm: Any = None, enable_nested_tensor: bool = True, mask_check: bool = True) -> None:
        super().__init__(encoder_layer, num_layers, norm)
        self.enable_nested_tensor, self.mask_check = enable_nested_tensor, mask_check

    def _drops_padding(self, src: Tensor, mask: Any, padding: Any) -> bool:
        """Whether PyTorch computes without the padded positions, at the end of each row."""
        if padding is None or mask is not None or not self.enable_nested_tensor or self.training or src.dim() != 3:
            return False
        first = self.layers[0]
        is_usual = isinstance(first, TransformerEncoderLayer) and not first.norm_first and first.norm1.eps == first.norm2.eps and (
            first.activation in (functional.relu, functional.gelu) or isinstance(first.activation, (ReLU, GELU)))
        if not is_usual or not first.self_attn.batch_first or not first.self_attn._qkv_same_embed_dim or first.self_attn.num_heads % 2 != 0:
            return False
        records = _core.is_grad_enabled() and (src.requires_grad or any(p.requires_grad for p in self.parameters()))
        return bool(not records and (not self.mask_check or (padding[:, 1:] | ~padding[:, :-1]).all()))

    def forward(self, src: Tensor, mask: Any = None, src_key_padding_mask: Any = None, is_causal: Any = None) -> Tensor:
        hidden = None if src_key_padding_mask is None else src_key_padding_mask != 0
        drops = self._drops_padding(src, mask, hidden)
        padding = hidden if drops else src_key_padding_mask
        y = self._run(src, src_mask=mask, src_key_padding_mask=padding, **({"is_causal": True} if is_causal else {}))
        return self._normed(y.masked_fill(hidden.unsqueeze(-1), 0.0)[:, :int((~hidden).sum(1).max())] if drops else y)


class TransformerDecoder(_Stack):
    """num_layers copies of a TransformerDecoderLayer, and a norm. The masks are those of the layer."""

    def forward(self, tgt: Tensor, *others: Any, **masks: Any) -> Tensor:
        return self._normed(self._run(tgt, *others, **masks))


class Transformer(Module):
    """An encoder and a decoder with a norm after each; all matrices start from xavier_uniform_()."""

    def __init__(self, d_model: int = 512, nhead: int = 8, num_encoder_layers: int = 6, num_decoder_layers: int = 6, dim_feedforward: int = 2048,
                 dropout: float = 0.1, activation: Any = "relu", custom_encoder: Any = None, custom_decoder: Any = None, layer_norm_eps: float = 1e-5,
                 batch_first: bool = False, norm_first: bool = False, device: Any = None, dtype: Any = None, generator: Any = None) -> None:
        sizes = d_model, nhead, dim_feedforward, dropout, activation, layer_norm_eps, batch_first, norm_first, device, dtype, generator
        norms = [LayerNorm(d_model, layer_norm_eps, device=device, dtype=dtype) for _ in range(2)]
        self.encoder = custom_encoder or TransformerEncoder(TransformerEncoderLayer(*sizes), num_encoder_layers, norms[0])
        self.decoder = custom_decoder or TransformerDecoder(TransformerDecoderLayer(*sizes), num_decoder_layers, norms[1])
        self.d_model, self.nhead, self.batch_first = d_model, nhead, batch_first
        self._reset_parameters(*(() if generator is None else (generator,)))

    def _reset_parameters(self, generator: Any = None) -> None:
        for parameter in self.parameters():
            if parameter.dim() > 1:
                init.xavier_uniform_(parameter, generator=generator)

    def forward(self, src: Tensor, tgt: Tensor, src_mask: Any = None, tgt_mask: Any = None, memory_mask: Any = None,
                src_key_padding_mask: Any = None, tgt_key_padding_mask: Any = None, memory_key_padding_mask: Any = None) -> Tensor:
        memory = self.encoder(src, src_mask, src_key_padding_mask)
        return self.decoder(tgt, memory, tgt_mask=tgt_mask, memory_mask=memory_mask, tgt_key_padding_mask=tgt_key_padding_mask,  # type: ignore[no-any-return]
                            memory_key_padding_mask=memory_key_padding_mask)

    @staticmethod
    def generate_square_subsequent_mask(sz: int, device: Any = None, dtype: Any = None) -> Tensor:
        """-inf above the diagonal, else 0."""
        return _core.full((sz, sz), float("-inf"), dtype, device).triu(1)
