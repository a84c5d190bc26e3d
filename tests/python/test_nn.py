"""Modules, layers, optimizers, files, training with resume, decoders, against PyTorch where it is installed."""
import copy
import os
import pathlib
import signal
import tempfile
import threading
import time
import types
import unittest

import gradus
from gradus import Error, nn, optim

try:
    import torch
except ImportError:
    torch = None


class Block(nn.Module):
    def __init__(self, width, generator):
        self.norm = nn.LayerNorm(width)
        self.attn = nn.MultiHeadAttention(width, 2, dropout=0.1, generator=generator)
        self.mlp = nn.Sequential(nn.Linear(width, 2 * width, generator=generator), nn.GELU(),
                                 nn.Linear(2 * width, width, generator=generator))

    def forward(self, x):
        x = x + self.attn(self.norm(x))
        return x + self.mlp(self.norm(x))


class Model(nn.Module):
    def __init__(self, seed=1):
        g = gradus.Generator(seed)
        self.emb = nn.Embedding(11, 8, generator=g)
        self.blocks = [Block(8, g), Block(8, g)]
        self.heads = {"a": nn.Linear(8, 11, bias=False, generator=g), "scales": [nn.Parameter(gradus.ones(1))]}
        self.register_buffer("steps", gradus.zeros(1))

    def forward(self, idx):
        x = self.emb(idx)
        for block in self.blocks:
            x = block(x)
        return self.heads["a"](x) * self.heads["scales"][0]


def batch(n):
    x = gradus.randint(0, 11, (n, 6))
    return x, (x + 1) * (x < 10).long()


def loss(model, x, y):
    return gradus.cross_entropy(model(x).reshape(-1, 11), y.reshape(-1))


