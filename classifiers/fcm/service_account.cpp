#include "classifiers/fcm/service_account.hpp"

#include "classifiers/json_tree.hpp"

namespace sendonce {
namespace {

Result<std::string> member(const JsonTree& account, std::string_view name) {
  const std::string_view value = account.string_at(name);
  if (value.empty())
    return fail(Errc::invalid, "the service account has no text in \"" + std::string(name) + "\"");
  return std::string(value);
}

}  // namespace

Result<ServiceAccount> parse_service_account(const Credential& json) {
  const auto tree = parse_json_tree(json.expose());
  if (!tree || !tree->is(JsonTree::Type::object))
    return fail(Errc::invalid,
                "the service account is not the JSON file that Google hands out (Firebase console, "
                "project settings, service accounts, generate new private key)");
  const std::string_view type = tree->string_at("type");
  if (tree->find("project_info") != nullptr)
    return fail(Errc::invalid,
                "this is google-services.json, which belongs into an app; the service account's "
                "private key file is needed");
  if (type != "service_account")
    return fail(Errc::invalid, "the file's \"type\" is not \"service_account\"");
  ServiceAccount account;
  SO_TRY(account.project_id, member(*tree, "project_id"));
  SO_TRY(account.client_email, member(*tree, "client_email"));
  SO_TRY(account.token_uri, member(*tree, "token_uri"));
  if (!account.token_uri.starts_with("https://") && !account.token_uri.starts_with("http://"))
    return fail(Errc::invalid, "\"token_uri\" of the service account is not a URL");
  SO_TRY(std::string pem, member(*tree, "private_key"));
  account.private_key = Credential(std::move(pem));
  account.private_key_id = tree->string_at("private_key_id");
  return account;
}

}  // namespace sendonce
