#pragma once

#include <metal_stdlib>