class Modules(unittest.TestCase):
    def test_the_only_device_is_the_cpu(self):
        for place in (lambda: nn.Linear(2, 2, device="cuda"), lambda: nn.Linear(2, 2).to("cuda:0"), lambda: nn.Linear(2, 2).to(device="mps")):
            with self.assertRaisesRegex(gradus.Error, "the device must be cpu, got"):
                place()
        self.assertEqual(str(nn.Linear(2, 2, device="cpu").to("cpu").weight.dtype), "torch.float32")

    def test_members_are_found(self):
        model = Model()
        names = [name for name, _ in model.named_parameters()]
        # A module's own parameters come first, as in PyTorch.
        self.assertEqual(names[:4], ["heads.scales.0", "emb.weight", "blocks.0.norm.weight", "blocks.0.norm.bias"])
        self.assertIn("blocks.0.attn.c_attn.weight", names)
        self.assertIn("blocks.1.mlp.2.bias", names)
        self.assertEqual([name for name, _ in model.named_buffers()], ["steps"])
        self.assertEqual(len(names), 1 + 2 * 10 + 2)
        loss(model, *batch(4)).backward()
        self.assertTrue(all(p.grad is not None for p in model.parameters()))
        model.zero_grad()
        self.assertTrue(all(p.grad is None for p in model.parameters()))
        self.assertIn("(blocks.1): Block(", repr(model))
        self.assertIn("blocks.0.attn.c_attn.weight", model.summary())

    def test_parameters_of_layers(self):
        layer = nn.Linear(2, 3)
        self.assertIs(layer.weight, layer.weight)
        self.assertIsInstance(layer.weight, nn.Parameter)
        self.assertIsNone(nn.Linear(2, 3, bias=False).bias)
        layer.weight = nn.Parameter(gradus.ones(3, 2))
        self.assertAlmostEqual(layer(gradus.ones(1, 2)).sum().item(), 6 + layer.bias.sum().item(), places=5)
        with self.assertRaisesRegex(Error, r"must have 2 dimensions, got shape \(3\)|got shape \(3,\)"):
            layer.weight = nn.Parameter(gradus.ones(3))
        with self.assertRaisesRegex(AttributeError, "'Linear' object has no attribute 'gain'"):
            layer.gain
        attention = nn.MultiHeadAttention(4, 2)
        self.assertEqual(attention.c_attn.weight.shape, (12, 4))
        other = nn.Embedding(3, 2)
        other.weight = layer.weight  # tied
        both = nn.ModuleList([layer, other])
        self.assertEqual(len(list(both.parameters())), 2)

    def test_a_parameter_is_one_object(self):
        model = nn.Sequential(nn.Linear(2, 2), nn.MultiHeadAttention(4, 2), nn.Embedding(3, 2))
        for made in (model, copy.deepcopy(model), copy.deepcopy(model).double(), gradus.Decoder("gpt2", vocab_size=5, n_layer=1, n_head=1, n_embd=4)):
            places = {id(p): name for name, p in made.named_parameters()}
            for p in made.parameters():
                p.decays = p.dim() > 1
            self.assertEqual([places[id(p)] for p in made.parameters()], [name for name, _ in made.named_parameters()])
            self.assertTrue(all(p.decays == (p.dim() > 1) for p in made.parameters()))
        model[1].c_attn.weight = made = nn.Parameter(gradus.ones(12, 4))
        self.assertIs(model[1].c_attn.weight, made)

    def test_modes(self):
        drop = nn.Dropout(0.5)
        gradus.manual_seed(1)
        self.assertEqual(set(drop(gradus.ones(100)).tolist()), {0, 2})
        model = nn.Sequential(drop, nn.Flatten()).eval()
        self.assertEqual(model(gradus.ones(2, 3)).tolist(), gradus.ones(2, 3).tolist())
        self.assertFalse(drop.training)

    def test_layers_in_place_have_their_options(self):
        x = gradus.tensor([-1.0, 0.5])
        given, y = x.clone(), nn.Softplus(beta=2.0, inplace=True)
        self.assertEqual(y(given).tolist(), nn.Softplus(beta=2.0)(x).tolist())
        self.assertEqual(given.tolist(), nn.Softplus(beta=2.0)(x).tolist())

    def test_state(self):
        model, other = Model(1), Model(2)
        x, _ = batch(2)
        model.eval(), other.eval()
        self.assertFalse(gradus.equal(model(x), other(x)))
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "model.safetensors"
            model.save(path)
            state = gradus.load_file(path)
        self.assertEqual(set(state), set(model.state_dict()))
        other.load_state_dict(state)
        self.assertTrue(gradus.equal(model(x), other(x)))
        del state["emb.weight"]
        state["more"] = gradus.ones(1)
        with self.assertRaisesRegex(Error, "emb.weight"):
            other.load_state_dict(state)
        self.assertEqual(other.load_state_dict(state, strict=False), (["emb.weight"], ["more"]))

    def test_copies_and_conversions(self):
        model = Model()
        other = copy.deepcopy(model)
        with gradus.no_grad():
            for p in other.parameters():
                p.fill_(0)
        self.assertNotEqual(model.emb.weight.abs().sum().item(), 0)
        with self.assertRaisesRegex(Error, "heads"):
            model.double()
        layer = nn.Sequential(nn.Linear(2, 2), nn.LayerNorm(2)).double()
        self.assertEqual(layer(gradus.ones(1, 2, dtype=gradus.float64)).dtype, gradus.float64)

    @unittest.skipIf(torch is None, "PyTorch is not installed")
    def test_initial_values_are_pytorchs(self):
        for text in ("Linear(5, 3)", "Embedding(4, 6)", "Conv2d(2, 3, 3)"):
            if not hasattr(nn, text.split("(")[0]):
                continue
            gradus.manual_seed(7)
            torch.manual_seed(7)
            mine, theirs = eval("nn." + text), eval("torch.nn." + text)
            for name, p in theirs.named_parameters():
                self.assertEqual(dict(mine.named_parameters())[name].tolist(), p.tolist())


