// How the command line asks the daemon. Blocking, one request at a time, one thread.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "plugin/core/clock.hpp"
#include "plugin/core/error.hpp"
#include "plugin/core/unique_fd.hpp"
#include "plugin/module/admin/admin_protocol.hpp"

namespace sendonce {

class AdminClient {
 public:
  // `timeout` limits the connection and each wait for the other side. unavailable: nobody listens.
  // denied: the socket's permissions.
  [[nodiscard]] static Result<AdminClient> connect(const std::string& path, Duration timeout);

  // Hands each item of a list to `item` as a JSON object, then returns the result's JSON object. An
  // error that the daemon reports comes back as it is; unavailable: the daemon went away or is
  // slow; corrupt: it speaks another language.
  [[nodiscard]] Result<std::string> call(
      const AdminRequest& request, const std::function<void(std::string_view json)>& item = {});

  // A question as it is, for who passes it on: any status is an answer. unavailable: as above.
  [[nodiscard]] Result<HttpReply> ask(const HttpQuestion& question);

 private:
  AdminClient(UniqueFd fd, std::string path, Duration timeout)
      : fd_(std::move(fd)), path_(std::move(path)), timeout_(timeout) {}

  [[nodiscard]] Result<std::string> exchange(std::string_view text);
  [[nodiscard]] Result<void> send(std::string_view text);
  [[nodiscard]] Result<std::string> read_to_end();

  UniqueFd fd_;  // of the next call: there is one a connection
  std::string path_;
  Duration timeout_;
};

}  // namespace sendonce
