# What layers print.
import torch
from torch import nn

LAYERS = """
nn.Linear(2,3) nn.Linear(2,3,bias=False) nn.Embedding(4,5) nn.Dropout(0.1) nn.Dropout(0.2,inplace=False) nn.LayerNorm(4) nn.LayerNorm((4,))
nn.LayerNorm([4],eps=1e-6) nn.BatchNorm1d(3) nn.BatchNorm2d(3) nn.GroupNorm(2,4) nn.Conv1d(1,2,3) nn.Conv1d(1,2,3,padding=1,stride=2)
nn.Conv2d(1,2,3) nn.Conv2d(3,6,(3,5),stride=2,padding=1,bias=False) nn.Conv2d(4,4,3,groups=2,dilation=2) nn.MaxPool2d(2)
nn.MaxPool2d(3,stride=2,padding=1) nn.MaxPool2d((2,3)) nn.AvgPool2d(2) nn.AvgPool2d(2,stride=1) nn.ReLU() nn.ReLU(inplace=True)
nn.GELU(approximate='tanh') nn.LeakyReLU(0.2) nn.Softmax(dim=-1) nn.Flatten() nn.CrossEntropyLoss() nn.GRU(2,3,num_layers=2,dropout=0.1)
nn.LSTM(2,3,bidirectional=True,batch_first=True)
nn.MultiheadAttention(4,2,dropout=0.1,batch_first=True) nn.MultiheadAttention(4,2,bias=False)
nn.TransformerEncoderLayer(4,2) nn.TransformerEncoderLayer(4,2,8,batch_first=True,activation='gelu') nn.TransformerDecoderLayer(4,2,8)
nn.TransformerEncoder(nn.TransformerEncoderLayer(4,2,8),2) nn.TransformerDecoder(nn.TransformerDecoderLayer(4,2,8),1,nn.LayerNorm(4))
nn.Sequential(nn.Linear(2,3),nn.ReLU(),nn.Linear(3,1)) nn.Sequential(nn.Linear(2,3),nn.ReLU(),nn.Linear(3,1))[1:]
nn.ModuleList([nn.Linear(1,1),nn.Linear(1,2)]) nn.ModuleList([nn.Linear(1,1),nn.ReLU()])[1:] nn.ModuleDict({'a':nn.Linear(1,2),'b':nn.ReLU()})
nn.ModuleList() nn.Sequential(nn.Sequential(nn.Linear(1,1)),nn.ModuleList([nn.ReLU()])) list(nn.ModuleDict({'a':nn.ReLU()}))
"""
for layer in LAYERS.split():
    print(layer, eval(layer))
