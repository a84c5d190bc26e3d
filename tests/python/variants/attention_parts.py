"""The parts of attention as modules of their own, what may take the place of a parameter, views of members, cycles, pickles."""
import warnings
warnings.filterwarnings("ignore")
import torch, copy, pickle
from torch import nn
from torch.nn.utils.stateless import functional_call
def tr(f):
    try: print(f())
    except Exception as e: print(type(e).__name__, e)
torch.manual_seed(0)
x = torch.randn(2,1,8)
m = nn.MultiheadAttention(8,2); print(m(x,x,x)); print(m)
class LoRA(nn.Module):
    def __init__(s, l): super().__init__(); s.l = l; s.a = nn.Parameter(torch.ones(8,8))
    weight = property(lambda s: s.l.weight + s.a); bias = property(lambda s: s.l.bias)
m = nn.MultiheadAttention(8,2); m.out_proj = LoRA(m.out_proj); print(m(x,x,x), list(m.state_dict()), m)
torch.manual_seed(0); m = nn.MultiheadAttention(8,2,batch_first=True,dtype=torch.float64); print(m.in_proj_weight.sum(), torch.rand(1))
# -- initial values in each dtype, and own ones
for f in (lambda: nn.TransformerEncoderLayer(8,2,16,dtype=torch.float64), lambda: nn.TransformerDecoderLayer(8,2,16,dtype=torch.float64),
        lambda: nn.Transformer(8,2,1,1,16,dtype=torch.float64), lambda: nn.MultiheadAttention(8,2,kdim=4,vdim=6),
        lambda: nn.MultiheadAttention(8,2,add_bias_kv=True,add_zero_attn=True)):
    torch.manual_seed(0); m=f(); print([(n,round(p.sum().item(),4),p.dtype) for n,p in m.named_parameters()], torch.rand(1))
class A(nn.MultiheadAttention):
    def _reset_parameters(self): print("own"); super()._reset_parameters(); nn.init.ones_(self.in_proj_weight)
print(A(4,2).in_proj_weight.sum())
class B(nn.Transformer):
    def _reset_parameters(self): print("own transformer", [n for n,_ in self.named_children()])
B(4,2,1,1,8)
torch.manual_seed(0); m=nn.MultiheadAttention(4,2); m._reset_parameters(); print(m.in_proj_weight)
# -- one module in two places
class S(nn.Module):
    def __init__(s): super().__init__(); s.a=nn.MultiheadAttention(8,2); s.o=s.a.out_proj
s=S(); print(list(s.state_dict()), [n for n,_ in s.named_parameters()], s)
c=copy.deepcopy(s); print(c.o is c.a.out_proj, c.o.weight is c.a.out_proj.weight); print(s.load_state_dict(c.state_dict()))
# -- other parts, other attributes
for ch in ("m.out_proj=nn.Linear(8,8,bias=False)","m.out_proj.bias=None","m.in_proj_bias=None","m.out_proj=nn.Identity()",
        "del m.out_proj","m.head_dim=2","m.out_proj=nn.Linear(8,5)","m.out_proj=3","m.in_proj_weight=torch.ones(24,8)","m.num_heads=4",
        "m.dropout=.5;m.eval()","m.batch_first=True", "m.register_buffer('bb',torch.ones(1))", "m.extra=nn.Linear(1,1)",
        "m.out_proj.requires_grad_(False)", "m.out_proj.tag='t'; m=copy.deepcopy(m); print(m.out_proj.tag)", "m=copy.deepcopy(m.out_proj)"):
    torch.manual_seed(1); m=nn.MultiheadAttention(8,2)
    print(ch)
    def go():
        g=dict(m=m,nn=nn,torch=torch,copy=copy); exec(ch,g); k=g["m"]; print(k, list(k.state_dict()), [n for n,_ in k.named_parameters()])
        return k(x,x,x) if isinstance(k, nn.MultiheadAttention) else None
    tr(go)
m=nn.MultiheadAttention(8,2,bias=False); m.out_proj=nn.Linear(8,8); print(m(x,x,x), list(m.state_dict()))
m=nn.MultiheadAttention(8,2); print(m._qkv_same_embed_dim, m.bias_k, m.q_proj_weight, m.kdim, m.vdim, m.head_dim, m.add_zero_attn)
m=nn.MultiheadAttention(8,2,kdim=4,vdim=6)
print(m._qkv_same_embed_dim, m.in_proj_weight, m.q_proj_weight.shape, m.kdim, m.vdim, list(m.state_dict()), m(x, torch.randn(3,1,4),
        torch.randn(3,1,6)))
causal=torch.ones(2,2).triu(1); m=nn.MultiheadAttention(8,2); print(m(x,x,x,attn_mask=causal.byte()))
m=nn.MultiheadAttention(8,2,add_bias_kv=True,add_zero_attn=True)
print(m(x,x,x,attn_mask=causal.bool()), m(x,x,x,key_padding_mask=torch.tensor([[False,True]])), m(x[:,0],x[:,0],x[:,0],
        average_attn_weights=False))
