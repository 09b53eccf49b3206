#include "fs/event_log.h"

#include <ctime>

#include <fmt/chrono.h>
#include <fmt/format.h>

namespace kvpagefs {
namespace {

std::string Escaped(std::string_view name) {
  std::string text;
  for (const char c : name) {
    if (c > ' ' && c < 0x7f && c != '\\') {
      text += c;
    } else {
      text += fmt::format("\\{:03o}", static_cast<unsigned char>(c));
    }
  }
  return text;
}

std::string UtcTime(int64_t wall_ns) {
  const std::time_t seconds = wall_ns / 1'000'000'000;
  std::tm utc{};
  gmtime_r(&seconds, &utc);
  return fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:03}Z", utc, wall_ns / 1'000'000 % 1000);
}

}  // namespace

void EventLog::Add(int64_t wall_ns, std::string_view what, const NameRef& name, uint64_t bytes) {
  MutexLock lock(mutex_);
  events_.push_back(Event{next_++, wall_ns, std::string(what), name, bytes});
  if (events_.size() > kCapacity) events_.pop_front();
}

std::string EventLog::Text() const {
  std::deque<Event> events;
  {
    MutexLock lock(mutex_);
    events = events_;
  }
  std::string text;
  for (const Event& event : events) {
    text += fmt::format("{} {} {} {} {} {}\n", event.number, UtcTime(event.wall_ns), event.what, event.bytes,
                        event.name.parent.value, Escaped(event.name.name));
  }
  return text;
}

}  // namespace kvpagefs
