"""Parts of the layers of a transformer, queries without keys, gradients of zero, the order of batches, the state of schedules."""
import torch, math, copy
from torch import nn
import torch.nn.functional as F
m=nn.Linear(2,1); o=torch.optim.SGD(m.parameters(),.1)
m(torch.ones(2)).backward(); o.zero_grad(set_to_none=False); print(m.bias.grad)
w=torch.ones(2,requires_grad=True); o=torch.optim.SGD([w],.1,momentum=.9)
w.sum().backward(); o.step(); g=w.grad; o.zero_grad(set_to_none=False); print(g); o.step(); print(w)
torch.manual_seed(1)
e=nn.TransformerEncoderLayer(4,2,4)
print([n for n,m in e.named_modules()], [n for n,m in e.named_modules() if isinstance(m,nn.Linear)])
e.apply(lambda m: nn.init.constant_(m.weight,.1) if isinstance(m,nn.Linear) else None)
print(e.linear1.weight.abs().sum().item(), e.self_attn.out_proj.weight, e.self_attn.out_proj.in_features)
print(list(e.state_dict()), sum(p.numel() for p in e.parameters()))
for n,p in e.named_parameters(): print(n, p.shape)
for m in e.modules():
    if isinstance(m, nn.Dropout): m.p=0.
x=torch.rand(3,2,4); print(e(x)); print(e.linear1); print(e.dropout.p, e.norm1.eps)
h=[]; e.self_attn.register_forward_hook(lambda m,i,o: h.append(o[0].shape)); e.linear2.register_forward_hook(lambda m,i,o: h.append(o.shape)); e(x); print(h)
d=nn.TransformerDecoderLayer(4,2,4,0.0,norm_first=True,batch_first=True); print(d(x,x)); print(d)
d2=copy.deepcopy(d); d2.load_state_dict(d.state_dict()); print(torch.equal(d2(x,x),d(x,x)), d2.self_attn.out_proj.weight is d.self_attn.out_proj.weight)
t=nn.Transformer(4,2,1,1,8,0.,batch_first=True); print(t(x,x)); t.apply(lambda m: nn.init.zeros_(m.weight) if isinstance(m,nn.Linear) else None); print(t(x,x))
ds=torch.utils.data.DataLoader(range(6),batch_size=6,shuffle=True,generator=torch.Generator().manual_seed(7))
for _ in range(3): print([b.tolist() for b in ds])
ds=torch.utils.data.DataLoader(range(7),batch_size=3,shuffle=True,drop_last=True,generator=torch.Generator().manual_seed(7))
for _ in range(3): print([b.tolist() for b in ds], len(ds))
g=torch.Generator().manual_seed(3); ds=torch.utils.data.DataLoader(range(7),batch_size=3,shuffle=True,generator=g)
for b in ds: print(b, torch.rand(1,generator=g))
torch.manual_seed(0); m=nn.MultiheadAttention(4,2,batch_first=True); x=torch.rand(1,2,4)
print(m(x,x,x,attn_mask=torch.tensor([[True,True],[False,False]])))
m2=nn.MultiheadAttention(4,2); x=torch.rand(3,2,4); pad=torch.tensor([[True,True,True],[False,True,False]])
print(m2(x,x,x,key_padding_mask=pad)); print(m2(x,x,x,key_padding_mask=pad, average_attn_weights=False)[1])
am=torch.zeros(4,3,3); am[1,0]=-math.inf; print(m2(x,x,x,attn_mask=am)); y=torch.rand(3,4); print(m2(y,y,y,attn_mask=am[:1].expand(2,-1,-1)+torch.tensor([[-math.inf,0,0]]).T))
print(m2(y,y,y,key_padding_mask=torch.tensor([True,True,True])))
print(m2(x,x,x,key_padding_mask=pad, attn_mask=torch.ones(3,3).triu(1).bool()))
y=(torch.tensor([1.,2.],requires_grad=True)*2).sum()
print(type(y.grad_fn).__name__, y.grad_fn.name(), torch.ones(1).grad_fn, str(y.grad_fn)[:22])
class L(nn.Linear):
    def reset_parameters(self): nn.init.ones_(self.weight)
torch.manual_seed(3)
print(L(2,1,bias=False).weight, torch.rand(1))
class E(nn.Embedding):
    def reset_parameters(self): nn.init.normal_(self.weight, 0, .02)
print(E(2,2).weight, torch.rand(1))
g=torch.Generator(); print(g.initial_seed(), torch.rand(1,generator=g))
o=torch.optim.SGD([w],.1); s=torch.optim.lr_scheduler.StepLR(o,2,.5)
for _ in range(3): o.step(); s.step()
print(s.state_dict(), s.get_last_lr()); o2=torch.optim.SGD([w],.1); s2=torch.optim.lr_scheduler.StepLR(o2,2,.5); s2.load_state_dict(s.state_dict()); print(s2.get_last_lr(), s2.last_epoch)
print(list(o.param_groups[0].keys())[0])
c=torch.optim.lr_scheduler.CosineAnnealingLR(o,10,eta_min=.01); print(c.state_dict()); l=torch.optim.lr_scheduler.LambdaLR(o, lambda s: .5**s); o.step(); l.step(); print(l.get_last_lr())
class M(nn.Module):
    def __init__(self):
        self.l = nn.Linear(1,1)
