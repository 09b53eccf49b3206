// Who is behind a request: the kernel tells the thread, /proc tells its process and how it ends.
//
// Thread ids are those of the pid namespace of the mount; 0 stands for a thread outside of it, which is taken as a
// process of its own. Stateless; any thread.
#pragma once

#include <cstdint>

namespace kvpagefs {

// The process (thread group) of a thread; 0 when it is gone or unknown.
uint32_t ProcessOfThread(uint32_t tid);

// Whether the thread belongs to the process now. Cheaper than ProcessOfThread.
bool ThreadInProcess(uint32_t tid, uint32_t process);

// Whether the thread is going down because its process is killed by a signal. A file closed on such a way out was not
// finished by its writer; one closed by exit() was.
bool KilledBySignal(uint32_t tid);

}  // namespace kvpagefs