y=torch.randn(3,1,8); print(m(x,y,y), m(x,y,y+1))
tr(lambda: m(x,y,x)); tr(lambda: m(x[:,:,:4],x[:,:,:4],x[:,:,:4])); tr(lambda: m(x,x,x,key_padding_mask=torch.ones(1,2).byte()))
# -- queries without keys
m=nn.MultiheadAttention(8,2); mask=torch.tensor([[True,True],[False,False]])
for kw in ({}, {"need_weights":False}):
    m.zero_grad(); o,_=m(x,x,x,attn_mask=mask,**kw); o[:,1:].sum().backward()
    print(o, m.in_proj_weight.grad.isnan().any(), m.out_proj.weight.grad)
# -- padding as numbers
torch.manual_seed(0)
e=nn.TransformerEncoder(nn.TransformerEncoderLayer(8,2,16,batch_first=True),2).eval(); z=torch.randn(2,3,8)
with torch.no_grad():
    for pad in ([[0,0,-float("inf")],[0,-float("inf"),-float("inf")]], [[0,0,-.5],[0,0,0]], [[0.,0,0],[0,0,0]]):
        tr(lambda: e(z,src_key_padding_mask=torch.tensor(pad)))
tr(lambda: nn.MultiheadAttention(10,3))
# -- what may take the place of a parameter, a module and a buffer
class M(nn.Module):
    def __init__(s):
        super().__init__(); s.p=nn.Parameter(torch.ones(2)); s.l=nn.Linear(2,2); s.register_buffer("b", torch.zeros(2)); s.x=3
        s.register_buffer("n", None, persistent=False)
    def forward(s,x): return s.l(x)*s.p
m=M()
for n,v in (("p",torch.ones(2)),("p",3),("p",None),("p",nn.Parameter(torch.ones(3))),("l",3),("l",None),("l",nn.Linear(2,3)),("b",3),("b",
        None),("b",torch.ones(3)),("b",nn.Parameter(torch.ones(1))),("x",torch.ones(1)),("x",nn.Linear(1,1)), ("l",
        nn.Parameter(torch.ones(1))), ("l",[1])):
    m=M()
    def go(): setattr(m,n,v); return list(m.state_dict()), [k for k,_ in m.named_parameters()], [k for k,_ in m.named_buffers()]
    print(n, type(v).__name__); tr(go)
for n,v in (("weight",torch.ones(2,2)),("bias",torch.ones(2)),("bias",3),("bias",None),("weight",nn.Parameter(torch.ones(2,2)))):
    m=nn.Linear(2,2)
    def go(): setattr(m,n,v); return list(m.state_dict()), [k for k,_ in m.named_parameters()], m(torch.ones(2)).shape
    print(n, type(v).__name__); tr(go)
m=nn.Linear(2,2,bias=False)
def go(): m.bias=torch.ones(2)
tr(go)
def go(): m.bias=nn.Parameter(torch.ones(2)); return list(m.state_dict()), m(torch.zeros(2)), m
tr(go)
b=nn.BatchNorm1d(2)
def go(): b.running_mean=torch.ones(2); b.running_mean=3
tr(go)
l=nn.Linear(1,1)
tr(lambda: nn.ModuleList([1])); tr(lambda: nn.Sequential(l,3)); tr(lambda: nn.ModuleDict({"a":1})); tr(lambda: nn.ModuleList([l]).append(2))
tr(lambda: nn.ModuleList([l]).extend([2]))
tr(lambda: nn.Sequential(l).append(torch.ones(1)))
q=nn.ModuleList([l]); q+=[nn.ReLU()]; q.insert(0,nn.Tanh()); print(q, len(q)); q.extend([nn.ReLU()]); q[0]=nn.GELU(); print(q)
q=nn.ModuleList(); print(q, len(nn.ModuleDict()), nn.Sequential())
q=nn.ModuleDict({"a":l}); q.update({"b":nn.ReLU()}); q.update([("c",nn.Tanh())]); print(q, list(q.keys()), "a" in q); q2=nn.ModuleDict(q)
print(q2)
print(nn.Sequential(*nn.Sequential(l,nn.ReLU())), nn.Sequential(l,nn.ReLU())[:1])
for n,v in (("q",torch.ones(1)),("a.b",torch.ones(1)),("",torch.ones(1)),("b",torch.ones(3)),("r",3),("r",None),("r",[1]),("r",
        torch.ones(2))):
    m=M(); m.q=1
    tr(lambda: (m.register_buffer(n,v), list(m.state_dict()), [k for k,_ in m.named_buffers()]))
for n,v in (("q",nn.Parameter(torch.ones(1))),("a.b",nn.Parameter(torch.ones(1))),("",nn.Parameter(torch.ones(1))),("p",
        nn.Parameter(torch.ones(3))),("r",3),("r",None),("r",torch.ones(2)),("l",nn.Parameter(torch.ones(3)))):
    m=M(); m.q=1
    tr(lambda: (m.register_parameter(n,v), list(m.state_dict()), [k for k,_ in m.named_parameters()]))
for n,v in (("q",l),("a.b",l),("",l),("l",nn.ReLU()),("r",3),("r",None),("r",torch.ones(2)),("p",l),("r",l)):
    m=M(); m.q=1
    tr(lambda: (m.add_module(n,v), list(m.state_dict()), [k for k,_ in m.named_modules()]))
