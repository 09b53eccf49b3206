// The other end of a connection as a plain socket, which says what it likes.
#pragma once

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <string>
#include <utility>

#include "net/frame.h"
#include "net/hello.h"

namespace kvpagefs::net_test {

class RawPeer {
 public:
  RawPeer() = default;
  explicit RawPeer(int fd) : fd_(fd) {
    const timeval patience{60, 0};
    setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
    setsockopt(fd_, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
  }
  RawPeer(RawPeer&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  RawPeer& operator=(RawPeer&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~RawPeer() { Close(); }

  static RawPeer Unconnected() { return RawPeer(socket(AF_INET, SOCK_STREAM, 0)); }
  static RawPeer Connect(uint16_t port) {
    RawPeer peer = Unconnected();
    peer.ConnectTo(port);
    return peer;
  }
  void ConnectTo(uint16_t port) const {
    const sockaddr_in address{
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr = {htonl(INADDR_LOOPBACK)}, .sin_zero = {}};
    EXPECT_EQ(connect(fd_, reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
  }
  void Close() {
    if (fd_ >= 0) close(fd_);
    fd_ = -1;
  }
  void Send(const std::string& bytes) const {
    size_t sent = 0;
    while (sent < bytes.size()) {
      const ssize_t some = send(fd_, bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
      if (some <= 0) return;  // the other end has gone
      sent += static_cast<size_t>(some);
    }
  }
  // Fewer at the end of the stream.
  std::string Read(size_t bytes) const {
    std::string text;
    while (text.size() < bytes) {
      char some[4096];
      const ssize_t got = recv(fd_, some, std::min(sizeof(some), bytes - text.size()), 0);
      if (got <= 0) {
        EXPECT_FALSE(got < 0 && errno == EAGAIN) << "the other end neither speaks nor closes";
        break;
      }
      text.append(some, static_cast<size_t>(got));
    }
    return text;
  }
  // Whether the other end closes, whatever it says before.
  bool ReadToEnd() const {
    while (Read(4096).size() == 4096) {
    }
    return true;
  }

 private:
  int fd_ = -1;
};

class RawListener {
 public:
  RawListener() : fd_(socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{.sin_family = AF_INET, .sin_port = 0, .sin_addr = {htonl(INADDR_LOOPBACK)}, .sin_zero = {}};
    socklen_t size = sizeof(address);
    EXPECT_EQ(bind(fd_, reinterpret_cast<const sockaddr*>(&address), size), 0);
    EXPECT_EQ(listen(fd_, 100), 0);
    EXPECT_EQ(getsockname(fd_, reinterpret_cast<sockaddr*>(&address), &size), 0);
    port_ = ntohs(address.sin_port);
  }
  ~RawListener() { close(fd_); }
  RawListener(const RawListener&) = delete;
  RawListener& operator=(const RawListener&) = delete;
  uint16_t port() const { return port_; }
  RawPeer Accept() const { return RawPeer(accept(fd_, nullptr, nullptr)); }

 private:
  int fd_;
  uint16_t port_ = 0;
};

inline Hello MakeHello(const std::string& service, bool has_secret = false) {
  Hello hello;
  hello.min_version = hello.max_version = kNetVersion;
  hello.has_secret = has_secret;
  hello.nonce.fill(7);
  hello.service = service;
  return hello;
}

// The hello of the other end, read after ours was sent.
inline std::string ExchangeHellos(const RawPeer& peer, const Hello& ours) {
  peer.Send(EncodeHello(ours));
  return peer.Read(kHelloFixedBytes + ours.service.size());
}

inline std::string MakeFrame(FrameHeader header, const std::string& body = "") {
  std::string bytes(kFrameHeaderBytes, '\0');
  header.body_bytes = static_cast<uint32_t>(body.size());
  EncodeFrame(header, bytes.data());
  return bytes + body;
}

inline FrameHeader MakeHeader(FrameType type, uint16_t code, uint64_t call, uint64_t payload_bytes = 0) {
  FrameHeader header;
  header.type = type;
  header.code = code;
  header.call = call;
  header.payload_bytes = payload_bytes;
  return header;
}

}  // namespace kvpagefs::net_test
