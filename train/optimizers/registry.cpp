#include "gradus/train/optimizers/registry.hpp"

#include "gradus/files/plain.hpp"
#include "gradus/train/optimizers/adamw.hpp"
#include "gradus/train/optimizers/lion.hpp"
#include "gradus/train/optimizers/muon.hpp"
#include "gradus/train/optimizers/rmsprop.hpp"

namespace gradus::train {
namespace {

AdamWOptions adamw_options(const OptimizerSettings& s) {
  return {.beta1 = s.beta1, .beta2 = s.beta2, .weight_decay = s.weight_decay};
}

MuonOptions muon_options(const OptimizerSettings& s) {
  return {.momentum = s.momentum, .adamw = adamw_options(s)};
}

LionOptions lion_options(const OptimizerSettings& s) {
  return {.beta1 = s.beta1, .beta2 = s.beta2, .weight_decay = s.weight_decay};
}

RMSpropOptions rmsprop_options(const OptimizerSettings& s) {
  return {.alpha = s.beta2, .weight_decay = s.weight_decay};
}

template <class O, auto options>
std::unique_ptr<Optimizer> make(NamedParameters parameters, const OptimizerSettings& s) {
  return std::make_unique<O>(std::move(parameters), options(s), s.groups);
}

template <class O>
OptimizerMemory buffers(const NamedParameters& parameters, DType /*products*/) {
  double values = 0;
  for (const NamedParameter& p : parameters)
    values += static_cast<double>(p.second.numel()) * static_cast<double>(O::buffer_names(p).size());
  return {.kept = 4 * values};
}

OptimizerMemory muon_memory(const NamedParameters& parameters, DType products) {
  return {buffers<Muon>(parameters, products).kept, muon_working_memory(parameters, products)};
}

}  // namespace

const std::vector<OptimizerKind>& optimizers() {
  static const std::vector<OptimizerKind> rows = {
      {"adamw", 1e-3, make<AdamW, adamw_options>, buffers<AdamW>},
      {"muon", 5e-3, make<Muon, muon_options>, muon_memory},
      {"lion", 3e-4, make<Lion, lion_options>, buffers<Lion>},
      {"rmsprop", 1e-3, make<RMSprop, rmsprop_options>, buffers<RMSprop>},
  };
  return rows;
}

const OptimizerKind& optimizer_kind(std::string_view name) {
  for (const OptimizerKind& row : optimizers())
    if (row.name == name) return row;
  fail("train", Option{"optimizer"}, " must be ", listed(column(optimizers(), &OptimizerKind::name)),
       ", got ", files::in_quotes(name), ".");
}

}  // namespace gradus::train
