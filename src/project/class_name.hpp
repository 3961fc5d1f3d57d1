#pragma once

#include <span>
#include <string>

namespace deepvoro {

// A ProjectError (invalid) where a class cannot be called so: names are names of folders too, and
// no two may differ by case alone.
void check_class_name(const std::string& name, std::span<const std::string> classes);

}  // namespace deepvoro
