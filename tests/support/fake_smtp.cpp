#include "tests/support/fake_smtp.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <condition_variable>
#include <csignal>
#include <cstring>
#include <list>
#include <map>
#include <mutex>
#include <optional>
#include <string_view>
#include <thread>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include "plugin/core/unique_fd.hpp"
#include "tests/support/openssl_handles.hpp"
#include "tests/support/smtp_order.hpp"

namespace sendonce::test {
namespace {

std::string base64_of(std::string_view bytes) {
  std::string out(4 * ((bytes.size() + 2) / 3) + 1, '\0');
  const int n = EVP_EncodeBlock(reinterpret_cast<unsigned char*>(out.data()),
                                reinterpret_cast<const unsigned char*>(bytes.data()),
                                static_cast<int>(bytes.size()));
  out.resize(static_cast<std::size_t>(n));
  return out;
}

SslCtxPtr context_for(const Identity& identity) {
  SslCtxPtr ctx(SSL_CTX_new(TLS_server_method()));
  const BioPtr certificate = reader_of(identity.certificate);
  const BioPtr key = reader_of(identity.key);
  const X509Ptr x509(PEM_read_bio_X509(certificate.get(), nullptr, nullptr, nullptr));
  const PkeyPtr pkey(PEM_read_bio_PrivateKey(key.get(), nullptr, nullptr, nullptr));
  SO_ASSERT(SSL_CTX_use_certificate(ctx.get(), x509.get()) == 1);
  SO_ASSERT(SSL_CTX_use_PrivateKey(ctx.get(), pkey.get()) == 1);
  return ctx;
}

// Verbs are the same in either case: RFC 5321 2.4.
std::string upper(std::string_view text) {
  std::string out(text);
  std::ranges::transform(out, out.begin(), [](char c) {
    return c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c;
  });
  return out;
}

std::string between_brackets(std::string_view line) {
  const std::size_t from = line.find('<');
  const std::size_t to = line.find('>');
  if (from == std::string_view::npos || to == std::string_view::npos || to < from) return {};
  return std::string(line.substr(from + 1, to - from - 1));
}

}  // namespace

struct FakeSmtp::State {
  SmtpServerOptions options{};
  SslCtxPtr ctx{};
  UniqueFd listener{};
  std::uint16_t port = 0;
  std::atomic<bool> stopping{false};

  mutable std::mutex mutex{};
  std::vector<SmtpFault> faults{};
  std::vector<SeenMail> mails{};
  std::map<std::string, std::uint64_t> commands{};
  std::list<std::thread> threads{};
  std::vector<std::thread::id> ended{};  // of threads that only have to be joined
  std::vector<int> open{};
  std::condition_variable stop_called{};
  std::uint64_t connections = 0;
  std::uint64_t ends = 0;
  std::uint64_t in_clear = 0;
  bool keep = true;
  std::thread accepting{};

  void count(const std::string& what) {
    const std::lock_guard lock(mutex);
    ++commands[what];
  }
  std::optional<SmtpFault> fault(std::string_view at, const SeenMail& mail) {
    {
      const std::lock_guard lock(mutex);
      for (SmtpFault& f : faults) {
        if (f.at != at || f.times == 0 || (!f.to.empty() && f.to != mail.recipient)) continue;
        if (f.times > 0) --f.times;
        return f;
      }
    }
    return options.decide ? options.decide(at, mail) : std::nullopt;
  }
  void wait_for(Duration delay) {
    std::unique_lock lock(mutex);
    stop_called.wait_for(lock, delay, [this] { return stopping.load(); });
  }
  Result<void> listen();
  void accept_all();
  void serve(int fd);
  void join_ended();
};

namespace {

// One connection. A thread of its own; its socket is shut down when the server stops.
class Dialogue {
 public:
  Dialogue(FakeSmtp::State& server, int fd, SmtpServerOptions::Tls tls, bool login)
      : s_(server),
        fd_(fd),
        tls_(tls),
        login_(login),
        order_({.starttls = tls == SmtpServerOptions::Tls::starttls, .login = login}) {}
  void run();