@unittest.skipIf(torch is None or not hasattr(nn, "LSTM"), "needs PyTorch and the annex layers")
class Sequences(unittest.TestCase):
    """Recurrent and transformer layers give PyTorch's values, states and gradients."""

    def compare(self, text, call):
        results = []
        for library, module in ((gradus, nn), (torch, torch.nn)):
            library.manual_seed(3)
            layer = eval(text, {"nn": module}).double()
            shapes = [(5, 2, 4), (3, 2, 4)]
            x, memory = (library.tensor([[[((i * 7 + j * 3 + k) % 11) / 5 - 1 for k in range(c)] for j in range(b)] for i in range(a)],
                                        dtype=library.float64, requires_grad=True) for a, b, c in shapes)
            found = call(library, layer, x, memory)
            sum((y * y).sum() for y in found).backward()
            results.append([t.detach().flatten().tolist() for t in (*found, x.grad, *(p.grad for p in layer.parameters()))])
        self.assertEqual(len(results[0]), len(results[1]))
        for mine, theirs in zip(*results):
            for a, b in zip(mine, theirs, strict=True):
                self.assertAlmostEqual(a, b, places=6)  # initial values are float32

    def test_recurrent(self):
        for text in ("nn.RNN(4, 3)", "nn.RNN(4, 3, nonlinearity='relu', bias=False)", "nn.GRU(4, 3, num_layers=2)",
                     "nn.GRU(4, 3, batch_first=True, bidirectional=True)"):
            with self.subTest(text):
                self.compare(text, lambda library, layer, x, memory: layer(x))
        self.compare("nn.RNN(4, 3)", lambda library, layer, x, memory: layer(x, library.ones(1, 2, 3, dtype=library.float64)))

        def lstm(library, layer, x, memory):
            zeros = library.zeros(2, 2, 3, dtype=library.float64)
            y, (h, c) = layer(x, (zeros, zeros + 1))
            return y, h, c
        self.compare("nn.LSTM(4, 3, bidirectional=True)", lstm)

    def test_attention_and_transformers(self):
        self.compare("nn.MultiheadAttention(4, 2)", lambda library, layer, x, memory: layer(x, memory, memory))
        self.compare("nn.TransformerEncoderLayer(4, 2, 8, dropout=0.0, activation='gelu')", lambda library, layer, x, memory: [layer(x)])
        self.compare("nn.TransformerDecoderLayer(4, 2, 8, dropout=0.0, norm_first=True)", lambda library, layer, x, memory: [layer(x, memory)])
        self.compare("nn.TransformerEncoder(nn.TransformerEncoderLayer(4, 2, 8, dropout=0.0), 2)", lambda library, layer, x, memory: [layer(
            x, library.triu(library.ones(5, 5), 1) > 0)])

    def test_attention_is_watched(self):
        layer, x = nn.TransformerEncoderLayer(4, 2, 8, dropout=0.0), gradus.ones(3, 1, 4)
        seen = gradus.watch(layer, "self_attn*")
        layer(x)
        self.assertEqual(seen.names(), ["self_attn.pattern", "self_attn"])
        self.assertEqual(tuple(seen["self_attn.pattern"].shape), (1, 2, 3, 3))
        with gradus.ablate(copy.deepcopy(layer), "self_attn"):
            self.assertNotEqual(seen["self_attn"].abs().sum().item(), 0)
        with gradus.ablate(layer, "self_attn"):
            self.assertTrue(gradus.equal(layer._sa_block(x, None, None), gradus.zeros(3, 1, 4)))

    def test_printed_and_refused(self):
        for text in ("nn.LSTM(3, 4, num_layers=2, batch_first=True)", "nn.GRU(3, 4, bidirectional=True)", "nn.RNN(3, 4)"):
            self.assertEqual(repr(eval(text)), repr(eval("torch." + text)))
        with self.assertRaisesRegex(Error, "nonlinearity must be 'tanh' or 'relu', got 'sine'"):
            nn.RNN(3, 4, nonlinearity="sine")


