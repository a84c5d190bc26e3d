"""The layers of encoders and decoders (Vaswani et al., arXiv 1706.03762), made of modules, as in PyTorch."""
from __future__ import annotations

import copy
from typing import Any

from .. import _core, nn
from .._core import Tensor
from .._module import Module
from . import GELU, Dropout, LayerNorm, Linear, ModuleList, ReLU, functional, init


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
            setattr(self, name, nn.MultiheadAttention(d_model, nhead, dropout, batch_first=batch_first, **drawn))
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
        if padding is None or mask is not None or not self.enable_nested_tensor or self.training or src.dim() != 3 or padding.dtype.name != "bool":
            return False
        first, records = self.layers[0], _core.is_grad_enabled() and (src.requires_grad or any(p.requires_grad for p in self.parameters()))
        is_usual = isinstance(first, TransformerEncoderLayer) and (
            first.activation in (functional.relu, functional.gelu) or isinstance(first.activation, (ReLU, GELU)))
        return bool(is_usual and not records and not first.norm_first and first.self_attn.batch_first and first.self_attn.num_heads % 2 == 0
                    and (padding[:, 1:] | ~padding[:, :-1]).all())

    def forward(self, src: Tensor, mask: Any = None, src_key_padding_mask: Any = None, is_causal: Any = None) -> Tensor:
        y = self._run(src, src_mask=mask, src_key_padding_mask=src_key_padding_mask, **({"is_causal": True} if is_causal else {}))
        if self._drops_padding(src, mask, src_key_padding_mask):
            y = y.masked_fill(src_key_padding_mask.unsqueeze(-1), 0.0)[:, :int((~src_key_padding_mask).sum(1).max())]
        return self._normed(y)


class TransformerDecoder(_Stack):
    """num_layers copies of a TransformerDecoderLayer, and a norm. The masks are those of the layer."""

    def forward(self, tgt: Tensor, *others: Any, **masks: Any) -> Tensor:
        return self._normed(self._run(tgt, *others, **masks))


class Transformer(Module):
    """An encoder and a decoder with a norm after each; all matrices start from xavier_uniform_()."""

    def __init__(self, d_model: int = 512, nhead: int = 8, num_encoder_layers: int = 6, num_decoder_layers: int = 6, dim_feedforward: int = 2048,
                 dropout: float = 0.1, activation: str = "relu", **options: Any) -> None:
        given = {"dim_feedforward": dim_feedforward, "dropout": dropout, "activation": activation, **options}
        norms = [LayerNorm(d_model, options.get("layer_norm_eps", 1e-5), dtype=options.get("dtype")) for _ in range(2)]
        self.encoder = TransformerEncoder(TransformerEncoderLayer(d_model, nhead, **given), num_encoder_layers, norms[0])
        self.decoder = TransformerDecoder(TransformerDecoderLayer(d_model, nhead, **given), num_decoder_layers, norms[1])
        self.d_model, self.nhead, self.batch_first = d_model, nhead, options.get("batch_first", False)
        for parameter in self.parameters():
            if parameter.dim() > 1:
                init.xavier_uniform_(parameter, generator=options.get("generator"))

    def forward(self, src: Tensor, tgt: Tensor, src_mask: Any = None, tgt_mask: Any = None, memory_mask: Any = None,
                src_key_padding_mask: Any = None, tgt_key_padding_mask: Any = None, memory_key_padding_mask: Any = None) -> Tensor:
        memory = self.encoder(src, src_mask, src_key_padding_mask)
        return self.decoder(tgt, memory, tgt_mask=tgt_mask, memory_mask=memory_mask, tgt_key_padding_mask=tgt_key_padding_mask,  # type: ignore[no-any-return]
                            memory_key_padding_mask=memory_key_padding_mask)

    @staticmethod
    def generate_square_subsequent_mask(sz: int, device: Any = None, dtype: Any = None) -> Tensor:
        """-inf above the diagonal, else 0."""
        return _core.full((sz, sz), float("-inf"), dtype, device).triu(1)
