"""Training of transformers, their copies and states, functions as activations, and schedules one after another."""
import torch, copy, io, warnings
warnings.filterwarnings("ignore")
from torch import nn
import torch.nn.functional as F
for nf in (False, True):
  for act in ("relu","gelu",F.gelu):
    torch.manual_seed(2)
    m=nn.Transformer(8,2,1,2,16,0.2,activation=act,batch_first=True,norm_first=nf)
    o=torch.optim.AdamW([{'params':[p for n,p in m.named_parameters() if p.dim()>1],'weight_decay':.1},{'params':[p for n,p in m.named_parameters() if p.dim()<2],'weight_decay':0.}],lr=1e-2)
    for s in range(4):
        x,y=torch.rand(3,5,8),torch.rand(3,4,8)
        out=m(x,y,tgt_mask=nn.Transformer.generate_square_subsequent_mask(4),src_key_padding_mask=torch.tensor([[0,0,0,0,1]]*3).bool(),memory_key_padding_mask=torch.tensor([[0,0,0,1,1]]*3).bool())
        loss=(out-y).pow(2).mean(); o.zero_grad(); loss.backward(); nn.utils.clip_grad_norm_(m.parameters(),1.); o.step(); print(f"{loss.item():.5f}", end=" ")
    print(); print([n for n,_ in m.named_parameters()][:6], sum(p.grad.abs().sum().item()>0 for p in m.parameters()))
torch.manual_seed(0)
m=nn.TransformerEncoderLayer(8,2,16,batch_first=True)
for p in m.self_attn.parameters(): p.requires_grad_(False)
print([n for n,p in m.named_parameters() if p.requires_grad]); print([n for n,_ in m.self_attn.named_parameters()])
m.double(); print(m.linear1.weight.dtype, m.self_attn.in_proj_weight.dtype, m.self_attn.out_proj.weight.dtype, m(torch.rand(1,2,8).double()).dtype)
m.float()
b=io.BytesIO(); torch.save(m.state_dict(),b); b.seek(0); m2=nn.TransformerEncoderLayer(8,2,16,batch_first=True); print(m2.load_state_dict(torch.load(b)))
m.eval(); m2.eval(); x=torch.rand(1,3,8); print(torch.equal(m(x),m2(x)))
m3=copy.deepcopy(m); m3.self_attn.out_proj.weight.data.fill_(0.); print(m.self_attn.out_proj.weight.abs().sum().item()>0, m3.self_attn.out_proj.weight.abs().sum().item())
m3.self_attn.out_proj.weight=nn.Parameter(torch.ones(8,8)); print(m3.state_dict()['self_attn.out_proj.weight'].sum().item(), m3(x).shape)
print(m.self_attn, list(m.self_attn.children()), [n for n,_ in m.named_children()])
a=nn.MultiheadAttention(8,2); a.apply(lambda z: print(type(z).__name__)); a.train(); a.eval(); print(a.training, a.out_proj.training)
with torch.no_grad():
    for mod in m.modules():
        if isinstance(mod,nn.Linear): mod.weight.mul_(0.5); mod.bias.zero_() 
print(m(x).sum().item()>-1e9, m.self_attn.out_proj.bias)
print(sum(p.numel() for p in m.parameters()), len(list(m.modules())), len(list(m.buffers())))
m.linear1=nn.Linear(8,16); print(m(x).shape, m.linear1)
class Enc(nn.Module):
    def __init__(s):
        super().__init__(); s.l=nn.ModuleList([nn.TransformerEncoderLayer(8,2,16,0.) for _ in range(2)]); s.h=nn.Linear(8,3)
    def forward(s,x):
        for l in s.l: x=l(x)
        return s.h(x)
torch.manual_seed(4); e=Enc(); o=torch.optim.SGD(e.parameters(),.1,momentum=.9); 
for _ in range(3):
    l=F.cross_entropy(e(torch.rand(4,2,8)).view(-1,3),torch.randint(0,3,(8,))); o.zero_grad(); l.backward(); o.step(); print(l)
print(e)
s=torch.optim.lr_scheduler.SequentialLR(o,[torch.optim.lr_scheduler.LinearLR(o,.1,total_iters=3),torch.optim.lr_scheduler.CosineAnnealingLR(o,5)],milestones=[3])
for _ in range(7): o.step(); s.step(); print([f"{v:.6f}" for v in s.get_last_lr()], s.last_epoch)
ms=torch.optim.lr_scheduler.MultiStepLR(o,[2,4],.1); ex=torch.optim.lr_scheduler.ExponentialLR(o,.9); print(sorted(ms.state_dict()), sorted(ex.state_dict()))
class A(nn.Module):
    def __init__(s): super().__init__(); s.act=F.relu; s.f=torch.tanh; s.l=nn.Linear(1,1)
    def forward(s,x): return s.f(s.act(s.l(x)))
a=A(); b=copy.deepcopy(a); print(torch.equal(a(torch.ones(1)),b(torch.ones(1))), b.act is F.relu, copy.copy(a).f is torch.tanh)
print(ms.state_dict()); o.step(); ms.step(); print(ms.get_last_lr(), ex.get_last_lr())
