import tempfile
import torch, torch.nn as nn
path = tempfile.mkdtemp() + "/model.pth"
torch.manual_seed(123)
cfg = {"vocab_size": 50, "context_length": 16, "emb_dim": 12, "n_heads": 3, "n_layers": 2, "drop_rate": 0.1, "qkv_bias": False}
class LayerNorm(nn.Module):
    def __init__(self, d):
        super().__init__(); self.eps = 1e-5; self.scale = nn.Parameter(torch.ones(d)); self.shift = nn.Parameter(torch.zeros(d))
    def forward(self, x):
        m = x.mean(dim=-1, keepdim=True); v = x.var(dim=-1, keepdim=True, unbiased=False)
        return self.scale * ((x - m) / torch.sqrt(v + self.eps)) + self.shift
class FF(nn.Module):
    def __init__(self, c):
        super().__init__(); self.layers = nn.Sequential(nn.Linear(c["emb_dim"], 4 * c["emb_dim"]), nn.GELU(approximate="tanh"), nn.Linear(4 * c["emb_dim"], c["emb_dim"]))
    def forward(self, x): return self.layers(x)
class Model(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.tok_emb = nn.Embedding(c["vocab_size"], c["emb_dim"]); self.pos_emb = nn.Embedding(c["context_length"], c["emb_dim"]); self.drop = nn.Dropout(c["drop_rate"])
        self.blocks = nn.Sequential(*[FF(c) for _ in range(c["n_layers"])]); self.norm = LayerNorm(c["emb_dim"]); self.head = nn.Linear(c["emb_dim"], c["vocab_size"], bias=False)
    def forward(self, i):
        b, t = i.shape
        x = self.tok_emb(i) + self.pos_emb(torch.arange(t, device=i.device)); x = self.drop(x)
        for blk in self.blocks: x = x + blk(x)
        return self.head(self.norm(x))
m = Model(cfg); print(m); i = torch.randint(0, 50, (2, 5)); print(i); o = m(i); print(o.shape, o[0, 0]); print(f"{sum(p.numel() for p in m.parameters()):,}")
torch.set_printoptions(sci_mode=False)
m.eval()
def gen(m, idx, n, ctx, temp=0.0, k=None):
    for _ in range(n):
        with torch.no_grad(): l = m(idx[:, -ctx:])
        l = l[:, -1, :]
        if k is not None:
            top, _ = torch.topk(l, k); l = torch.where(l < top[:, -1], torch.tensor(float("-inf")).to(l.device), l)
        if temp > 0: nxt = torch.multinomial(torch.softmax(l / temp, dim=-1), num_samples=1)
        else: nxt = torch.argmax(torch.softmax(l, dim=-1), dim=-1, keepdim=True)
        idx = torch.cat((idx, nxt), dim=1)
    return idx
print(gen(m, i[:1], 6, 16)); torch.manual_seed(4); print(gen(m, i[:1], 6, 16, 1.2, 5)); print(gen(m, i[:1], 4, 16).squeeze(0).tolist())
out = torch.tensor([[1., 2.], [3., 4.]]); print("Mean:\n", out.mean(dim=-1, keepdim=True)); print("Variance:\n", out.var(dim=-1, keepdim=True))
logits = o.flatten(0, 1); t = i.flatten(); print(logits.shape, t.shape, nn.functional.cross_entropy(logits, t), torch.exp(nn.functional.cross_entropy(logits, t)))
p = torch.softmax(o, -1); print(p[0, [0, 1, 2], i[0, :3]]); print(torch.log(p[0, [0, 1, 2], i[0, :3]]), torch.mean(torch.log(p[0, [0, 1], [3, 4]])) * -1)
torch.save(m.state_dict(), path); m2 = Model(cfg); print(m2.load_state_dict(torch.load(path))); m2.eval(); print(torch.equal(m2(i), m(i)))
ckpt = {"model": m.state_dict(), "n": 3}; torch.save(ckpt, path); c = torch.load(path, map_location="cpu"); print(c["n"], list(c["model"])[:2])
print(m.blocks[0].layers[0].weight.shape, m.head.weight.data[0, :3], len(m.blocks), type(m.blocks).__name__)
total = sum(p.numel() for p in m.parameters()) * 4 / 1024**2; print(f"{total:.4f} MB")
m.head.weight = m.tok_emb.weight; print(sum(p.numel() for p in m.parameters()))
for n, p in m.named_parameters():
    if "norm" in n: print(n, p)
