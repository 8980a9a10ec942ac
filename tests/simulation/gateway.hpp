// A gateway for SMS as a configuration file describes it: the production provider of kind "http".
#pragma once

#include <memory>
#include <string>

#include "classifiers/provider.hpp"

namespace sendonce::sim {

[[nodiscard]] std::unique_ptr<Provider> make_gateway(const std::string& name);

}  // namespace sendonce::sim