 private:
  enum class Go : std::uint8_t { usual, done, over };
  Go at(std::string_view point);  // a fault, if there is one
  bool say(std::string_view lines);
  bool usual(std::string_view point, std::string_view lines);
  bool read_line(std::string& line);
  bool fill();
  bool start_tls();
  bool command(const std::string& line);
  bool obey(std::string_view verb, const std::string& line);
  bool add_recipient(const std::string& line);
  bool hello();
  bool auth(const std::string& line);
  bool data();
  void end_of_message(std::string message);
  bool accept_message();
  void wait_for_the_end();

  FakeSmtp::State& s_;
  int fd_;
  SmtpServerOptions::Tls tls_;
  bool login_;
  SslPtr ssl_{};
  std::string in_{};
  SeenMail mail_{};
  bool positive_ = false;  // what was said last
  SmtpOrder order_;
  std::size_t index_ = 0;  // of the latest in mails
};

bool Dialogue::say(std::string_view lines) {
  positive_ = lines.starts_with('2');
  std::string out;
  for (const char c : lines) out += c == '\n' ? std::string("\r\n") : std::string(1, c);
  out += "\r\n";
  if (ssl_) return SSL_write(ssl_.get(), out.data(), static_cast<int>(out.size())) > 0;
  return ::send(fd_, out.data(), out.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(out.size());
}

bool Dialogue::fill() {
  std::array<char, 16384> buffer{};
  const auto n = ssl_ ? SSL_read(ssl_.get(), buffer.data(), static_cast<int>(buffer.size()))
                      : static_cast<int>(::recv(fd_, buffer.data(), buffer.size(), 0));
  if (n <= 0) return false;
  in_.append(buffer.data(), static_cast<std::size_t>(n));
  return true;
}

bool Dialogue::read_line(std::string& line) {
  std::size_t end = 0;
  while ((end = in_.find("\r\n")) == std::string::npos)
    if (!fill()) return false;
  line = in_.substr(0, end);
  in_.erase(0, end + 2);
  return true;
}

void Dialogue::wait_for_the_end() {
  while (fill()) in_.clear();
}

Dialogue::Go Dialogue::at(std::string_view point) {
  const auto f = s_.fault(point, mail_);
  if (!f) return Go::usual;
  if (f->delay > Duration::zero()) s_.wait_for(f->delay);
  if (!f->reply.empty() && !say(f->reply)) return Go::over;
  switch (f->then) {
    case SmtpFault::Then::go_on:
      return f->reply.empty() ? Go::usual : Go::done;
    case SmtpFault::Then::close:
      return Go::over;
    case SmtpFault::Then::reset: {
      const linger none{1, 0};
      ::setsockopt(fd_, SOL_SOCKET, SO_LINGER, &none, sizeof none);
      return Go::over;
    }
    case SmtpFault::Then::stall:
      wait_for_the_end();
      return Go::over;
  }
  return Go::over;
}

// False: the connection is over.
bool Dialogue::usual(std::string_view point, std::string_view lines) {
  switch (at(point)) {
    case Go::usual:
      return say(lines);
    case Go::done:
      return true;
    case Go::over:
      return false;
  }
  return false;
}

bool Dialogue::start_tls() {
  in_.clear();  // said in clear: RFC 3207 4.2
  ssl_.reset(SSL_new(s_.ctx.get()));
  SSL_set_fd(ssl_.get(), fd_);
  return SSL_accept(ssl_.get()) == 1;
}

bool Dialogue::hello() {
  std::string lines = "250-fake.example";
  if (tls_ == SmtpServerOptions::Tls::starttls && !ssl_) lines += "\n250-STARTTLS";
  if (login_) lines += "\n250-AUTH " + s_.options.auth;
  return usual("EHLO", lines + "\n250 ENHANCEDSTATUSCODES");
}

bool Dialogue::auth(const std::string& line) {
  const SmtpServerOptions& o = s_.options;
  std::string given;
  std::string wanted = base64_of(std::string(1, '\0') + o.user + '\0' + o.password);
  if (upper(line).starts_with("AUTH LOGIN")) {
    std::string password;
    if (!say("334 VXNlcm5hbWU6") || !read_line(given) || !say("334 UGFzc3dvcmQ6") ||
        !read_line(password))
      return false;
    given += password;
    wanted = base64_of(o.user) + base64_of(o.password);
  } else if (line.size() > std::string_view("AUTH PLAIN ").size()) {
    given = line.substr(std::string_view("AUTH PLAIN ").size());
  } else if (!say("334 ") || !read_line(given)) {
    return false;
  }
  return usual("AUTH", given == wanted ? "235 2.7.0 welcome" : "535 5.7.8 bad credentials");
}

void Dialogue::end_of_message(std::string message) {
  mail_.message = std::move(message);
  const std::lock_guard lock(s_.mutex);
  ++s_.ends;
  if (!s_.keep) return;
  index_ = s_.mails.size();
  s_.mails.push_back(mail_);
}

bool Dialogue::accept_message() {
  {
    const std::lock_guard lock(s_.mutex);
    if (s_.keep) s_.mails[index_].accepted = true;
  }
  return say("250 2.0.0 Ok: queued as 4FQJ7c2abc");
}

bool Dialogue::data() {
  switch (at("DATA")) {
    case Go::usual:
      break;
    case Go::done:
      return true;
    case Go::over:
      return false;
  }
  if (!say("354 go ahead")) return false;
  if (at("BODY") == Go::over) return false;
  std::string message;
  std::string line;
  while (read_line(line) && line != ".") {
    message += line.starts_with('.') ? line.substr(1) : line;
    message += "\r\n";
  }
  if (line != ".") return false;
  end_of_message(std::move(message));
  const Go go = at("END");
  if (go == Go::over) return false;
  if (go == Go::usual && !accept_message()) return false;
  return at("IDLE") != Go::over;
}

bool Dialogue::command(const std::string& line) {
  const std::string verb = upper(line.substr(0, line.find(' ')));
  s_.count(verb);
  if ((verb == "MAIL" || verb == "AUTH") && !ssl_) {
    const std::lock_guard lock(s_.mutex);
    ++s_.in_clear;
  }
  if (const auto refused = order_.refuses(verb); !refused.empty()) return say(refused);
  const bool goes_on = obey(verb, line);
  order_.answered(verb, positive_);
  return goes_on;
}

bool Dialogue::add_recipient(const std::string& line) {
  const std::string before = std::exchange(mail_.recipient, between_brackets(line));
  const bool goes_on = usual("RCPT", "250 2.1.5 Ok");
  if (!positive_) mail_.recipient = before;
  return goes_on;
}

// False: the connection is over.
bool Dialogue::obey(std::string_view verb, const std::string& line) {
  if (verb == "EHLO" || verb == "HELO") return hello();
  if (verb == "STARTTLS") {
    switch (at("STARTTLS")) {
      case Go::usual:
        return say("220 go ahead") && start_tls();
      case Go::done:
        return true;
      case Go::over:
        return false;
    }
  }
  if (verb == "AUTH") return auth(line);
  if (verb == "MAIL") {
    mail_ = {.sender = between_brackets(line)};
    return usual("MAIL", "250 2.1.0 Ok");
  }
  if (verb == "RCPT") return add_recipient(line);
  if (verb == "DATA") return data();
  if (verb == "RSET") return usual("RSET", "250 2.0.0 Ok");
  if (verb == "QUIT") {
    static_cast<void>(say("221 2.0.0 Bye"));
    return false;
  }
  return say("502 5.5.1 not known here");
}

void Dialogue::run() {
  if (tls_ == SmtpServerOptions::Tls::implicit && !start_tls()) return;
  if (!usual("connect", "220 fake.example ESMTP")) return;
  std::string line;
  while (read_line(line))
    if (!command(line)) return;
}

}  // namespace

void FakeSmtp::State::accept_all() {
  sigset_t pipe;
  ::sigemptyset(&pipe);
  ::sigaddset(&pipe, SIGPIPE);
  ::pthread_sigmask(SIG_BLOCK, &pipe, nullptr);
  for (;;) {
    const int fd = ::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC);
    if (fd < 0) {
      if (stopping) return;
      // One that has gone again, or no descriptors for a while.
      wait_for(std::chrono::milliseconds(10));
      continue;
    }
    const int on = 1;
    ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    join_ended();
    const std::lock_guard lock(mutex);
    ++connections;
    if (stopping) {
      ::close(fd);
      return;
    }
    open.push_back(fd);
    threads.emplace_back([this, fd] { serve(fd); });
  }
}

void FakeSmtp::State::serve(int fd) {
  Dialogue(*this, fd, options.tls, !options.user.empty()).run();
  const std::lock_guard done(mutex);
  std::erase(open, fd);
  ::close(fd);
  ended.push_back(std::this_thread::get_id());
}

void FakeSmtp::State::join_ended() {
  const std::lock_guard lock(mutex);
  for (const std::thread::id id : ended) {
    const auto at = std::ranges::find(threads, id, &std::thread::get_id);
    at->join();
    threads.erase(at);
  }
  ended.clear();
}

Result<void> FakeSmtp::State::listen() {
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_port = htons(options.port);
  if (::inet_pton(AF_INET, options.address.c_str(), &at.sin_addr) != 1)
    return fail(Errc::invalid, options.address + ": not an IPv4 address");
  listener.reset(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const int on = 1;
  ::setsockopt(listener.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  socklen_t size = sizeof at;
  if (::bind(listener.get(), reinterpret_cast<sockaddr*>(&at), size) != 0 ||
      ::listen(listener.get(), 128) != 0 ||
      ::getsockname(listener.get(), reinterpret_cast<sockaddr*>(&at), &size) != 0)
    return fail(Errc::unavailable, "cannot listen on " + options.address + ":" +
                                       std::to_string(options.port) + ": " + std::strerror(errno));
  port = ntohs(at.sin_port);
  return {};
}

Result<std::unique_ptr<FakeSmtp>> FakeSmtp::start(SmtpServerOptions options) {
  auto state = std::make_unique<State>();
  state->options = std::move(options);
  state->faults = state->options.faults;
  if (state->options.tls != SmtpServerOptions::Tls::none)
    state->ctx = context_for(state->options.identity);
  SO_CHECK(state->listen());
  State* raw = state.get();
  state->accepting = std::thread([raw] { raw->accept_all(); });
  return std::unique_ptr<FakeSmtp>(new FakeSmtp(std::move(state)));
}

FakeSmtp::FakeSmtp(std::unique_ptr<State> state) : state_(std::move(state)) {}

FakeSmtp::~FakeSmtp() {
  {
    const std::lock_guard lock(state_->mutex);
    state_->stopping = true;
    for (const int fd : state_->open) ::shutdown(fd, SHUT_RDWR);
  }
  state_->stop_called.notify_all();
  ::shutdown(state_->listener.get(), SHUT_RDWR);
  state_->accepting.join();
  for (std::thread& t : state_->threads) t.join();
}

std::uint16_t FakeSmtp::port() const {
  return state_->port;
}

void FakeSmtp::set_faults(std::vector<SmtpFault> faults) {
  const std::lock_guard lock(state_->mutex);
  state_->faults = std::move(faults);
}

void FakeSmtp::keep_messages(bool keep) {
  const std::lock_guard lock(state_->mutex);
  state_->keep = keep;
}

std::vector<SeenMail> FakeSmtp::mails() const {
  const std::lock_guard lock(state_->mutex);
  return state_->mails;
}

std::uint64_t FakeSmtp::ends() const {
  const std::lock_guard lock(state_->mutex);
  return state_->ends;
}

std::uint64_t FakeSmtp::connections() const {
  const std::lock_guard lock(state_->mutex);
  return state_->connections;
}

std::uint64_t FakeSmtp::count(const std::string& command) const {
  const std::lock_guard lock(state_->mutex);
  const auto found = state_->commands.find(command);
  return found == state_->commands.end() ? 0 : found->second;
}

std::uint64_t FakeSmtp::in_clear() const {
  const std::lock_guard lock(state_->mutex);
  return state_->in_clear;
}

}  // namespace sendonce::test
