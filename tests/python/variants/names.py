# What each name prints, of tensors that require gradients.
import torch
import torch.nn.functional as F

torch.manual_seed(1)
x, y = torch.randn(3, 4, requires_grad=True), torch.rand(3, 4, requires_grad=True)
pos, sq = (torch.rand(3, 4) + 0.5).requires_grad_(), torch.randn(4, 4, requires_grad=True)
b3, idx, m = torch.randn(2, 3, 4, requires_grad=True), torch.tensor([0, 2, 1]), x.detach() > 0
EXPRESSIONS = """
x+y x-y x*y x/y x+1 1+x 1-x x-1 2*x x*2 x/2 2/x x**2 x**0.5 2**x x**y -x abs(x) x@sq x%2 x.abs() x.neg() x.exp() pos.log()
pos.log2() pos.log10() pos.sqrt() pos.rsqrt() x.tanh() x.sigmoid() x.relu() x.sin() x.cos() x.erf() x.floor() x.ceil() x.round()
x.trunc() x.sign() x.square() pos.reciprocal() x.clamp(min=0) x.clamp(-1,1) x.clamp(max=0.5) torch.clamp(x,0,1) torch.where(m,x,y)
torch.where(m,x,torch.tensor(0.)) x.masked_fill(m,0) x.masked_fill(m,-torch.inf) x.sum() x.sum(0) x.sum(dim=1,keepdim=True)
x.sum((0,1)) x.mean() x.mean(0) x.mean(-1,keepdim=True) x.prod() x.prod(0) x.var() x.var(0) x.var(dim=-1,unbiased=False) x.std()
x.std(0) x.std(dim=-1,keepdim=True) x.amax() x.amax(0) x.amin(1) x.max() x.min() x.max(0) x.min(dim=1) x.max(dim=1,keepdim=True)
torch.max(x,y) torch.min(x,y) torch.maximum(x,y) torch.minimum(x,y) x.argmax() x.argmax(1) x.argmin(0) x.cumsum(0) x.logsumexp(0)
x.logsumexp(-1) x.norm() x.norm(dim=1) torch.norm(x) x.softmax(0) torch.softmax(x,dim=-1) x.log_softmax(-1) F.softmax(x,dim=1)
F.log_softmax(x,dim=-1) x.T x.mT x.t() x.transpose(0,1) b3.transpose(1,2) b3.permute(2,0,1) x.reshape(4,3) x.view(2,6) x.view(-1)
x.reshape(-1) x.T.reshape(-1) x.flatten() b3.flatten(1) x.squeeze() x[None].squeeze(0) x.unsqueeze(0) x.expand(2,3,4) x.repeat(2,1)
x.repeat(1,2) x.flip(0) x.roll(1,0) x.narrow(0,0,2) x.select(0,1) x.split(2) x.split([1,2]) x.chunk(2,1) x.unbind(0) x.contiguous()
x.T.contiguous() x.clone() x.detach() x.double() x.float() x.long() x.bool() x.to(torch.float64) x.type(torch.float64) x.type()
x.index_select(0,idx) x.gather(1,idx[:,None]) torch.cat([x,y]) torch.cat((x,y),dim=1) torch.stack([x,y]) torch.hstack([x,y])
torch.vstack([x,y]) torch.outer(x[0],y[0]) torch.dot(x[0],y[0]) x[0]@y[0] sq@x[0] x@b3.mT b3@sq b3@b3.transpose(1,2)
torch.bmm(b3,b3.transpose(1,2)) torch.matmul(x,sq) torch.mm(x,sq) torch.einsum('ij,kj->ik',x,y) torch.einsum('bij,bkj->bik',b3,b3)
torch.tril(x) torch.triu(x,1) torch.diag(sq) torch.diag(x[0]) torch.trace(sq) x[0] x[0,1] x[:,1] x[:2] x[1:,::2] x[...,0] x[None]
x[:,None] x[m] x[idx] x[idx,idx] x[[0,1]] x[-1] x[:,-1] x[:,[0,2]] x[0][1] x.masked_select(m) x.nonzero() m.nonzero()
torch.nonzero(m) m.sum() m.float() ~m m&m m|m m^m m.any() m.all() m.any(0) m.all(dim=1) x>0 x==x x!=y x<y x<=0 x>=0 x.isnan()
x.isinf() torch.isfinite(x) x.sort() x.sort(1,descending=True) x.argsort() x.topk(2) torch.topk(x,2,dim=0) torch.sort(x[0])
torch.unique(idx) torch.bincount(idx) x.numel() x.shape x.size() x.size(0) x.size(-1) x.dim() x.ndim x.dtype x.device
x.requires_grad x.is_leaf x.grad x.grad_fn x.stride() x.is_contiguous() x.T.is_contiguous() x.tolist() x[0,0].item() len(x) x.data
x.element_size() x.storage_offset() list(x) x.nelement() torch.is_tensor(x) torch.numel(x) torch.zeros(2,3) torch.ones(2)
torch.eye(3) torch.full((2,2),3.5) torch.full((2,),1) torch.arange(5) torch.arange(1,2,0.25) torch.arange(0,10,3)
torch.linspace(0,1,5) torch.zeros_like(x) torch.ones_like(x) torch.rand_like(x) torch.randn_like(x) torch.full_like(x,2)
torch.empty(0) torch.tensor([]) torch.tensor(3) torch.tensor(3.5) torch.tensor([1,2]) torch.tensor([True,False])
torch.tensor([1e-8,1.0]) torch.tensor([1e8,1.0]) torch.tensor([float('nan'),float('inf'),-1.])
torch.tensor([[1.5,2],[3,4]],dtype=torch.float64) torch.tensor([1.,2.],requires_grad=True) torch.tensor([1000000.,0.001])
torch.tensor([123456789]) torch.zeros(0,3) torch.zeros(2,0) torch.ones(2,3,dtype=torch.int64) torch.ones(2,dtype=torch.bool)
torch.rand(2,2) torch.randn(2,2,dtype=torch.float64) torch.randint(0,10,(3,)) torch.randint(5,(2,2)) torch.randperm(5)
torch.normal(0.,1.,(2,)) torch.multinomial(torch.tensor([.1,.9]),3,replacement=True) torch.bernoulli(torch.full((4,),.5))
torch.allclose(x,x) torch.equal(x,y) torch.isclose(x,x) torch.empty(2,3).shape torch.float32 torch.get_default_dtype()
torch.finfo(torch.float32).eps torch.Size([1,2]) torch.device('cpu') torch.inf torch.pi F.relu(x) F.gelu(x) F.silu(x)
F.leaky_relu(x,0.1) F.elu(x) F.softplus(x) F.logsigmoid(x) F.mish(x) F.dropout(x,0.5) F.dropout(x,0.5,training=False)
F.layer_norm(x,(4,)) F.linear(x,sq) F.linear(x,sq,sq[0]) F.embedding(idx,sq) F.one_hot(idx) F.one_hot(idx,5) F.cross_entropy(x,idx)
F.cross_entropy(x,idx,reduction='none') F.cross_entropy(x,idx,reduction='sum') F.nll_loss(F.log_softmax(x,1),idx) F.mse_loss(x,y)
F.l1_loss(x,y) F.smooth_l1_loss(x,y) F.huber_loss(x,y) F.binary_cross_entropy(y,y.detach())
F.binary_cross_entropy_with_logits(x,y.detach()) F.normalize(x,dim=1) F.cosine_similarity(x,y) F.pad(x,(1,1))
F.pad(x,(0,1,2,0),value=9.) F.avg_pool1d(x[None],2) F.max_pool1d(x[None],2) F.conv1d(x[None],torch.ones(2,3,2)) F.unfold(b3[None],2)
x.new_zeros(2) x.new_ones(2,2) x.new_empty(2,3).shape x.new_full((2,),7.) x.new_tensor([1,2]) x.add(y) x.sub(y) x.mul(y) x.div(y) x.pow(2)
torch.add(x,y,alpha=2) torch.sub(x,y) torch.mul(x,2) torch.div(x,y) torch.pow(x,2) torch.square(x) torch.sqrt(pos) torch.exp(x)
torch.tanh(x) torch.sigmoid(x) torch.relu(x) torch.abs(x) torch.sum(x,dim=0) torch.mean(x,dim=0) torch.var(x,dim=0)
torch.std(x,dim=-1) torch.transpose(x,0,1) torch.reshape(x,(2,6)) torch.squeeze(x) torch.unsqueeze(x,1) torch.flatten(x)
torch.argmax(x,dim=1) torch.max(x,dim=1) torch.min(x) torch.cumsum(x,0) torch.masked_fill(x,m,0.) torch.logical_and(m,m)
torch.logical_not(m) torch.sign(x) torch.floor(x) torch.round(x) torch.chunk(x,2) torch.split(x,2) torch.gather(x,1,idx[:,None])
torch.index_select(x,0,idx) torch.scatter(x,1,idx[:,None],1.) torch.flip(x,[0]) torch.roll(x,1) torch.repeat_interleave(x,2,dim=0)
x.repeat_interleave(2,0) torch.broadcast_to(x,(2,3,4)) torch.std_mean(x) torch.median(x) torch.count_nonzero(m) torch.tile(x,(2,1))
torch.triu_indices(3,3) torch.tril_indices(2,2) torch.argwhere(m) torch.rsqrt(pos) torch.remainder(x,2)
torch.floor_divide(x.detach(),2) torch.swapaxes(x,0,1) torch.masked_select(x,m) torch.mv(sq,x[0]) torch.inner(x,y)
torch.zeros(2).fill_(3) torch.ones(2).add_(1) torch.ones(2).mul_(3) torch.zeros(3).copy_(torch.arange(3.)) torch.empty(2).uniform_()
torch.empty(2).normal_()
"""
for expression in EXPRESSIONS.split():
    torch.manual_seed(5)
    print(expression, eval(expression))
print(torch.arange(3) * 2.0, torch.arange(3) + 1.0, 1.5 - torch.arange(3), torch.arange(3) ** 2.0, torch.arange(3) * 2)
for wrong in (lambda: x[5], lambda: x.softmax(3)):
    try:
        wrong()
    except IndexError as error:
        print(isinstance(error, IndexError))
