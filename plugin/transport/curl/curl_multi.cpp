#include "plugin/transport/curl/curl_multi.hpp"

#include <chrono>
#include <mutex>

#include <sys/epoll.h>

#include "plugin/core/assert.hpp"

namespace sendonce {
namespace {

std::uint32_t to_epoll(int what) {
  std::uint32_t events = 0;
  if ((what & CURL_POLL_IN) != 0) events |= EPOLLIN;
  if ((what & CURL_POLL_OUT) != 0) events |= EPOLLOUT;
  return events;
}

int to_curl(std::uint32_t events) {
  int mask = 0;
  if ((events & (EPOLLIN | EPOLLHUP)) != 0) mask |= CURL_CSELECT_IN;
  if ((events & EPOLLOUT) != 0) mask |= CURL_CSELECT_OUT;
  if ((events & EPOLLERR) != 0) mask |= CURL_CSELECT_ERR;
  return mask;
}

}  // namespace

void init_curl_once() {
  static std::once_flag once;
  std::call_once(once, [] { SO_ASSERT(curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK); });
}

// Not curl_version(): that one initialises OpenLDAP, which resolves our own host name, blocking.
std::string system_ca_file() {
  const curl_version_info_data* info = curl_version_info(CURLVERSION_NOW);
  return info->age >= CURLVERSION_SEVENTH && info->cainfo != nullptr ? info->cainfo : "";
}

struct CurlMulti::Socket final : EventSource {
  Socket(CurlMulti& multi, curl_socket_t descriptor) : owner(multi), fd(descriptor) {}
  void on_event(std::uint32_t events) override {
    owner.act(fd, to_curl(events));  // may destroy *this
  }
  CurlMulti& owner;
  curl_socket_t fd;
};

CurlMulti::CurlMulti(EventLoop& loop, const Clock& clock)
    : loop_(loop), clock_(clock), multi_(curl_multi_init()) {
  SO_ASSERT(multi_ != nullptr);
  curl_multi_setopt(multi_, CURLMOPT_SOCKETFUNCTION, on_socket);
  curl_multi_setopt(multi_, CURLMOPT_SOCKETDATA, this);
  curl_multi_setopt(multi_, CURLMOPT_TIMERFUNCTION, on_timer);
  curl_multi_setopt(multi_, CURLMOPT_TIMERDATA, this);
}

CurlMulti::~CurlMulti() {
  curl_multi_cleanup(multi_);
  SO_ASSERT(sockets_.empty());
}

void CurlMulti::keep_at_most(std::size_t connections) {
  curl_multi_setopt(multi_, CURLMOPT_MAXCONNECTS, static_cast<long>(connections));
}

void CurlMulti::add(CURL* easy, Transfer& transfer) {
  curl_easy_setopt(easy, CURLOPT_PRIVATE, &transfer);
  SO_ASSERT(curl_multi_add_handle(multi_, easy) == CURLM_OK);
}

void CurlMulti::remove(CURL* easy) {
  curl_multi_remove_handle(multi_, easy);
}

void CurlMulti::act(curl_socket_t fd, int mask) {
  int running = 0;
  curl_multi_socket_action(multi_, fd, mask, &running);
  collect();
}

void CurlMulti::on_time() {
  due_.reset();
  act(CURL_SOCKET_TIMEOUT, 0);
  if (due_) return;
  // libcurl tells of a timer only when it changes; if we came too early for it, it is still set.
  long ms = -1;
  curl_multi_timeout(multi_, &ms);
  if (ms >= 0) due_ = clock_.mono() + std::chrono::milliseconds(ms + 1);
}

void CurlMulti::collect() {
  int left = 0;
  while (const CURLMsg* message = curl_multi_info_read(multi_, &left)) {
    if (message->msg != CURLMSG_DONE) continue;
    const CURLcode code = message->data.result;
    Transfer* transfer = nullptr;
    curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &transfer);
    if (transfer != nullptr) transfer->on_done(code);
  }
}

int CurlMulti::on_socket(CURL*, curl_socket_t fd, int what, void* self, void*) {
  auto& me = *static_cast<CurlMulti*>(self);
  const auto known = me.sockets_.find(fd);
  if (what == CURL_POLL_REMOVE) {
    if (known == me.sockets_.end()) return 0;
    me.loop_.forget(fd, *known->second);
    me.sockets_.erase(known);
    return 0;
  }
  if (known != me.sockets_.end()) {
    me.loop_.change(fd, to_epoll(what), *known->second);
    return 0;
  }
  auto& socket = me.sockets_[fd];
  socket = std::make_unique<Socket>(me, fd);
  me.loop_.watch(fd, to_epoll(what), *socket);
  return 0;
}

int CurlMulti::on_timer(CURLM*, long ms, void* self) {
  auto& me = *static_cast<CurlMulti*>(self);
  me.due_.reset();
  if (ms >= 0) me.due_ = me.clock_.mono() + std::chrono::milliseconds(ms);
  return 0;
}

}  // namespace sendonce
