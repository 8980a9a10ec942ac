#include "tests/support/fake_fcm.hpp"

#include <algorithm>
#include <array>

#include "plugin/core/text.hpp"

namespace sendonce::test {
namespace {

constexpr std::string_view kPrefix = "/v1/projects/";
constexpr std::string_view kSuffix = "/messages:send";
constexpr std::string_view kFcmError = "type.googleapis.com/google.firebase.fcm.v1.FcmError";
constexpr std::string_view kBadRequest = "type.googleapis.com/google.rpc.BadRequest";
constexpr std::string_view kErrorInfo = "type.googleapis.com/google.rpc.ErrorInfo";

// The envelope's `status` for an HTTP status (google.rpc.Code).
std::string_view code_name(int status) {
  switch (status) {
    case 400:
      return "INVALID_ARGUMENT";
    case 401:
      return "UNAUTHENTICATED";
    case 403:
      return "PERMISSION_DENIED";
    case 404:
      return "NOT_FOUND";
    case 409:
      return "ABORTED";
    case 429:
      return "RESOURCE_EXHAUSTED";
    case 500:
      return "INTERNAL";
    case 503:
      return "UNAVAILABLE";
    case 504:
      return "DEADLINE_EXCEEDED";
    default:
      return "UNKNOWN";
  }
}

struct CodeAnswer {
  std::string_view code{};
  int status = 0;
  std::string_view message{};
};

constexpr std::array kCodes = {
    CodeAnswer{"INVALID_ARGUMENT", 400, "Request contains an invalid argument."},
    CodeAnswer{"UNREGISTERED", 404, "Requested entity was not found."},
    CodeAnswer{"SENDER_ID_MISMATCH", 403, "SenderId mismatch"},
    CodeAnswer{"QUOTA_EXCEEDED", 429, "Message rate exceeded."},
    CodeAnswer{"UNAVAILABLE", 503, "The service is currently unavailable."},
    CodeAnswer{"INTERNAL", 500, "Internal error encountered."},
    CodeAnswer{"THIRD_PARTY_AUTH_ERROR", 401, "Auth error from APNS or Web Push Service"}};

std::string_view message_for(int status) {
  switch (status) {
    case 401:
      return "Request had invalid authentication credentials. Expected OAuth 2 access token, login "
             "cookie or other valid authentication credential. See "
             "https://developers.google.com/identity/sign-in/web/devconsole-project.";
    case 403:
      return "The caller does not have permission";
    case 404:
      return "Requested entity was not found.";
    case 429:
      return "Quota exceeded for quota metric 'Message send requests'.";
    default:
      return "Internal error encountered.";
  }
}

// `details`: the elements of the array, as JSON.
void write_error(int status, std::string_view message, std::string_view details, Reply& reply) {
  reply.status = status;
  reply.headers.add("content-type", "application/json; charset=UTF-8");
  reply.body = "{\"error\":{\"code\":" + std::to_string(status) + ",\"message\":";
  append_json_string(reply.body, message);
  reply.body += ",\"status\":";
  append_json_string(reply.body, code_name(status));
  if (!details.empty()) reply.body.append(",\"details\":[").append(details).append("]");
  reply.body += "}}";
}

std::string fcm_error(std::string_view code) {
  std::string out = "{\"@type\":";
  append_json_string(out, kFcmError);
  out += ",\"errorCode\":";
  append_json_string(out, code);
  return out + "}";
}

std::string error_info(std::string_view reason) {
  std::string out = "{\"@type\":";
  append_json_string(out, kErrorInfo);
  out += ",\"reason\":";
  append_json_string(out, reason);
  return out + ",\"domain\":\"googleapis.com\",\"metadata\":{\"service\":\"fcm.googleapis.com\"}}";
}

std::string violation(const FcmFault& fault) {
  std::string out = "{\"@type\":";
  append_json_string(out, kBadRequest);
  out += ",\"fieldViolations\":[{";
  if (!fault.field.empty()) {
    out += "\"field\":";
    append_json_string(out, fault.field);
    out += ',';
  }
  out += "\"description\":";
  append_json_string(out, fault.message);
  return out + "}]}";
}

void write_not_found_page(Reply& reply) {
  reply.status = 404;
  reply.headers.add("content-type", "text/html; charset=UTF-8");
  reply.body =
      "<!DOCTYPE html>\n<html lang=en>\n<title>Error 404 (Not Found)!!1</title>\n<p><b>404.</b> "
      "<ins>That's an error.</ins>\n<p>The requested URL was not found on this server.\n";
}

}  // namespace

FakeFcm::Judged FakeFcm::judge(const Request& request) {
  const std::string_view path = request.path;
  Judged out{};
  out.message = checks_.fcm_message(request.body, config_.lenient);
  const bool known = request.method == "POST" && path.starts_with(kPrefix) &&
                     path.ends_with(kSuffix) && path.size() > kPrefix.size() + kSuffix.size();
  if (!known) {
    out.refusal = Refusal::path;
    return out;
  }
  out.refusal = credential_fault(request);
  if (out.refusal != Refusal::none) return out;
  const std::string_view project =
      path.substr(kPrefix.size(), path.size() - kPrefix.size() - kSuffix.size());
  if (project != config_.project) {
    out.refusal = Refusal::project;
  } else if (out.message.fault) {
    out.refusal = Refusal::message;
  }
  return out;
}

FakeFcm::Refusal FakeFcm::credential_fault(const Request& request) {
  const auto authorization = request.headers.find("authorization");
  if (!authorization || !authorization->starts_with("Bearer ")) return Refusal::no_credential;
  // One look-up a second for the token that everybody uses.
  if (*authorization == last_authorization_ &&
      request.arrived - looked_up_ < std::chrono::seconds(1) && request.arrived >= looked_up_) {
    return Refusal::none;
  }
  switch (oauth_.judge(authorization->substr(7), request.arrived)) {
    case AccessToken::good:
      last_authorization_ = *authorization;
      looked_up_ = request.arrived;
      return Refusal::none;
    case AccessToken::unknown:
      return Refusal::bad_credential;
    case AccessToken::expired:
      return Refusal::old_credential;
  }
  return Refusal::bad_credential;
}

void FakeFcm::write_accepted(Reply& reply) {
  reply.headers.add("content-type", "application/json; charset=UTF-8");
  const std::uint64_t id = random_.next();
  reply.body.append("{\"name\":\"projects/").append(config_.project).append("/messages/0:");
  append_hex(reply.body, {reinterpret_cast<const char*>(&id), sizeof id});
  reply.body += "\"}";
}

void FakeFcm::write_refused(const Judged& judged, Reply& reply) {
  switch (judged.refusal) {
    case Refusal::none:
    case Refusal::path:
      write_not_found_page(reply);
      return;
    case Refusal::no_credential:
      write_error(401,
                  "Request is missing required authentication credential. Expected OAuth 2 access "
                  "token, login cookie or other valid authentication credential.",
                  error_info("CREDENTIALS_MISSING"), reply);
      return;
    case Refusal::bad_credential:
      write_error(401, message_for(401), {}, reply);
      return;
    case Refusal::old_credential:
      write_error(401, message_for(401), error_info("ACCESS_TOKEN_EXPIRED"), reply);
      return;
    case Refusal::project:
      write_error(404, message_for(404), {}, reply);
      return;
    case Refusal::message:
      break;
  }
  const FcmFault fault = judged.message.fault.value_or(FcmFault{});
  write_error(400, fault.message,
              fault.violation ? violation(fault) : fcm_error("INVALID_ARGUMENT"), reply);
}

// A known errorCode alone gives its documented answer. A status alone gives Google's plain envelope
// without an FcmError, which is what front ends and IAM send.
void FakeFcm::write_scripted(const Action& action, Reply& reply) {
  if (action.reason.empty() && action.status < 300) {
    write_accepted(reply);
    if (action.status != 0) reply.status = action.status;
    return;
  }
  if (action.reason.empty()) {
    write_error(action.status, message_for(action.status), {}, reply);
    return;
  }
  const auto at = std::ranges::find(kCodes, action.reason, &CodeAnswer::code);
  const CodeAnswer documented = at == kCodes.end() ? CodeAnswer{.status = 400} : *at;
  const int status = action.status != 0 ? action.status : documented.status;
  write_error(status, documented.message, fcm_error(action.reason), reply);
}

std::string_view FakeFcm::reason_of(Refusal refusal) {
  switch (refusal) {
    case Refusal::none:
      return "";
    case Refusal::path:
      return "path";
    case Refusal::no_credential:
      return "no_credential";
    case Refusal::bad_credential:
      return "bad_credential";
    case Refusal::old_credential:
      return "old_credential";
    case Refusal::project:
      return "project";
    case Refusal::message:
      return "message";
  }
  return "";
}

}  // namespace sendonce::test
