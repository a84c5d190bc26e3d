#include "gradus/tools/bench/torch_twin.hpp"

#include <algorithm>
#include <cstdlib>

#include "gradus/autograd/kernels/blas/blas_kernels.hpp"
#include "gradus/autograd/kernels/isa/isa.hpp"
#include "gradus/files/error.hpp"
#include "gradus/tools/embedded.hpp"

namespace gradus::bench {

Torch find_torch(const std::string& python) {
  const std::vector<std::string> candidates =
      python.empty() ? std::vector<std::string>{"python3", "/usr/bin/python3"} : std::vector{python};
  for (const std::string& candidate : candidates) {
    const auto [text, code] =
        output_of({{candidate, "-c",
                    "import importlib.util as u, sys; sys.exit(9) if not u.find_spec('torch') else 0\n"
                    "import torch; print('torch', torch.__version__)"}});
    if (code == 0 && text.starts_with("torch ")) return {candidate, text.substr(6, text.find('\n') - 6)};
  }
  std::string tried;
  for (const std::string& candidate : candidates) tried += (tried.empty() ? "" : " or ") + candidate;
  fail("bench", "--vs torch needs a Python with PyTorch, got none as ", tried,
       ". Hint: install it (Debian: python3-torch), or name a Python by --python.");
}

Command torch_command(const Torch& torch, const Workload& workload, int threads, const std::string& weights) {
  const std::string count = std::to_string(threads);
  Command command{{torch.python, "-c", std::string(tools::embedded_file("bench/torch_twin.py")),
                   to_text(workload), count, weights},
                  {{"OMP_NUM_THREADS", count}, {"OPENBLAS_NUM_THREADS", count}}};
  std::vector<std::pair<std::string, std::string>> wishes = {{"OPENBLAS_CORETYPE", kernels::blas_kernels()},
                                                             {"MALLOC_MMAP_THRESHOLD_", "4294967296"},
                                                             {"MALLOC_TRIM_THRESHOLD_", "8589934592"},
                                                             {"MALLOC_TOP_PAD_", "268435456"}};
  if (kernels::isa_name(kernels::available_isas().front()) == "v4")
    wishes.emplace_back("ATEN_CPU_CAPABILITY", "avx512");
  for (const auto& wish : wishes)
    if (!wish.second.empty() && !std::getenv(wish.first.c_str())) command.environment.push_back(wish);
  return command;
}

}  // namespace gradus::bench
