// ModelFiles: how a model gets to disk, and the texts that stand beside it in a run folder.
#pragma once

#include <functional>
#include <map>
#include <string>

#include "gradus/files/folder.hpp"
#include "gradus/nn/module.hpp"
#include "gradus/train/trainer/recipe.hpp"

namespace gradus::train {

struct ModelFiles {
  /// Stages model.safetensors, and a config.json if there is one. May borrow the model.
  std::function<void(files::FolderUpdate&)> model;
  std::string recipe;                                 ///< train.json: what was asked for
  std::map<std::string, std::string> tokenizer = {};  ///< its files (data::tokenizer_files), if there is one
};

/// Those of any model, which is borrowed: its state dict, and the numbers of the recipe.
ModelFiles model_files(const nn::Module& model, const Recipe& recipe);

/// Throws Error, naming all, if tensors in such files have other names or shapes than the model's.
void check_parameters(const nn::Module& model, const files::FolderSnapshot& files);
/// Copies the parameters and buffers of such files into the model. Throws Error, having changed nothing, if
/// they are missing, damaged or another model's.
void load_parameters(nn::Module& model, const files::FolderSnapshot& files);

}  // namespace gradus::train
