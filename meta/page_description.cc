#include "meta/page_description.h"

#include <cstdint>
#include <cstring>
#include <type_traits>

namespace kvpagefs {
namespace {

constexpr uint8_t kVersion = 1;

template <class T>
void Put(std::string* out, T value) {
  for (size_t i = 0; i < sizeof(T); ++i) {
    out->push_back(static_cast<char>(static_cast<std::make_unsigned_t<T>>(value) >> (8 * i) & 0xFF));
  }
}

void PutPath(std::string* out, const std::vector<std::string>& path) {
  size_t bytes = 0;
  for (const std::string& component : path) bytes += component.size() + 1;
  if (bytes > kMaxDescribedPathBytes) return Put<uint16_t>(out, 0);
  Put(out, static_cast<uint16_t>(path.size()));
  for (const std::string& component : path) {
    Put(out, static_cast<uint16_t>(component.size()));
    out->append(component);
  }
}

// Takes from the front; after a failure everything it gives is empty, and ok() is false.
class Reader {
 public:
  explicit Reader(std::string_view bytes) : rest_(bytes) {}

  template <class T>
  T Number() {
    const std::string_view raw = Bytes(sizeof(T));
    std::make_unsigned_t<T> value = 0;
    for (size_t i = 0; i < raw.size(); ++i) {
      value = static_cast<std::make_unsigned_t<T>>(value | std::make_unsigned_t<T>{static_cast<uint8_t>(raw[i])}
                                                               << (8 * i));
    }
    return static_cast<T>(value);
  }
  std::string_view Bytes(size_t count) {
    if (count > rest_.size()) ok_ = false;
    if (!ok_) return {};
    const std::string_view taken = rest_.substr(0, count);
    rest_.remove_prefix(count);
    return taken;
  }
  bool ok() const { return ok_; }
  bool AtEnd() const { return ok_ && rest_.empty(); }

 private:
  std::string_view rest_;
  bool ok_ = true;
};

}  // namespace

std::string EncodeDescription(const PageDescription& described) {
  std::string out;
  Put(&out, kVersion);
  Put(&out, static_cast<uint8_t>(described.page.pin));
  Put(&out, described.page.owner.mode);
  Put(&out, described.page.owner.uid);
  Put(&out, described.page.owner.gid);
  Put(&out, described.page.mtime_ns);
  PutPath(&out, described.path);
  Put(&out, static_cast<uint16_t>(described.xattrs.size()));
  for (const auto& [key, value] : described.xattrs) {
    Put(&out, static_cast<uint16_t>(key.size()));
    Put(&out, static_cast<uint32_t>(value.size()));
    out.append(key).append(value);
  }
  return out;
}

Result<PageDescription> DecodeDescription(std::string_view bytes) {
  Reader reader(bytes);
  if (reader.Number<uint8_t>() != kVersion) return ErrorCode::kInvalid;
  const uint8_t pin = reader.Number<uint8_t>();
  if (pin > static_cast<uint8_t>(Pin::kHard)) return ErrorCode::kInvalid;
  PageDescription described;
  described.page.pin = static_cast<Pin>(pin);
  described.page.owner.mode = reader.Number<uint16_t>();
  described.page.owner.uid = reader.Number<uint32_t>();
  described.page.owner.gid = reader.Number<uint32_t>();
  described.page.mtime_ns = reader.Number<int64_t>();
  const uint16_t components = reader.Number<uint16_t>();
  for (uint16_t i = 0; i < components && reader.ok(); ++i) {
    described.path.emplace_back(reader.Bytes(reader.Number<uint16_t>()));
  }
  const uint16_t xattrs = reader.Number<uint16_t>();
  for (uint16_t i = 0; i < xattrs && reader.ok(); ++i) {
    const uint16_t key_bytes = reader.Number<uint16_t>();
    const uint32_t value_bytes = reader.Number<uint32_t>();
    const std::string_view key = reader.Bytes(key_bytes);
    described.xattrs.emplace_back(key, reader.Bytes(value_bytes));
  }
  if (!reader.AtEnd()) return ErrorCode::kInvalid;
  return described;
}

}  // namespace kvpagefs
