"""A decoder as the book's chapters 2 to 5 build one, in our words, on gradus.torch: windows of text, embeddings, heads, blocks, training,
sampling, a file. With PyTorch 1.13 installed, each number must be PyTorch's."""
import math
import tempfile
import unittest

import gradus
import gradus.torch as torch
from test_torch import pytorch

TEXT = "the cat sat on the mat and the dog sat on the log and the cat saw the dog " * 4


def decoder(torch, vocabulary, width=16, heads=2, blocks=2, context=8, dropout=0.1):
    """The classes of the chapters for one of the modules."""
    nn = torch.nn

    class LayerNorm(nn.Module):
        def __init__(self, width):
            super().__init__()
            self.eps = 1e-5
            self.scale = nn.Parameter(torch.ones(width))
            self.shift = nn.Parameter(torch.zeros(width))

        def forward(self, x):
            mean = x.mean(dim=-1, keepdim=True)
            variance = x.var(dim=-1, keepdim=True, unbiased=False)
            return self.scale * (x - mean) / torch.sqrt(variance + self.eps) + self.shift

    class GELU(nn.Module):
        def forward(self, x):
            return 0.5 * x * (1 + torch.tanh(torch.sqrt(torch.tensor(2.0 / torch.pi)) * (x + 0.044715 * torch.pow(x, 3))))

    class Heads(nn.Module):
        def __init__(self):
            super().__init__()
            self.size = width // heads
            self.query, self.key, self.value = (nn.Linear(width, width, bias=False) for _ in range(3))
            self.out = nn.Linear(width, width)
            self.dropout = nn.Dropout(dropout)
            self.register_buffer("mask", torch.triu(torch.ones(context, context), diagonal=1))

        def forward(self, x):
            n, t, _ = x.shape
            q, k, v = (part(x).view(n, t, heads, self.size).transpose(1, 2) for part in (self.query, self.key, self.value))
            scores = q @ k.transpose(2, 3)
            scores.masked_fill_(self.mask.bool()[:t, :t], -torch.inf)
            weights = self.dropout(torch.softmax(scores / k.shape[-1] ** 0.5, dim=-1))
            return self.out((weights @ v).transpose(1, 2).contiguous().view(n, t, width))

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.heads = Heads()
            self.layers = nn.Sequential(nn.Linear(width, 4 * width), GELU(), nn.Linear(4 * width, width))
            self.norm1, self.norm2 = LayerNorm(width), LayerNorm(width)
            self.drop = nn.Dropout(dropout)

        def forward(self, x):
            x = x + self.drop(self.heads(self.norm1(x)))
            return x + self.drop(self.layers(self.norm2(x)))

    class Decoder(nn.Module):
        def __init__(self):
            super().__init__()
            self.token = nn.Embedding(vocabulary, width)
            self.place = nn.Embedding(context, width)
            self.drop = nn.Dropout(dropout)
            self.blocks = nn.Sequential(*[Block() for _ in range(blocks)])
            self.norm = LayerNorm(width)
            self.head = nn.Linear(width, vocabulary, bias=False)

        def forward(self, tokens):
            _, t = tokens.shape
            x = self.drop(self.token(tokens) + self.place(torch.arange(t, device=tokens.device)))
            return self.head(self.norm(self.blocks(x)))

    return Decoder()


def written(torch, model, tokens, count, context=8, temperature=0.0, top_k=None):
    for _ in range(count):
        with torch.no_grad():
            logits = model(tokens[:, -context:])[:, -1, :]
        if top_k is not None:
            least = torch.topk(logits, top_k)[0][:, -1]
            logits = torch.where(logits < least, torch.tensor(float("-inf")).to(logits.device), logits)
        if temperature > 0:
            following = torch.multinomial(torch.softmax(logits / temperature, dim=-1), num_samples=1)
        else:
            following = torch.argmax(logits, dim=-1, keepdim=True)
        tokens = torch.cat((tokens, following), dim=1)
    return tokens


