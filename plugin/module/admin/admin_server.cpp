#include "plugin/module/admin/admin_server.hpp"

#include <algorithm>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

namespace sendonce {
namespace {

constexpr std::size_t kReplyBytes = 1UL << 20;  // of the items of one answer

}  // namespace

Result<void> AdminServer::start(const std::string& path, AdminHandler verbs, HttpHandler pages) {
  SO_TRY(listener_, UnixListener::bind(path));
  SO_CHECK(run(std::move(verbs), std::move(pages)));
  log_.info("admin.listening", {{"socket", std::string_view(path)}});
  return {};
}

Result<void> AdminServer::adopt(UniqueFd listening, AdminHandler verbs, HttpHandler pages) {
  SO_TRY(listener_, UnixListener::adopt(std::move(listening)));
  return run(std::move(verbs), std::move(pages));
}

Result<void> AdminServer::run(AdminHandler verbs, HttpHandler pages) {
  UniqueFd copy(::fcntl(listener_.fd(), F_DUPFD_CLOEXEC, 0));
  if (!copy) return fail(Errc::exhausted, "no descriptor is left for the admin socket");
  const auto handler = [verbs = std::move(verbs), pages = std::move(pages),
                        service = ::geteuid()](const HttpQuestion& question) {
    const bool page = std::ranges::find(kPublicPaths, question.path) != kPublicPaths.end();
    return page ? pages(question) : answer_admin(question, service, kReplyBytes, verbs);
  };
  return http_.start(std::move(copy), "so-admin", handler);
}

void AdminServer::stop() {
  http_.stop();
  listener_.close();
}

}  // namespace sendonce
