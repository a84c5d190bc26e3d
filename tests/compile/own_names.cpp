// A program that uses the whole library unqualified, and names that a program or other headers may have.
#include <bits/stdc++.h>  // has these names itself

// X11, complex.h, windows.h, curses.h, termios.h, AssertMacros.h of macOS, compilers of GNU C++.
#define None 0L
#define Bool int
#define Status int
#define Success 0
#define True 1
#define False 0
#define Always 2
#define Complex 0
#define I _Complex_I
#define near
#define far
#define small char
#define interface struct
#define ERROR 0
#define IN
#define OUT
#define TRUE 1
#define FALSE 0
#define OK 0
#define ERR (-1)
#define ECHO 0000010
#define B0 0000000
#define linux 1
#define unix 1
#define min(a, b) ((a) < (b) ? (a) : (b))
#define max(a, b) ((a) > (b) ? (a) : (b))
#define check(assertion)
#define verify(assertion)

#include "gradus/gradus.hpp"

using namespace gradus;

struct Block {};
struct PackedCache {};
struct Dims {};
struct Edge {};
struct Extreme {};
struct HookList {};
struct Index {};
struct Node {};
struct Product {};
struct Products {};
struct Ref {};
struct RefCounted {};
struct Sorted {};
struct Storage {};
struct TensorImpl {};
enum class Phase { warm_up, training };
using Clock = std::chrono::steady_clock;
bool anomaly_mode = false;
int running_op = 0;

void take(Block, PackedCache, Dims, Edge, Extreme, HookList, Index, Node, Product, Products, Ref, RefCounted,
          Sorted, Storage, TensorImpl);

struct Program {
  Phase phase = Phase::warm_up;
  Clock::time_point start;
};

// What these are for in the library is to be had without their names.
Tensor twice(const Tensor& x) {
  return record(OpName::custom("twice"), 2.0 * x.detach(), {{x, [](const Tensor& gy) { return 2.0 * gy; }}});
}

int main() {
  const Program program;
  const auto [values, places] = sort(twice(ones({3})), 0);
  const auto [y, slope] = vjp(twice, values.index({Slice(0, 2), NewDim()}));
  return anomaly_mode || running_op > 0 || program.phase == Phase::training || !y.defined() ? 1 : 0;
}
