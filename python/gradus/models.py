"""Decoders, files, training with exact resume, and looks inside of a model."""
from __future__ import annotations

import contextlib
import functools
import signal
import threading
from typing import Any, Callable

from . import _core, optim
from ._core import Error, Tensor
from ._layer import Layer
from ._module import Module


def _filled(options: Any, values: dict[str, Any]) -> Any:
    """The options with these values. Raises TypeError for a name that is no option."""
    for name, value in values.items():
        if not hasattr(options, name):
            raise TypeError(f"there is no option {name!r}")
        setattr(options, name, value)
    return options


class Decoder(Layer):
    """A language model: idx (B, T) int64 -> logits (B, T, V).

    Decoder("gpt2", vocab_size=65, n_layer=4, n_head=4, n_embd=128) makes one of an architecture or a preset.
    """

    def __init__(self, arch: str = "gpt2", generator: Any = None, **sizes: Any) -> None:
        super().__init__(_core._make_decoder(_filled(_core.DecoderConfig(arch), sizes), generator))
        self.tokenizer: Any = None

    @classmethod
    def _of(cls, core: Any, tokenizer: Any) -> Decoder:
        self = cls.__new__(cls)
        Layer.__init__(self, core)
        self.tokenizer = tokenizer
        return self

    def extra_repr(self) -> str:
        return ", ".join(f"{name}={value!r}" for name, value in self.config.items())

    @property
    def config(self) -> dict[str, Any]:
        """The architecture and its sizes."""
        config = _core._decoder_config(self._core)
        return {name: getattr(config, name) for name in dir(config) if not name.startswith("_")}

    def loss(self, idx: Tensor, targets: Tensor, generator: Any = None) -> Tensor:
        """Mean cross-entropy, nats per token: idx, targets (B, T) int64 -> (). Targets of -100 do not count."""
        return _core._decoder_loss(self._core, idx, targets, generator)

    def generate(self, prompt: Any, max_new_tokens: int = 200, temperature: float = 1.0, top_k: int = 0, top_p: float = 1.0,
                 min_p: float = 0.0, repetition_penalty: float = 1.0, generator: Any = None, on_token: Any = None) -> Any:
        """What follows the prompt, without it: a text for a text, tokens for tokens. A text ends before the tokens and the
        strings that end one for its tokenizer. on_token(token) may return False to stop."""
        draw = functools.partial(_core._generate, self._core)
        options = _filled(_core.SampleOptions(), {"max_new_tokens": max_new_tokens, "temperature": temperature, "top_k": top_k, "top_p": top_p,
                                                  "min_p": min_p, "repetition_penalty": repetition_penalty})
        if not isinstance(prompt, str):
            return draw(list(map(int, prompt)), options, generator, on_token)
        if self.tokenizer is None:
            raise Error("[generate] a text takes a tokenizer, got none. Hint: pass tokens, or set model.tokenizer.")
        ends, stops, new = self.tokenizer.eos, self.tokenizer.stop_strings, []

        def goes_on(token: int) -> bool:
            if token in ends:
                return False
            new.append(token)
            text = self.tokenizer.decode(new) if stops else ""
            return not any(stop in text for stop in stops) and (on_token is None or on_token(token) is not False)

        draw(self.tokenizer.encode_from_start(prompt), options, generator, goes_on)
        text = self.tokenizer.decode(new)
        return text[:min((text.find(stop) for stop in stops if stop in text), default=len(text))]

    def save_pretrained(self, folder: Any) -> None:
        """Writes config.json and model.safetensors, which Hugging Face's transformers reads."""
        _core._save_pretrained(self._core, folder)


def load(folder: Any) -> Decoder:
    """The best model of a run folder, with its tokenizer."""
    return Decoder._of(*_core._load(folder, True))


def pretrained(folder: Any) -> Decoder:
    """The model of a folder of Hugging Face's transformers, with its tokenizer if there is one."""
    try:
        return load(folder)
    except Error as error:
        if "must have a tokenizer" not in str(error):
            raise
        return Decoder._of(*_core._load(folder, False))


