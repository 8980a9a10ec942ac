#include "tests/bench/sender/curl_sender.hpp"

#include <memory>
#include <string>
#include <vector>

#include <curl/curl.h>

#include "plugin/cli/bench/measure.hpp"

namespace sendonce::bench {
namespace {

using Multi = std::unique_ptr<CURLM, decltype(&curl_multi_cleanup)>;
using Easy = std::unique_ptr<CURL, decltype(&curl_easy_cleanup)>;
using List = std::unique_ptr<curl_slist, decltype(&curl_slist_free_all)>;

std::size_t ignore(char* /*data*/, std::size_t size, std::size_t count, void* /*self*/) {
  return size * count;
}

// One stream: a handle that is used again and again.
struct Stream {
  Easy easy{curl_easy_init(), curl_easy_cleanup};
  List headers{nullptr, curl_slist_free_all};
  HttpRequest request{};
};

class CurlSender {
 public:
  CurlSender(const cli::H2load& load, std::uint32_t streams)
      : load_(load), endpoint_(load.place().endpoint), streams_(streams) {
    curl_multi_setopt(multi_.get(), CURLMOPT_PIPELINING, CURLPIPE_MULTIPLEX);
    curl_multi_setopt(multi_.get(), CURLMOPT_MAX_HOST_CONNECTIONS, 1L);
    curl_multi_setopt(multi_.get(), CURLMOPT_MAX_CONCURRENT_STREAMS, 1000L);
    const std::string ca = load.place().path("ca.pem");
    for (Stream& s : streams_) {
      CURL* const easy = s.easy.get();
      curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_2TLS);
      curl_easy_setopt(easy, CURLOPT_PIPEWAIT, 1L);
      curl_easy_setopt(easy, CURLOPT_CAINFO, ca.c_str());
      curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, &ignore);
      curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
      curl_easy_setopt(easy, CURLOPT_PRIVATE, &s);
    }
  }
  ~CurlSender() {
    for (const Stream& s : streams_) curl_multi_remove_handle(multi_.get(), s.easy.get());
  }
  CurlSender(const CurlSender&) = delete;
  CurlSender& operator=(const CurlSender&) = delete;

  void send(std::uint64_t requests) {
    todo_ = requests;
    for (Stream& s : streams_) start(s);
    while (answered_ < requests) {
      int running = 0;
      curl_multi_perform(multi_.get(), &running);
      take_answers();
      if (running == 0 && answered_ < requests && sent_ == todo_) break;
      curl_multi_poll(multi_.get(), nullptr, 0, 100, nullptr);
    }
  }
  [[nodiscard]] std::uint64_t accepted() const { return accepted_; }

 private:
  void start(Stream& s) {
    if (sent_ == todo_) return;
    s.request = load_.request(sent_++);
    s.headers.reset();
    for (const Headers::View h : s.request.headers) {
      const std::string line = std::string(h.name) + ": " + std::string(h.value);
      s.headers.reset(curl_slist_append(s.headers.release(), line.c_str()));
    }
    CURL* const easy = s.easy.get();
    curl_easy_setopt(easy, CURLOPT_URL, (endpoint_ + s.request.path).c_str());
    curl_easy_setopt(easy, CURLOPT_HTTPHEADER, s.headers.get());
    curl_easy_setopt(easy, CURLOPT_POSTFIELDS, s.request.body.c_str());
    curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE, static_cast<long>(s.request.body.size()));
    curl_multi_add_handle(multi_.get(), easy);
  }

  void take_answers() {
    int left = 0;
    while (const CURLMsg* const message = curl_multi_info_read(multi_.get(), &left)) {
      if (message->msg != CURLMSG_DONE) continue;
      CURL* const easy = message->easy_handle;
      long status = 0;
      curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
      Stream* stream = nullptr;
      curl_easy_getinfo(easy, CURLINFO_PRIVATE, &stream);
      accepted_ += status == 200 ? 1 : 0;
      ++answered_;
      curl_multi_remove_handle(multi_.get(), easy);
      start(*stream);
    }
  }

  const cli::H2load& load_;
  std::string endpoint_;
  Multi multi_{curl_multi_init(), curl_multi_cleanup};
  std::vector<Stream> streams_;
  std::uint64_t todo_ = 0;
  std::uint64_t sent_ = 0;
  std::uint64_t answered_ = 0;
  std::uint64_t accepted_ = 0;
};

}  // namespace

Result<cli::LoadRun> run_curl_sender(const cli::H2load& load, const Clock& clock,
                                     std::uint64_t requests, std::uint32_t streams) {
  CurlSender sender(load, streams);
  const Duration cpu = cli::cpu_of_this_process();
  const MonoTime start = clock.mono();
  sender.send(requests);
  const auto seconds = std::chrono::duration<double>(clock.mono() - start).count();
  const Duration used = cli::cpu_of_this_process() - cpu;
  const auto n = static_cast<double>(requests);
  return cli::LoadRun{.requests_per_second = n / seconds,
                      .cpu_us = std::chrono::duration<double, std::micro>(used).count() / n,
                      .failed = requests - sender.accepted()};
}

}  // namespace sendonce::bench