try: M()
except AttributeError as x: print(x)
class M(nn.Module):
    def __init__(self):
        self.l = nn.Parameter(torch.ones(1))
try: M()
except AttributeError as x: print(x)
class W(torch.optim.lr_scheduler._LRScheduler):
    def __init__(self, o, n, last_epoch=-1):
        self.n=n; super().__init__(o,last_epoch)
    def get_lr(self): return [b*min(1,(self.last_epoch+1)/self.n) for b in self.base_lrs]
q=W(o,3)
for _ in range(4): o.step(); q.step(); print(q.get_last_lr(), o.param_groups[0]['lr'])
v=nn.utils.parameters_to_vector(nn.Linear(2,1).parameters()); print(v.shape); n=nn.Linear(2,1); nn.utils.vector_to_parameters(torch.arange(3.),n.parameters()); print(n.weight, n.bias)
m = torch.tensor([True, False])
print(m + True, m * True, m + False, m * False, m + m, m * 2, m + 1, m * 1.5)

# -- an encoder that computes without the padding, in evaluation
import collections, warnings
warnings.filterwarnings("ignore")
torch.manual_seed(1)
layer=nn.TransformerEncoderLayer(4,2,8,0.1,batch_first=True)
e=nn.TransformerEncoder(layer,2,norm=nn.LayerNorm(4))
x=torch.rand(2,3,4); pad=torch.tensor([[False,False,True],[False,True,True]])
e.eval()
print(e(x,src_key_padding_mask=pad))
with torch.no_grad():
    print(e(x,src_key_padding_mask=pad)); print(e(x)); print(e(x,src_key_padding_mask=torch.tensor([[True,False,False],[False,False,True]])))
    e2=nn.TransformerEncoder(layer,1); e2.eval(); print(e2(x,src_key_padding_mask=pad)); print(e2(x,src_key_padding_mask=pad[:1].expand(2,-1)))
    e2=nn.TransformerEncoder(layer,1,enable_nested_tensor=False); e2.eval(); print(e2(x,src_key_padding_mask=pad))
    e3=nn.TransformerEncoder(nn.TransformerEncoderLayer(4,1,8,0.1,batch_first=True),1).eval(); print(e3(x,src_key_padding_mask=pad))
    e4=nn.TransformerEncoder(nn.TransformerEncoderLayer(4,2,8,0.1,batch_first=True,norm_first=True),1).eval(); print(e4(x,src_key_padding_mask=pad))
    e5=nn.TransformerEncoder(nn.TransformerEncoderLayer(4,2,8,0.1),1).eval(); print(e5(x.transpose(0,1),src_key_padding_mask=pad))
    e.train(); print(e(x,src_key_padding_mask=pad))
    t=nn.Transformer(4,2,1,1,8,0.,batch_first=True).eval(); print(t(x,x,src_key_padding_mask=pad,memory_key_padding_mask=pad[:,:2]))
P=collections.namedtuple("P","a b")
for b in torch.utils.data.DataLoader([P(1,2.),P(3,4.)],batch_size=2): print(b)

print(torch.Size([2]) * 2, torch.ones(2, 3).size() + (1,))
x = torch.ones(2, requires_grad=True); (x * 3).sum().backward(); y = copy.deepcopy(x); print(y.grad, y.grad is x.grad)

torch.manual_seed(0)
for bf in (True, False):
    m=nn.MultiheadAttention(4,2,batch_first=bf).eval(); x=torch.rand(2,3,4)
    with torch.no_grad():
        if not bf: x=x.transpose(0,1)
        pad=torch.tensor([[True,True,True],[False,False,True]])
        am=torch.tensor([[True,True,True],[False,True,False],[False,False,False]])
        for kw in ({}, dict(key_padding_mask=pad), dict(attn_mask=am), dict(attn_mask=am,key_padding_mask=pad), dict(attn_mask=am.float()*-1e9), dict(need_weights=False, key_padding_mask=pad), dict(need_weights=False, attn_mask=am), dict(average_attn_weights=False,attn_mask=am),dict(average_attn_weights=False,key_padding_mask=pad)):
            print(bf, list(kw), m(x,x,x,**kw))
        l=nn.TransformerEncoderLayer(4,2,8,batch_first=bf).eval()
        for kw in ({}, dict(src_key_padding_mask=pad), dict(src_mask=am), dict(src_mask=am,src_key_padding_mask=pad)):
            print(bf, list(kw), l(x,**kw))
        d=nn.TransformerDecoderLayer(4,2,8,batch_first=bf).eval()
        for kw in ({}, dict(tgt_mask=am), dict(memory_key_padding_mask=pad)):
            print(bf, list(kw), d(x,x,**kw))
class L(nn.TransformerEncoderLayer):
    def _sa_block(self, x, attn_mask, key_padding_mask):
        y, w = self.self_attn(x,x,x,attn_mask=attn_mask,key_padding_mask=key_padding_mask,need_weights=True)
        self.w = w.detach()
        return self.dropout1(y)
torch.manual_seed(1)
l=L(4,2,8,batch_first=True); print(l(torch.rand(2,3,4))); print(l.w); e=nn.TransformerEncoder(l,3); print(e.num_layers, e.layers[0].linear1.in_features, e.layers[1].self_attn.num_heads, e.layers[1].self_attn.batch_first)
