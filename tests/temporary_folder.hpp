#pragma once

#include "gradus/files/temporary_folder.hpp"

namespace gradus::testing {

using files::TemporaryFolder;

}  // namespace gradus::testing