class Optimizers(unittest.TestCase):
    @unittest.skipIf(torch is None, "PyTorch is not installed")
    def test_against_pytorch(self):
        start = [[0.5, -1.0], [2.0, 0.25]], [0.1, -0.2]
        for name, options in (("SGD", {"lr": 0.1}), ("SGD", {"lr": 0.1, "momentum": 0.9, "nesterov": True, "weight_decay": 0.1}),
                              ("AdamW", {"lr": 0.1, "weight_decay": 0.3}), ("AdamW", {"lr": 0.1, "betas": (0.8, 0.9), "eps": 1e-3}),
                              ("RMSprop", {"lr": 0.01, "momentum": 0.5, "centered": True})):
            with self.subTest(name=name, options=options):
                results = []
                for library in (gradus, torch):
                    p = [library.tensor(v, dtype=library.float64, requires_grad=True) for v in start]
                    optimizer = getattr(library.optim, name)([{"params": p[:1]}, {"params": p[1:], "lr": 0.05}], **options)
                    for step in range(5):
                        optimizer.zero_grad()
                        ((p[0] @ p[1]) ** 2).sum().backward()
                        if step == 3:
                            optimizer.param_groups[1]["lr"] = 0.01
                        optimizer.step()
                    results.append([x.detach().flatten().tolist() for x in p])
                for mine, theirs in zip(*results):
                    for a, b in zip(mine, theirs):
                        self.assertAlmostEqual(a, b, places=12)

    def test_state_and_options(self):
        w = gradus.ones(2, requires_grad=True)
        optimizer = optim.AdamW([w], lr=0.1)
        w.grad = gradus.ones(2)
        optimizer.step()
        state = copy.deepcopy(optimizer.state_dict())
        kept = w.detach().clone()
        optimizer.step()
        after = w.tolist()
        w.data = kept
        again = optim.AdamW([w], lr=0.1)
        again.load_state_dict(state)
        w.grad = gradus.ones(2)
        again.step()
        self.assertEqual(w.tolist(), after)
        with self.assertRaisesRegex(TypeError, "no option momentum"):
            optim.AdamW([w], momentum=0.9)
        other = optim.AdamW([gradus.tensor(after).requires_grad_()], lr=0.1, weight_decay=0.5)
        other.load_state_dict(again.state_dict())
        self.assertEqual(other.param_groups[0]["weight_decay"], 0.01)  # the options are part of the state
        for optimizer in (again, other):  # from the same state
            optimizer.param_groups[0]["weight_decay"] = 0.5
            optimizer.param_groups[0]["params"][0].grad = gradus.ones(2)
            optimizer.step()
        self.assertEqual(w.tolist(), other.param_groups[0]["params"][0].tolist())

    def test_clipping(self):
        w = gradus.ones(4, requires_grad=True)
        w.grad = gradus.full((4,), 2.0)
        self.assertEqual(nn.clip_grad_norm_([w], 1.0), 4)
        self.assertAlmostEqual(w.grad.norm().item(), 1, places=6)

    def test_muon_knows_matrices_of_a_module(self):
        model = Model()
        for optimizer in (optim.Muon(model, lr=0.01), optim.Lion(model.parameters(), lr=1e-3)):
            before = loss(model.eval(), *batch(8)).item()
            for _ in range(20):
                optimizer.zero_grad()
                loss(model, *batch(8)).backward()
                optimizer.step()
            self.assertLess(loss(model, *batch(8)).item(), before)

    def test_copies_of_muon_and_its_options(self):
        model = Model().eval()
        optimizer, data = optim.Muon(model, lr=0.01), batch(8)
        pairs = [(model, optimizer)]
        for momentum in (0.95, 0.9):
            for one, its in pairs:
                its.param_groups[0]["momentum"] = momentum
                its.zero_grad()
                loss(one, *data).backward()
                its.step()
            pairs = pairs if len(pairs) > 1 else [*pairs, copy.deepcopy(pairs[0])]
        first, second = ([p.tolist() for p in one.parameters()] for one, _ in pairs)
        self.assertEqual(first, second)
        names = [sorted(its) for its in optimizer.state_dict()["state"].values()]
        self.assertIn(["exp_avg", "step"], names)
        self.assertIn(["exp_avg", "exp_avg_sq", "step"], names)


