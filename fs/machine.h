// What the options need to know about the machine.
#pragma once

#include <cstdint>
#include <string>

namespace kvpagefs {

// Physical memory, or the memory limit of this process's control group where that is smaller.
uint64_t MachineMemoryBytes();

// The host's name, or "localhost" when it has none.
std::string HostName();

}  // namespace kvpagefs