def chapters(torch):
    """What the chapters print, rounded."""
    letters = sorted(set(TEXT))
    ids = [letters.index(c) for c in TEXT]

    class Windows(torch.utils.data.Dataset):
        def __init__(self, length, stride):
            self.pairs = [(torch.tensor(ids[i:i + length]), torch.tensor(ids[i + 1:i + length + 1]))
                          for i in range(0, len(ids) - length, stride)]

        def __len__(self):
            return len(self.pairs)

        def __getitem__(self, i):
            return self.pairs[i]

    torch.manual_seed(123)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    loader = torch.utils.data.DataLoader(Windows(8, 4), batch_size=8, shuffle=True, drop_last=True, num_workers=0)
    model = decoder(torch, len(letters)).to(device)
    found = [sum(p.numel() for p in model.parameters()), list(next(iter(loader))[0].shape), len(loader)]
    model.eval()
    with torch.no_grad():
        logits = model(torch.tensor([ids[:4]]))
    found += [[round(x, 4) for x in logits[0, -1].tolist()], written(torch, model, torch.tensor(ids[:4]).unsqueeze(0), 6).squeeze(0).tolist()]

    def loss_of(inputs, targets):
        return torch.nn.functional.cross_entropy(model(inputs.to(device)).flatten(0, 1), targets.to(device).flatten())

    found.append(round(math.exp(sum(loss_of(*pair).item() for pair in loader) / len(loader)), 3))
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.005, weight_decay=0.1)
    for epoch in range(2):
        model.train()
        for inputs, targets in loader:
            optimizer.zero_grad()
            loss = loss_of(inputs, targets)
            loss.backward()
            optimizer.step()
            found.append(round(loss.item(), 3))
        model.eval()
    with tempfile.TemporaryDirectory() as folder:
        torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict()}, folder + "/model.pth")
        state = torch.load(folder + "/model.pth", map_location=device)
    other = decoder(torch, len(letters))
    other.load_state_dict(state["model"])
    other.eval()
    torch.manual_seed(5)
    found.append(written(torch, other, torch.tensor([ids[:4]]), 12, temperature=1.4, top_k=3)[0].tolist())
    return found


class Book(unittest.TestCase):
    def test_the_chapters_give_pytorchs_numbers(self):
        ours = chapters(torch)
        self.assertLess(ours[-2], ours[6])
        if pytorch is None:
            self.skipTest("needs PyTorch 1.13 without MKL")
        theirs = chapters(pytorch)
        self.assertEqual([x for x in ours if not isinstance(x, float)], [x for x in theirs if not isinstance(x, float)])
        for got, want in zip(ours, theirs):
            if isinstance(want, float):
                self.assertAlmostEqual(got, want, delta=2e-3)

    def test_twenty_steps_in_float64_are_pytorchs(self):
        if pytorch is None:
            self.skipTest("needs PyTorch 1.13 without MKL")
        letters = sorted(set(TEXT))
        ids = [letters.index(c) for c in TEXT]
        ours, theirs = (decoder(library, len(letters), dropout=0.0).double() for library in (torch, pytorch))
        ours.load_state_dict({name: torch.tensor(t.numpy() if hasattr(t, "numpy") else t) for name, t in theirs.state_dict().items()})
        losses = []
        for library, model in ((torch, ours), (pytorch, theirs)):
            optimizer = library.optim.AdamW(model.parameters(), lr=0.003, weight_decay=0.1)
            losses.append([])
            for step in range(20):
                rows = [ids[(5 * step + 11 * row) % 200:][:9] for row in range(6)]
                x = library.tensor(rows)
                loss = library.nn.functional.cross_entropy(model(x[:, :-1]).flatten(0, 1), x[:, 1:].flatten())
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                losses[-1].append(loss.item())
        self.assertLess(losses[0][-1], losses[0][0])
        for got, want in zip(*losses):
            self.assertAlmostEqual(got, want, delta=1e-9)

    def test_its_gradient_passes_gradcheck(self):
        model = decoder(torch, 5, width=4, blocks=1, context=4, dropout=0.0).double()
        x, y = torch.tensor([[0, 1, 2, 3]]), torch.tensor([1, 2, 3, 4])

        def loss(query, head, scale):
            given = {"blocks.0.heads.query.weight": query, "head.weight": head, "blocks.0.norm1.scale": scale}
            return torch.nn.functional.cross_entropy(torch.nn.utils.stateless.functional_call(model, given, (x,))[0], y)
        block = model.blocks[0]
        self.assertTrue(gradus.gradcheck(loss, [block.heads.query.weight, model.head.weight, block.norm1.scale], order=1))


if __name__ == "__main__":
    unittest.main()