def load_file(path: Any, keep_float64: bool = True) -> dict[str, Tensor]:
    """The tensors of a safetensors file or of a checkpoint of PyTorch, by name."""
    return _core._load_file(path, keep_float64)


def save_file(tensors: dict[str, Tensor], path: Any, metadata: Any = None) -> None:
    """Writes a safetensors file, whole or not at all."""
    _core._save_file(dict(tensors), path, metadata or {"format": "pt"})


def fit(model: Module, loss: Callable[..., Tensor], batches: Callable[[int], Any], folder: Any = "", validation: Any = (),
        optimizer: Any = None, lr: Any = None, on_step: Any = None, **loop: Any) -> dict[str, Any]:
    """Trains with the library's loop. Returns {"steps": ..., "val_loss": ..., "finished": ...}.

    loss(model, x, y) is a mean over the targets; batches(batch) draws (x, y) with the default random stream, which the
    run owns meanwhile. In a folder the run is saved, and the same call resumes it with the same bits; Ctrl-C saves after
    the step, then raises KeyboardInterrupt; a second one raises it at once. optimizer: a kind or (kind, options), as "sgd" or
    ("adamw", {"weight_decay": 0.1}). lr: the rate, or a function of the step.
    loop: steps, batch, accum, micro, clip, seed; with a folder, also ema, save_every and keep, and with validation eval_every and patience.
    """
    if not folder and (unused := {"ema", "eval_every", "patience", "save_every", "keep"} & set(loop)):
        raise TypeError(f"fit() needs a folder for {', '.join(sorted(unused))}")
    held_out = list(validation)
    if not held_out and (unused := {"eval_every", "patience"} & set(loop)):
        raise TypeError(f"fit() needs validation for {', '.join(sorted(unused))}")
    if isinstance(lr, (int, float)) and not lr >= 0:
        raise Error(f"[fit] lr must be at least 0, got {lr}.")

    def call(batch: Any, training: bool) -> Tensor:
        if model.training != training:
            model.train(training)
        return loss(model, *batch)

    stops: list[int] = []

    def stop(number: int, _: Any) -> None:
        if stops:
            raise KeyboardInterrupt
        stops.append(number)

    rate = (lambda step: lr) if isinstance(lr, (int, float)) else lr
    chosen = None if optimizer is None else optim.chosen(optimizer)
    main = threading.current_thread() is threading.main_thread()
    before = signal.signal(signal.SIGINT, stop) if main else None
    try:
        report = _core._fit(model._assembly(), call, batches, str(folder), held_out, chosen, rate, on_step,
                            lambda: bool(stops), _filled(_core.LoopOptions(), loop))
    finally:
        if main:
            signal.signal(signal.SIGINT, before)
    if stops:
        raise KeyboardInterrupt
    return report


def _listed(patterns: Any) -> list[str]:
    return [patterns] if isinstance(patterns, str) else list(patterns)


def watch(model: Module, patterns: Any, gradients: bool = False) -> Any:
    """Keeps the values of the next calls under their names: watch(model, ["h.*.attn.pattern"])["h.0.attn.pattern"]."""
    return _core._watch(model._assembly(), _listed(patterns), gradients)


class Intervention(contextlib.AbstractContextManager["Intervention"]):
    """Replaces values inside a model, until remove() or the end of a with block."""

    def __init__(self, model: Module, patterns: Any, replace: Callable[[Tensor, str], Tensor]) -> None:
        self._held = _core._intervene(model._assembly(), _listed(patterns), replace)

    def remove(self) -> None:
        """The model computes its own values again."""
        self._held = None

    def __exit__(self, *_: Any) -> None:
        self.remove()


def ablate(model: Module, patterns: Any) -> Intervention:
    """Zeros in place of the values."""
    return Intervention(model, patterns, lambda x, name: _core.zeros_like(x))


def scale(model: Module, patterns: Any, factor: float) -> Intervention:
    """The values times `factor`."""
    return Intervention(model, patterns, lambda x, name: x * factor)


def patch(model: Module, patterns: Any, source: Any) -> Intervention:
    """The values that watch() kept in another call."""
    values = {name: source[name].detach() for name in source.names()}
    return Intervention(model, patterns, lambda x, name: values[name])