class Training(unittest.TestCase):
    OPTIONS = {"batch": 8, "save_every": 5, "lr": 0.01}

    def test_fit_resumes_with_the_same_bits(self):
        whole, parts = Model(3), Model(3)
        with tempfile.TemporaryDirectory() as folder:
            losses = []
            report = gradus.fit(whole, loss, batch, folder + "/whole", steps=20, on_step=losses.append, **self.OPTIONS)
            self.assertEqual((report["steps"], report["finished"]), (20, True))
            seen = []

            def stop(report):
                seen.append(report)
                if report["step"] == 7 and len(seen) == 7:
                    os.kill(os.getpid(), signal.SIGINT)
            with self.assertRaises(KeyboardInterrupt):
                gradus.fit(parts, loss, batch, folder + "/parts", steps=20, on_step=stop, **self.OPTIONS)
            self.assertEqual(len(seen), 7)
            other = Model(4)
            report = gradus.fit(other, loss, batch, folder + "/parts", steps=20, on_step=seen.append, **self.OPTIONS)
            self.assertEqual(report["steps"], 20)
            self.assertEqual([r["loss"] for r in seen], [r["loss"] for r in losses])
            for (name, a), b in zip(whole.named_parameters(), other.parameters()):
                self.assertEqual(a.tolist(), b.tolist(), name)
            self.assertTrue((pathlib.Path(folder) / "parts" / "metrics.jsonl").exists())

    def test_fit_without_a_folder(self):
        model = Model()
        seen = []
        gradus.fit(model, loss, batch, steps=30, optimizer=("muon", {"momentum": 0.9}), on_step=seen.append, batch=16, lr=0.01)
        self.assertLess(seen[-1]["loss"], 0.7 * seen[0]["loss"])
        held_out = [batch(8), batch(8)]
        report = gradus.fit(model, loss, batch, steps=1, validation=held_out, batch=8)
        self.assertAlmostEqual(report["val_loss"], sum(loss(model.eval(), *one).item() for one in held_out) / 2, places=6)
        report = gradus.fit(model, loss, batch, steps=1, validation=held_out, batch=8, precision=gradus.bfloat16)
        with gradus.autocast(gradus.bfloat16):  # also for the loss of validation
            self.assertAlmostEqual(report["val_loss"], sum(loss(model.eval(), *one).item() for one in held_out) / 2, places=6)
        with self.assertRaisesRegex(TypeError, "needs a folder for ema, keep"):
            gradus.fit(model, loss, batch, steps=1, keep=1, ema=0.9)
        with self.assertRaisesRegex(TypeError, "no option 'stepz'"):
            gradus.fit(model, loss, batch, stepz=3)
        for text, options in (("got adamw with {'momentum': 0.9}", {"optimizer": ("adamw", {"momentum": 0.9})}),
                              ("must be fit\\(\\)'s argument lr, got lr=0.5", {"optimizer": ("sgd", {"lr": 0.5})}),
                              ("betas must be two numbers", {"optimizer": ("adamw", {"betas": (0.5,)})}), ("got adm with", {"optimizer": "adm"}),
                              ("at least 0, got -1.0", {"lr": -1.0}), ("at least 0, got nan", {"lr": float("nan")})):
            with self.assertRaisesRegex(Error, text):
                gradus.fit(model, loss, batch, **options)
        with tempfile.TemporaryDirectory() as folder, self.assertRaisesRegex(TypeError, "needs validation for eval_every, patience"):
            gradus.fit(model, loss, batch, folder, patience=3, eval_every=1)
        gradus.fit(model, loss, batch, steps=1, optimizer="sgd", batch=8)

        def broken(model, x, y):
            raise KeyError("mine")
        with self.assertRaisesRegex(KeyError, "mine"):
            gradus.fit(model, broken, batch, steps=1)

    def test_ctrl_c_stops_a_backward_pass(self):
        w = gradus.randn(400, 400, requires_grad=True)
        y = w
        for _ in range(400):
            y = (y @ w).tanh()
        loss = y.sum()
        timer = threading.Timer(0.1, lambda: os.kill(os.getpid(), signal.SIGINT))
        timer.start()
        start, steps = time.monotonic(), 0
        with self.assertRaises(KeyboardInterrupt):
            while time.monotonic() < start + 60:
                loss.backward(retain_graph=True)
                steps += 1
        self.assertLessEqual(steps, 2)  # a pass takes longer than the time until the signal
        w.grad = None
        (w * 2).sum().backward()  # the library still works
        self.assertEqual(w.grad.sum().item(), 2 * 400 * 400)

    def test_ctrl_c_stops_a_loop(self):
        w = gradus.ones(200, 200)
        timer = threading.Timer(0.2, lambda: os.kill(os.getpid(), signal.SIGINT))
        timer.start()
        with self.assertRaises(KeyboardInterrupt):
            while True:
                w @ w


