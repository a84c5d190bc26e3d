"""Members of modules: their order, hidden ones, modes of their own, buffers that go, views that are written, groups and schedules."""
import torch
import torch.nn as nn

torch.manual_seed(0)
class Fz(nn.BatchNorm1d):
    def train(s, mode=True): return super().train(False)
n = nn.Sequential(Fz(2)).train(); print(n[0].training, n(torch.tensor([[1.,2],[3,4]])))
class Merge(nn.Module):
    def __init__(s): super().__init__(); s.l = nn.Linear(2,2); s.merged = False
    def train(s, mode=True): s.merged = not mode; return super().train(mode)
m = nn.Sequential(Merge(), nn.Dropout(.5)); m.eval(); print(m[0].merged, m[1].training, m[0].l.training); m.train(); print(m[0].merged, m[0].l.training)
class M(nn.Module):
    def __init__(s):
        super().__init__(); s.b = None; s.a = nn.Linear(2,2); s.b = nn.Linear(2,3); s.w = None; s.v = nn.Parameter(torch.ones(1)); s.w = nn.Parameter(torch.ones(2))
        s.register_parameter('k', None); s.q = nn.Parameter(torch.ones(1)); s.k = nn.Parameter(torch.zeros(1))
print(list(M().state_dict()), M())
class H(nn.Module):
    def __init__(s, e): super().__init__(); object.__setattr__(s, 'enc', e); s.l = nn.Linear(2,2); s.__dict__['p'] = nn.Parameter(torch.ones(1))
e = nn.Linear(2,2); h = H(e); print([n for n,_ in h.named_parameters()]); h.eval(); print(e.training, h, list(h.state_dict())); h.double(); print(e.weight.dtype, h.p.dtype)
h.l.__dict__['parent'] = h; print(h)
o = torch.optim.SGD([nn.Parameter(torch.ones(1))], lr=1.); s = torch.optim.lr_scheduler.StepLR(o,1,.5)
o.add_param_group({'params':[nn.Parameter(torch.ones(1))],'lr':2.}); o.step(); s.step(); print(s.get_last_lr())
m = nn.Module(); m.register_buffer('b', torch.zeros(1)); del m.b; m.b = torch.ones(1); print(list(m.state_dict()))
m = nn.Module(); m.register_buffer('b', torch.zeros(1)); m.b = None; print(list(m.state_dict()), dict(m._buffers)); m.b = torch.ones(1); print(list(m.state_dict()))
s = torch.optim.lr_scheduler.ExponentialLR(torch.optim.SGD([nn.Parameter(torch.ones(1))], lr=1.), .5, verbose=True); s.optimizer.step(); s.step()
p = nn.Parameter(torch.arange(6.).view(2,3).T); o = torch.optim.SGD([p], lr=.1); (p*p).sum().backward(); o.step(); print(p, p.shape)
l = nn.Linear(2,3); w = torch.arange(6.).view(2,3); l.weight = nn.Parameter(w.T); o = torch.optim.Adam(l.parameters(), lr=.1); l(torch.ones(1,2)).sum().backward(); o.step(); print(l.weight, l(torch.ones(1,2)))
m = nn.Module(); m.load_state_dict({}); a = nn.Linear(2,2); a.load_state_dict(dict(nn.Linear(2,2).named_parameters())); print(a.weight)
q = nn.Sequential(nn.Linear(2,2), nn.ReLU()); q._modules['1'] = nn.Tanh(); print(q); 
for name, c in list(q._modules.items()):
    if isinstance(c, nn.Tanh): q._modules[name] = nn.Sigmoid()
print(q(torch.ones(1,2)), list(q._modules))
m = M(); del m._parameters['v']; print(list(m.state_dict())); m._buffers; print(m._modules.pop('a'), list(m.state_dict()))
t = nn.Transformer(8,2,1,1,16,0.,'relu',None,None,1e-5,True); x = torch.randn(2,3,8); print(t(x,x).shape, t.encoder.layers[0].self_attn.batch_first)
t = nn.Transformer(8,2,1,1,16,0.,custom_encoder=nn.Identity() if False else None); print(sum(p.numel() for p in t.parameters()))
print([n for n,_ in t.named_buffers()], list(M().buffers(recurse=False)))
q._modules.update({'1': nn.ReLU(), '2': nn.Tanh()}); print(q, len(q._modules), list(q._modules), '0' in q._modules, q._modules.get('9'))
