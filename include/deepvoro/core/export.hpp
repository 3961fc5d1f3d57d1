#pragma once

// Marks what the shared library shows to applications; everything else is hidden in it.
#define DEEPVORO_API __attribute__((visibility("default")))
