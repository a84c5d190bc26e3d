import torch, torch.nn as nn
from torch.utils.data import Dataset, DataLoader
class D(Dataset):
    def __init__(self, ids, n, s):
        self.x = [torch.tensor(ids[i:i+n]) for i in range(0, len(ids)-n, s)]
        self.y = [torch.tensor(ids[i+1:i+n+1]) for i in range(0, len(ids)-n, s)]
    def __len__(self): return len(self.x)
    def __getitem__(self, i): return self.x[i], self.y[i]
torch.manual_seed(123)
dl = DataLoader(D(list(range(40)), 4, 3), batch_size=4, shuffle=True, drop_last=True, num_workers=0)
for i, (x, y) in enumerate(dl): print(i, x, y)
it = iter(dl); a, b = next(it); print(a.shape, b[0]); print(len(dl))
emb = nn.Embedding(40, 8); pos = nn.Embedding(4, 8)
z = emb(a) + pos(torch.arange(4)); print(z.shape); print(z[0])
model = nn.Sequential(nn.Flatten(), nn.Linear(32, 16), nn.GELU(), nn.LayerNorm(16), nn.Linear(16, 40))
print(model)
opt = torch.optim.AdamW(model.parameters(), lr=1e-2, weight_decay=0.1)
for step in range(3):
    opt.zero_grad(); loss = nn.functional.cross_entropy(model(z.detach()), b[:, 0]); loss.backward(); opt.step(); print(step, f"loss {loss.item():.4f}", loss)
print(model[1].weight.grad.norm(), model[0])
crit = nn.MSELoss(); print(crit(torch.ones(3), torch.zeros(3)))
sched = [g["lr"] for g in opt.param_groups]; print(sched)
with torch.no_grad(): out = model(z); print(out.requires_grad, torch.argmax(out, dim=-1), torch.softmax(out, -1).max(-1))
sgd = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
for step in range(2):
    sgd.zero_grad(); loss = nn.CrossEntropyLoss()(model(z.detach()), b[:, 0]); loss.backward(); sgd.step(); print(round(loss.item(), 5))
torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm=1.0)
print(torch.cuda.is_available(), torch.device("cpu"), str(torch.device("cpu")), z.to("cpu").device, z.device.type)
