"""The out_proj of attention as a module, own reset_parameters(), schedules that continue, bools, gradients of zero."""
import warnings
warnings.filterwarnings("ignore")
import torch, copy, io
from torch import nn
torch.manual_seed(0)
class N(nn.Module):
    def __init__(s):
        super().__init__(); s.e=nn.TransformerEncoderLayer(8,2,16); s.a=nn.MultiheadAttention(4,2); s.d=nn.TransformerDecoderLayer(8,2,16)
n=N()
print(sum(p.numel() for m in n.modules() for p in m.parameters()))
print([(k,[x for x,_ in m.named_parameters(recurse=False)]) for k,m in n.named_modules()])
dec,no=set(),set()
for mn,m in n.named_modules():
    for pn,p in m.named_parameters():
        f=f"{mn}.{pn}" if mn else pn
        if pn.endswith('bias'): no.add(f)
        elif pn.endswith('weight') and isinstance(m,nn.Linear): dec.add(f)
        elif pn.endswith('weight') and isinstance(m,nn.LayerNorm): no.add(f)
print(sorted(dec), sorted(no))
for m in n.modules():
    if isinstance(m,nn.Linear): m.requires_grad_(False)
print([k for k,p in n.named_parameters() if p.requires_grad])
o=n.a.out_proj; print(o is n.a.out_proj, o.state_dict(), len(list(o.parameters())), o.bias.requires_grad)
print(o.load_state_dict({'weight':torch.ones(4,4),'bias':torch.zeros(4)}), n.a.out_proj.weight.sum().item(), n.state_dict()['a.out_proj.weight'].sum().item())
c=copy.deepcopy(n.a); print(c.out_proj is n.a.out_proj, c.out_proj.weight.sum().item(), type(c.out_proj).__name__); c.out_proj.weight.data.zero_(); print(n.a.out_proj.weight.sum().item())
n.a.out_proj=nn.Linear(4,4); print(n.a.out_proj.weight.shape, n.a(torch.ones(1,1,4),torch.ones(1,1,4),torch.ones(1,1,4))[0].shape)
n.double(); print(n.a.out_proj.weight.dtype, n.e.self_attn.out_proj.bias.dtype); n.float()
opt=torch.optim.SGD([{'params':n.a.out_proj.parameters()},{'params':n.e.parameters(),'lr':.2}],lr=.1); print([len(g['params']) for g in opt.param_groups])
nn.utils.clip_grad_norm_(n.a.out_proj.parameters(),1.); n.a.out_proj.zero_grad(); n.eval(); print(n.a.out_proj.training)
class L(nn.LayerNorm):
    def reset_parameters(self):
        super().reset_parameters(); self.weight.data.fill_(2.)
print(L(3).weight.data)
class C(nn.Conv1d):
    def reset_parameters(self): super().reset_parameters()
torch.manual_seed(1); print(C(2,2,3).weight.sum(), torch.rand(1))
class G(nn.GRU):
    def reset_parameters(self): super().reset_parameters()
torch.manual_seed(1); print(G(2,2).weight_hh_l0.sum(), torch.rand(1))
class L2(nn.Linear):
    def reset_parameters(self): super().reset_parameters()
torch.manual_seed(1); print(L2(2,2).weight.sum(), torch.rand(1))
w=torch.ones(2,requires_grad=True); opt=torch.optim.SGD([w],lr=.3); opt.param_groups[0]['initial_lr']=.3
s=torch.optim.lr_scheduler.CosineAnnealingLR(opt,10,.01,last_epoch=4)
for _ in range(4): opt.step(); print(f"{s.get_last_lr()[0]:.6f}"); s.step()
m=torch.optim.lr_scheduler.MultiStepLR(opt,[1,2]); b=io.BytesIO(); torch.save(m.state_dict(),b); b.seek(0); print(torch.load(b))
l=torch.optim.lr_scheduler.LambdaLR(opt,lambda e: .5**e); l.load_state_dict({'base_lrs':[.3],'last_epoch':2,'lr_lambdas':[None],'_step_count':3,'_last_lr':[.1],'verbose':False,'_get_lr_called_within_step':False}); opt.step(); l.step(); print(l.get_last_lr())
q=torch.tensor([True,False]); print(True+q, False*q, q+True, 2*q, 1+q)
(w**3).sum().backward(create_graph=True); opt.zero_grad(set_to_none=False); print(w.grad, w.grad.requires_grad)
e=nn.TransformerEncoder(nn.TransformerEncoderLayer(4,2,8,activation=nn.functional.gelu,batch_first=True),1).eval()
print(type(e).__name__)
print(n.e, n.d)
o = n.e.self_attn.out_proj
print(o, list(o.modules()), o(torch.ones(1, 8)).shape)