class Decoders(unittest.TestCase):
    def setUp(self):
        self.model = gradus.Decoder("gpt2", vocab_size=11, block_size=8, n_layer=2, n_head=2, n_embd=8,
                                    generator=gradus.Generator(1))

    def test_decoder(self):
        model = self.model
        self.assertEqual(model.config["n_embd"], 8)
        x, y = batch(3)
        self.assertEqual(model(x).shape, (3, 6, 11))
        mean = gradus.cross_entropy(model(x).reshape(-1, 11), y.reshape(-1))
        self.assertAlmostEqual(model.loss(x, y).item(), mean.item(), places=5)
        optimizer = optim.AdamW(model, lr=0.01)
        for _ in range(150):
            optimizer.zero_grad()
            model.loss(*batch(16)).backward()
            optimizer.step()
        self.assertEqual(model.generate([3], max_new_tokens=4, temperature=0), [4, 5, 6, 7])
        self.assertEqual(model.generate([3], 4, 0, on_token=lambda t: t != 5), [4, 5])
        self.assertEqual(model.generate([3], 2, on_token=lambda t: gradus.rand(1)), model.generate([3], 2, 0))  # callbacks may draw
        self.assertTrue(repr(model).startswith("Decoder(arch='gpt2', bias=True, block_size=8, "))
        with self.assertRaisesRegex(Error, "takes a tokenizer"):
            model.generate("a")
        letters = types.SimpleNamespace(encode_from_start=lambda text: [3, *map(int, text)], eos=[7], stop_strings=[],
                                        decode=lambda tokens: "".join(map(str, tokens)))
        model.tokenizer = letters
        self.assertEqual(model.generate("", 6, 0), "456")
        letters.stop_strings = ["56"]
        self.assertEqual(model.generate("4", 6, 0), "")
        self.assertEqual(model.generate("", 6, 0), "4")
        with tempfile.TemporaryDirectory() as folder:
            model.save_pretrained(folder)
            other = gradus.pretrained(folder)
        self.assertTrue(gradus.equal(other.eval()(x), model.eval()(x)))
        with self.assertRaisesRegex(Error, "no/such"):
            gradus.pretrained("no/such")

    def test_looks_inside(self):
        model = self.model
        x, y = batch(2)
        seen = gradus.watch(model, "h.*.attn.pattern", gradients=True)
        model.loss(x, y).backward()
        self.assertEqual(seen.names(), ["h.0.attn.pattern", "h.1.attn.pattern"])
        self.assertEqual(seen["h.0.attn.pattern"].shape, (2, 2, 6, 6))
        self.assertEqual(seen.grad("h.1.attn.pattern").shape, (2, 2, 6, 6))
        del seen
        plain = model(x)
        with gradus.ablate(model, ["h.1.mlp"]):
            off = model(x)
        self.assertFalse(gradus.equal(off, plain))
        self.assertTrue(gradus.equal(model(x), plain))
        with gradus.Intervention(model, "h.1.mlp", lambda t, name: t * 0):
            self.assertTrue(gradus.equal(model(x), off))
        with gradus.Intervention(model, "h.1.mlp", lambda t, name: gradus.randn_like(t) * 0):
            self.assertTrue(gradus.equal(model(x), off))
        kept = gradus.watch(model, "h.0")
        model(x)
        with gradus.patch(model, "h.0", kept), gradus.scale(model, "h.1.mlp", 0.0):
            self.assertTrue(gradus.equal(model(batch(2)[0]), off))
        mine = Model().eval()
        seen = gradus.watch(mine, "blocks.*.attn.pattern")
        mine(x)
        self.assertEqual(seen.names(), ["blocks.0.attn.pattern", "blocks.1.attn.pattern"])

    def test_tokenizer(self):
        tokens = gradus.Tokenizer.make("char", "hello")
        self.assertEqual(tokens.decode(tokens.encode("hello")), "hello")
        self.assertEqual(tokens.vocab_size, 4)


