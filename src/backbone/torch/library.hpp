#pragma once

#include "deepvoro/backbone/backbone.hpp"
#include "deepvoro/core/export.hpp"

// The one function that is found from outside, by this name.
extern "C" DEEPVORO_API const deepvoro::BackboneLibrary* deepvoro_backbone_library();
