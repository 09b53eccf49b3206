// kvpagectl fsck: reads an SSD directory from end to end and says what is wrong with it.
#pragma once

#include "tools/ctl_command.h"

namespace kvpagefs {

CtlExit RunFsckCommand(Arguments arguments);

}  // namespace kvpagefs
