// The time of a training step on several machines, by arithmetic: what SharedGradients sends, on a model of a
// network. All machines are equal. Each has its own link to a switch, and the switch has no
// limit. A machine sends a gradient to the owner of its parameter when it is there; owners update, and send
// the values to all others. rehearse() measures what one machine computes. Seconds and bytes. Thread-safe: no
// state.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "gradus/train/train_config.hpp"

namespace gradus::plan {

/// The link of a machine, the same in both directions.
struct Network {
  double bandwidth = 0;  ///< bytes a second that TCP carries
  double latency = 0;    ///< of a message, one way
};
/// The network of a name, or of "200Mbit,1.5ms": rate, and delay one way. Throws Error for another text.
Network network_from(const std::string& text);

/// A parameter.
struct Part {
  double values = 0;
  double cost = 0;   ///< of its update (Optimizer::update_cost)
  double early = 0;  ///< how long before the end of the last backward its gradient is there
};
/// The owner of each part, as SharedGradients chooses it.
std::vector<int> owners(const std::vector<Part>& parts, int64_t machines);

/// The work of a step.
struct Work {
  int64_t machines = 1;
  double compute = 0;            ///< of the busiest machine: all its passes
  double update = 0;             ///< of the owner that has the most to do
  std::vector<Part> parts = {};  ///< all parameters
  double value_bytes = 4;        ///< in messages
  int64_t sums = 1;              ///< of gradients that a machine sends apart for each parameter
  int64_t busy_cores = 0;        ///< of a machine, among which messages find no free one; 0: they find one
};

/// Where the time of a step goes.
struct StepTime {
  double compute = 0;
  double gradients = 0;  ///< on the wire after backward has ended
  double update = 0;
  double parameters = 0;  ///< on the wire after the update has ended
  double latency = 0;     ///< of the messages that all wait for
  double messages = 0;    ///< processor time of the messages that the computation waits for
  double received = 0;    ///< bytes: the gradients of the others on the owner of the most values
  double total() const { return compute + gradients + update + parameters + latency + messages; }
};
StepTime step_time(const Work& work, const Network& network);

/// How the windows of a step are split.
struct Split {
  int64_t micro = 1;    ///< micro-batches of the step
  int64_t windows = 1;  ///< of a pass, forward and backward
  int64_t passes = 1;   ///< of the machine that has the most
};

/// The work of a step of `config`, split so, on `machines` machines. Times are medians over steps on random
/// tokens, about `seconds` of them.
Work rehearse(train::TrainConfig config, const Split& split, int64_t machines, double seconds);

}  // namespace gradus::plan
