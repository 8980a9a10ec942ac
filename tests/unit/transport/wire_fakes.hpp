// Small servers below HTTP/2: a CONNECT proxy with moods, a listener that never accepts, and an
// HTTP/1.1 server over TLS whose answers are written by hand.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace sendonce::test {

// Serves one connection at a time, by blocking calls, on a thread of its own; `serve` returns when
// the connection is over.
class TcpServer {
 public:
  TcpServer();
  virtual ~TcpServer();
  TcpServer(const TcpServer&) = delete;
  TcpServer& operator=(const TcpServer&) = delete;
  [[nodiscard]] int port() const { return port_; }
  [[nodiscard]] int accepted() const { return accepted_.load(); }

 protected:
  void start();
  void stop();  // by the destructor of the derived class
  virtual void serve(int fd) = 0;
  [[nodiscard]] bool stopping() const { return stop_.load(); }

 private:
  void run();
  int listen_ = -1;
  int port_ = 0;
  std::atomic<bool> stop_{false};
  std::atomic<int> accepted_{0};
  std::atomic<int> current_{-1};
  std::thread thread_{};
};

class Proxy final : public TcpServer {
 public:
  enum class Mood { open, asks, broken, closes, hangs, slow };
  explicit Proxy(Mood mood) : mood_(mood) { start(); }
  ~Proxy() override { stop(); }
  [[nodiscard]] std::string url() const { return "http://127.0.0.1:" + std::to_string(port()); }
  [[nodiscard]] std::vector<std::string> requests() const;  // the heads it was sent

 private:
  void serve(int fd) override;
  Mood mood_;
  mutable std::mutex mutex_{};
  std::vector<std::string> requests_{};
};

// A port whose backlog is full: SYNs are dropped.
class BlackHole {
 public:
  BlackHole();
  ~BlackHole();
  BlackHole(const BlackHole&) = delete;
  BlackHole& operator=(const BlackHole&) = delete;
  [[nodiscard]] int port() const { return port_; }

 private:
  int listen_ = -1;
  int port_ = 0;
  std::vector<int> fillers_{};
};

// HTTP/1.1 over TLS. The answer to each request is `script[n]`, the last one repeated:
//   "" closes without a word, "RST" resets, "HANG" waits for the end, else the bytes to send.
class Http1Server final : public TcpServer {
 public:
  explicit Http1Server(std::vector<std::string> script, std::string identity = "server",
                       bool tls = true, bool keep_alive = false);
  ~Http1Server() override;
  [[nodiscard]] std::string url(const std::string& path = "/token") const;
  [[nodiscard]] std::vector<std::string> requests() const;  // whole ones, head and body

 private:
  void serve(int fd) override;
  std::vector<std::string> script_;
  bool tls_;
  bool keep_alive_;          // a reply that is none of the words above leaves the connection open
  void* context_ = nullptr;  // SSL_CTX
  mutable std::mutex mutex_{};
  std::vector<std::string> requests_{};
};

}  // namespace sendonce::test
