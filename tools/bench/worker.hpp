// Workers: the processes that a comparison runs in turn. Each reads a command a line, and answers a JSON
// object a line, first of all when it is ready.
//
//   ready          {"losses":[..]} of the first batch in evaluation mode; unless it drops at random also of
//                  two training steps. For generate also {"tokens":[..]}; {} for floors.
//   run SEC STEPS  steps until SEC seconds have gone by or STEPS steps, one at least, after some that do not
//                  count: {"ms_median":..,"ms_min":..,"steps":..}, by step or generated token
//   ops STEPS      {"ops":[{"op":..,"forward":..,"backward":..},..],"ms":..}: ms a step by op, and in all
//   memory         {"peak_mib":..}, resident, from when the model stood before its first step
//
// The PyTorch twin, torch_twin.py, is such a worker too. A worker ends when its input does.
#pragma once

#include <iosfwd>
#include <string>

#include "gradus/tools/bench/workload.hpp"

namespace gradus::bench {

/// Steps of the workload. If `save` is a path, first writes there, as safetensors, the initial parameters,
/// and as "tokens" (16, B, T + 1) the batches, which are taken one after another over and over: x is all but
/// the last token of each row, y all but the first.
void run_steps(const Workload& workload, const std::string& save, std::istream& in, std::ostream& out);

/// What the machine takes for the workload's products alone, made through BLAS one size after another, or, if
/// that is less, for as many multiplications and additions at nine tenths of its peak; for generate, for
/// reading all parameters once. Each size counts with its median, and the faster of BLAS's own threads and
/// one product a thread.
void run_floor(const Workload& workload, std::istream& in, std::ostream& out);

}  // namespace gradus::bench