class PerExample(unittest.TestCase):
    def compare(self, model, loss, data):
        found = gradus.per_example_gradients(model, loss, data)
        for i in range(len(data[0])):
            model.zero_grad()
            loss(model, *[part[i:i + 1] for part in data]).sum().backward()
            for name, p in model.named_parameters():
                want = gradus.zeros_like(p) if p.grad is None else p.grad
                self.assertEqual(found[name].shape, (len(data[0]), *p.shape))
                self.assertLess((found[name][i] - want).abs().max().item(), 1e-5 * (1 + want.abs().max().item()), name)

    def test_they_are_those_of_a_loop(self):
        class Net(Model):
            def __init__(self):
                super().__init__(3)
                self.pos, self.norm, self.out = nn.Embedding(6, 8), nn.RMSNorm(8), nn.Parameter(gradus.randn(8, 11))
                self.eval()

            def forward(self, idx):
                x = self.blocks[0](self.emb(idx) + self.pos(gradus.arange(idx.shape[1])))
                return self.heads["a"](x) + self.norm(x) @ self.out + x @ self.emb.weight.T

        def losses(model, x, y):
            return gradus.cross_entropy(model(x).reshape(-1, 11), y.reshape(-1), reduction="none").reshape(x.shape).mean(1)
        for size in (1, 2, 5):
            self.compare(Net(), losses, batch(size))
        decoder = gradus.Decoder("gpt2", vocab_size=11, block_size=6, n_layer=1, n_head=2, n_embd=8)
        self.compare(decoder, losses, batch(3))
        mlp = nn.Sequential(nn.Linear(3, 5, bias=False), nn.LayerNorm(5, bias=False), nn.Linear(5, 1))
        self.compare(mlp, lambda model, x: model(x)[:, 0]**2, [gradus.randn(4, 3)])

    def test_what_it_cannot_do_is_an_error(self):
        conv, x = nn.Sequential(nn.Conv1d(2, 3, 2), nn.Flatten()), gradus.randn(4, 2, 5)
        with self.assertRaisesRegex(Error, "no rule for parameters of conv"):
            gradus.per_example_gradients(conv, lambda model, x: model(x).sum(1), [x])
        with self.assertRaisesRegex(Error, r"one recorded loss for each of 4 examples, got \(\)"):
            gradus.per_example_gradients(conv, lambda model, x: model(x).mean(), [x])
        with self.assertRaisesRegex(Error, "must stay in the first dimension"):
            gradus.per_example_gradients(nn.Linear(4, 4), lambda model, x: model(x.transpose(0, 1)).sum((0, 2)), [gradus.randn(3, 2, 4)])

    def test_jacobians_of_both_shapes(self):
        w = gradus.randn(40, 2, dtype=gradus.float64)
        for matrix in (w, w.T):
            x = gradus.randn(matrix.shape[1], dtype=gradus.float64)
            want = matrix * (1 - (matrix @ x).tanh()**2)[:, None]
            self.assertLess((gradus.jacobian(lambda at: (matrix @ at).tanh(), x) - want).abs().max().item(), 1e-12)


class Threads(unittest.TestCase):
    def test_four_models_with_optimizers(self):
        def train(seed, results):
            g = gradus.Generator(seed)
            model = nn.Sequential(nn.Linear(16, 64, generator=g), nn.Tanh(), nn.Linear(64, 1, generator=g))
            x = gradus.randn(512, 16, generator=g)
            y = x.sum(1, keepdim=True).sin()
            optimizer = optim.AdamW(model, lr=0.01)
            losses = []
            for _ in range(40):
                optimizer.zero_grad()
                value = gradus.mse_loss(model(x), y)
                value.backward()
                optimizer.step()
                losses.append(value.item())
            results[seed] = losses
        alone, together = {}, {}
        for seed in range(4):
            train(seed, alone)
        threads = [threading.Thread(target=train, args=(seed, together)) for seed in range(4)]
        [t.start() for t in threads]
        [t.join() for t in threads]
        self.assertEqual(alone, together)


if __name__ == "__main__":
    unittest.main()