m=M()
print(list(m._modules), list(m._parameters), list(m._buffers), m._buffers["b"], m._modules["l"] is m.l, m._parameters["p"] is m.p,
        list(l._parameters), list(b._buffers))
print(m.get_buffer("b"), m.get_parameter("l.weight").shape, m.get_submodule("l"))
print(list(m.state_dict(prefix="x.")), m.state_dict(keep_vars=True)["l.weight"].requires_grad, m.state_dict(keep_vars=True)["p"] is m.p)
d={}; l.state_dict(prefix="h.", destination=d); print(list(d))
class C(nn.Module):
    def __init__(s, up): super().__init__(); s.up=up; s.w=nn.Parameter(torch.ones(1))
class P(nn.Module):
    def __init__(s): super().__init__(); s.me=s; s.c=C(s); s.l=nn.Linear(1,1); s.list=[1]; s.list.append(s.list); s.list.append(s)
p=P()
print([n for n,_ in p.named_parameters()], [n for n,_ in p.named_modules()], [n for n,_ in p.c.named_parameters()],
        len(list(p.parameters())), [n for n,_ in p.named_children()])
p.zero_grad(); torch.optim.SGD(p.parameters(),.1); c=copy.deepcopy(p); print(c.me is c, c.c.up is c, c.list[1] is c.list)
p.requires_grad_(False)
for f in (lambda: nn.Linear(2,2), lambda: nn.Sequential(nn.Linear(2,2),nn.ReLU(),nn.LayerNorm(2),nn.Dropout(.1)),
        lambda: nn.MultiheadAttention(4,2), lambda: nn.TransformerEncoderLayer(4,2,8), M,
        lambda: nn.ModuleList([nn.Embedding(2,2,padding_idx=0)]), lambda: nn.BatchNorm1d(2),
        lambda: nn.ParameterList([nn.Parameter(torch.ones(1))]), lambda: nn.ModuleDict({"a":nn.GRU(2,2)}), lambda: nn.LSTM(2,2).eval(),
        lambda: nn.Conv1d(2,2,3,bias=False).double(), lambda: nn.Linear(2,2,bias=False), lambda: nn.Linear(2,2).requires_grad_(False)):
    m=f(); r=pickle.loads(pickle.dumps(m))
    print(r, r.training, type(r) is type(m), all(torch.equal(a,b) for a,b in zip(m.state_dict().values(), r.state_dict().values())),
            list(r.state_dict())==list(m.state_dict()), [x.requires_grad for x in r.parameters()])
    s=copy.copy(m); print(s, [a is b for a,b in zip(m.parameters(), s.parameters())]); k=copy.deepcopy(m); print(k, k.training)
m=nn.Sequential(nn.Linear(2,2),nn.Linear(2,2)); m[1].weight=m[0].weight; r=pickle.loads(pickle.dumps(m))
print(r[1].weight is r[0].weight, len(list(r.parameters())))
print(nn.Linear.__name__, nn.ReLU.__qualname__)
print(nn.MultiheadAttention(4,2).training, isinstance(nn.MultiheadAttention(4,2).out_proj, nn.Linear), nn.MultiheadAttention(4,
        2).eval().out_proj.training)
# -- other tensors in the place of parameters
m=M(); print(functional_call(m,{"p":torch.zeros(2),"b":torch.ones(2)*3,"l.bias":torch.ones(2)},(torch.ones(2),)), m.p, list(m.state_dict()))
w=torch.ones(2,2,requires_grad=True); functional_call(nn.Linear(2,2),{"weight":w*3},torch.ones(2)).sum().backward(); print(w.grad)
# -- layers that have attributes before they are made, sums of lists, dtypes of lists of parameters
class L(nn.Linear):
    def __init__(s,n): s.n=n; super().__init__(n,n)
print(L(2), L(2).n)
l=nn.ModuleList([nn.Linear(1,1)]); print(l+nn.ModuleList([nn.Tanh()]), type(l+l).__name__)
class K(nn.Module):
    def __init__(s): super().__init__(); s.p=nn.ParameterList([nn.Parameter(torch.ones(1))]); s.d=nn.ParameterDict({"x":torch.ones(1)})
k=K().double(); print(k, list(k.state_dict())); print(copy.deepcopy(k).p[0] is k.p[0], pickle.loads(pickle.dumps(k)))
tr(lambda: setattr(k,"p",3)); tr(lambda: nn.Sequential([nn.ReLU()])); tr(lambda: nn.ModuleDict({"a":nn.ReLU()}).update({"c":1}))
class K(nn.Module):
    def __init__(s): super().__init__(); s.p=nn.ParameterList([nn.Parameter(torch.ones(1))]); s.d=nn.ParameterDict({"x":torch.ones(1)})
    def forward(s,x): return s.p[0]*s.d["x"]*x
k=K(); v=torch.ones(1,requires_grad=True); functional_call(k,{"p.0":v*2,"d.x":v*3},(torch.ones(1),)).backward(); print(v.grad, k(v), k.p)
