// Checks of providers of kind = "http" and "module": what their keys need of each other.
#include <algorithm>

#include "config/checks.hpp"
#include "config/key_spec.hpp"
#include "config/url.hpp"
#include "config/value.hpp"

namespace sendonce {
namespace {

template <class Visit>
void each_json(const JsonTemplate& node, Visit&& visit) {
  if (node.type == JsonTemplate::Type::text) visit(node.text);
  for (const JsonTemplate& child : node.children) each_json(child, visit);
}

// Every template with the key that holds it.
template <class Visit>
void each_template(const HttpSpec& http, Visit&& visit) {
  visit("path", http.path);
  for (const NamedTemplate& t : http.query) visit("query", t.value);
  for (const NamedTemplate& t : http.headers) visit("headers", t.value);
  for (const NamedTemplate& t : http.form) visit("form", t.value);
  if (http.json) each_json(*http.json, [&](const TextTemplate& t) { visit("json", t); });
  visit("auth.sign", http.auth.sign);
  visit("lookup.path", http.lookup.path);
  for (const NamedTemplate& t : http.lookup.query) visit("lookup.query", t.value);
}

bool of_lookup(std::string_view key) {
  return key.starts_with("lookup.");
}

void check_ttl(const Checked& c) {
  each_template(c.provider.http, [&](std::string_view key, const TextTemplate& t) {
    if (of_lookup(key) && t.uses(TemplateField::ttl))
      c.report(key, "{ttl} is no value of a lookup", "remove it");
  });
  if (c.provider.http.ttl_max > Duration{0} && !shrinks(c.provider.http))
    c.report("ttl_max", "has no effect without {ttl}", "remove it, or put {ttl} into the request");
}

void check_destination(const Checked& c) {
  const Channel channel = c.provider.http.channel;
  bool named = false;
  each_template(c.provider.http, [&](std::string_view key, const TextTemplate& t) {
    const auto judge = [&](TemplateField field, Channel of) {
      if (!t.uses(field)) return;
      if (of != channel)
        c.report(key,
                 "{" + std::string(name(field)) + "} is no value of the channel " +
                     std::string(name(channel)),
                 "name the destination of this channel");
      else
        named = named || !of_lookup(key);
    };
    judge(TemplateField::phone, Channel::sms);
    judge(TemplateField::phone_digits, Channel::sms);
    judge(TemplateField::email, Channel::email);
    judge(TemplateField::url, Channel::webhook);
    judge(TemplateField::token, Channel::push);
  });
  if (!named && channel != Channel::webhook)
    c.report("channel", "the request nowhere names its destination",
             "put {" +
                 std::string(channel == Channel::sms    ? "phone"
                             : channel == Channel::push ? "token"
                                                        : "email") +
                 "} into it");
}

// A token is one of an app: without it two apps would share their keys and dead devices.
void check_app(const Checked& c) {
  const HttpSpec& http = c.provider.http;
  if (http.channel == Channel::push && http.app.empty())
    c.report("app", "missing, and it is part of every delivery key of channel push",
             "name the app whose tokens these are, for example \"huawei:104001234\"");
  if (http.channel != Channel::push && !http.app.empty())
    c.report("app", "has no effect without channel = \"push\"", "remove it");
}

void check_path(const Checked& c, std::string_view key, std::string_view query,
                const TextTemplate& path) {
  if (!path.source().starts_with('/'))
    c.report(key, "does not begin with /", "write the path below the endpoint");
  const bool more = std::ranges::any_of(path.parts(), [](const TemplatePart& part) {
    return !part.field && part.text.find_first_of("?# ") != std::string::npos;
  });
  if (more)
    c.report(key, "holds a query, a fragment or a space",
             "put parameters into " + std::string(query));
}

void check_target(const Checked& c) {
  const HttpSpec& http = c.provider.http;
  const bool to_the_target = http.path.empty();
  if (!to_the_target) {
    check_path(c, "path", "query", http.path);
    if (!http.hosts.empty())
      c.report("hosts", "has no effect beside path", "remove it: endpoint names the only host");
    return;
  }
  if (http.channel != Channel::webhook)
    return c.report("path", "missing", "name the path below endpoint");
  if (!c.provider.endpoint.empty())
    c.report("endpoint", "has no effect without path",
             "remove it, or add path to call one endpoint for all targets");
  if (http.version != HttpVersion::one_one)
    c.report("version", "HTTP/2 goes to one endpoint only",
             "write version = \"1.1\", or name endpoint and path");
  if (http.hosts.empty())
    c.report("hosts", "missing: whoever publishes could make this process call any address",
             "name the hosts that may be called, for example [\"hooks.example.com\"]");
  for (const std::string& host : http.hosts)
    if (!is_origin(host))
      c.report(
          "hosts", "\"" + host + "\" is no host name",
          "write hooks.example.com or *.example.com in lower case, with :port unless it is 443");
}

void check_body(const Checked& c) {
  const HttpSpec& http = c.provider.http;
  if (!http.form.empty() && http.json)
    c.report("json", "there is a form too", "keep one of the two");
  if (http.method == HttpMethod::get && (!http.form.empty() || http.json))
    c.report("method", "a GET has no body", "use query, or another method");
}

void need(const Checked& c, bool there, std::string_view key, std::string_view type) {
  if (!there)
    c.report(key, "missing, and auth.type = \"" + std::string(type) + "\" needs it",
             "add it, or change auth.type");
}

void check_aws(const Checked& c) {
  const HttpAuthSpec& auth = c.provider.http.auth;
  const auto name_one = [&](std::string_view key, const std::string& text) {
    need(c, !text.empty(), key, choice_text(auth.type));
    const bool clean = std::ranges::all_of(text, [](char letter) {
      return (letter >= 'a' && letter <= 'z') || (letter >= '0' && letter <= '9') || letter == '-';
    });
    if (!clean)
      c.report(key, "not lower-case letters, digits and hyphens",
               "write it as Amazon does, for example eu-central-1 or ses");
  };
  name_one("auth.region", auth.region);
  name_one("auth.service", auth.service);
}

void check_auth(const Checked& c) {
  const HttpAuthSpec& auth = c.provider.http.auth;
  const std::string_view type = choice_text(auth.type);
  if (auth.type == HttpAuth::none) {
    if (c.provider.secret)
      c.report("auth.secret", "has no effect without auth.type", "add auth.type, or remove it");
    return;
  }
  need(c, c.provider.secret.has_value(), "auth.secret", type);
  if (auth.type == HttpAuth::header || auth.type == HttpAuth::hmac)
    need(c, !auth.header.empty(), "auth.header", type);
  if (auth.type == HttpAuth::form) {
    need(c, !auth.field.empty(), "auth.field", type);
    if (c.provider.http.json)
      c.report("auth.type", "form puts the secret into a form, and the body is JSON",
               "choose another type");
  }
  if (auth.type == HttpAuth::hmac) need(c, !auth.sign.empty(), "auth.sign", type);
  if (auth.type == HttpAuth::aws_sigv4) check_aws(c);
  if (auth.type == HttpAuth::oauth2) {
    need(c, !auth.client_id.empty(), "auth.client_id", type);
    need(c, !c.provider.token_endpoint.empty(), "auth.token_endpoint", type);
  } else if (!c.provider.token_endpoint.empty()) {
    c.report("auth.token_endpoint", "has no effect without auth.type = \"oauth2\"", "remove it");
  }
}

void check_idempotency(const Checked& c) {
  const IdempotencySpec& key = c.provider.http.idempotency;
  if (key.header.empty()) {
    if (key.window > Duration{0} || key.replays_errors)
      c.report("idempotency.header", "missing", "name the header that carries the key");
    return;
  }
  if (key.window == Duration{0})
    c.report("idempotency.window", "missing",
             "say how long the endpoint remembers a key, for example \"24h\"");
  for (const NamedTemplate& header : c.provider.http.headers)
    if (header.name == key.header)
      c.report("headers", "names the header of the idempotency key too", "remove it there");
}

// One delivery and no other: a notification may have several destinations.
bool names_the_delivery(const std::vector<const TextTemplate*>& all) {
  const auto any = [&](TemplateField field) {
    return std::ranges::any_of(all, [field](const TextTemplate* t) { return t->uses(field); });
  };
  const bool to = any(TemplateField::phone) || any(TemplateField::phone_digits) ||
                  any(TemplateField::email) || any(TemplateField::url) || any(TemplateField::token);
  return any(TemplateField::key) || (any(TemplateField::nid) && to);
}

void check_lookup_words(const Checked& c) {
  const HttpSpec& http = c.provider.http;
  std::vector<const TextTemplate*> sent;
  std::vector<const TextTemplate*> asked;
  each_template(http, [&](std::string_view key, const TextTemplate& t) {
    (of_lookup(key) ? asked : sent).push_back(&t);
  });
  if (!names_the_delivery(asked))
    return c.report("lookup.path", "nothing in it says which delivery is meant",
                    "put {key} into it or into lookup.query, or {nid} and the destination");
  const bool by_key =
      std::ranges::any_of(asked, [](const TextTemplate* t) { return t->uses(TemplateField::key); });
  const bool carries = std::ranges::any_of(sent, [by_key](const TextTemplate* t) {
    return t->uses(by_key ? TemplateField::key : TemplateField::nid);
  });
  if (!carries && !(by_key && !http.idempotency.header.empty()))
    c.report("lookup.path",
             std::string("asks by ") + (by_key ? "{key}" : "{nid}") +
                 ", which the request does not carry",
             "put it into the request too");
}

void check_lookup(const Checked& c) {
  const HttpSpec& http = c.provider.http;
  const LookupSpec& lookup = http.lookup;
  if (lookup.path.empty()) {
    if (lookup != LookupSpec{}) c.report("lookup.path", "missing", "name what is asked");
    return;
  }
  if (http.path.empty())
    return c.report("lookup.path", "has no endpoint: requests go to their targets' own URLs",
                    "remove lookup, or name endpoint and path");
  check_path(c, "lookup.path", "lookup.query", lookup.path);
  if (lookup.lag == Duration{0})
    c.report("lookup.lag", "missing",
             "say how long it takes until a message can be found, for example \"30s\"");
  if (lookup.window == Duration{0})
    c.report("lookup.window", "missing",
             "say how long a message can be found, for example \"24h\"");
  const auto says = [&](Look look) {
    return std::ranges::any_of(lookup.answers,
                               [look](const LookupRule& rule) { return rule.look == look; });
  };
  if (!says(Look::absent))
    c.report("lookup.answers", "no answer would ever say that a message is not there",
             "add a line with is = \"absent\"");
  if (!says(Look::found) && lookup.receipt_pointer.empty())
    c.report("lookup.answers", "no answer would ever say that a message is there",
             "name lookup.receipt, or add a line with is = \"found\"");
  if (http.auth.type == HttpAuth::form)
    c.report("auth.type", "form puts the secret into a form, and a lookup has none",
             "choose another type, or remove lookup");
  check_lookup_words(c);
}

void check_receipt(const Checked& c) {
  const HttpSpec& http = c.provider.http;
  const bool accepts = std::ranges::any_of(
      http.answers, [](const AnswerRule& rule) { return rule.verdict == VerdictClass::accepted; });
  if (accepts || !http.receipt_pointer.empty() || !http.receipt_header.empty()) return;
  c.report("answers", "no answer would ever count as accepted",
           "name receipt.pointer or receipt.header, or add { status = \"2xx\", class = "
           "\"accepted\" }");
}

// Lines before the table of a provider that knows its own receipt.
void check_amendments(const Checked& c) {
  const bool accepts = std::ranges::any_of(c.provider.http.answers, [](const AnswerRule& rule) {
    return rule.verdict == VerdictClass::accepted;
  });
  if (accepts)
    c.report("answers", "only the provider's own receipt says that a message was accepted",
             "remove the line of class accepted");
}

}  // namespace

// A header is not part of the row's hash, but the endpoint may look at it all the same.
bool shrinks(const HttpSpec& http) {
  bool found = false;
  each_template(http, [&](std::string_view key, const TextTemplate& t) {
    found = found || (!of_lookup(key) && t.uses(TemplateField::ttl));
  });
  return found;
}

void check_http(const CheckInput& in, Findings& out) {
  for (const ProviderConfig& provider : in.config.providers) {
    const Checked c{in, out, provider};
    if (applies_to(provider) != AppliesTo::http) {
      check_amendments(c);
      continue;
    }
    check_target(c);
    check_app(c);
    check_destination(c);
    check_body(c);
    check_ttl(c);
    check_auth(c);
    check_idempotency(c);
    check_receipt(c);
    check_lookup(c);
  }
}

void check_modules(const CheckInput& in, Findings& out) {
  for (const ProviderConfig& provider : in.config.providers) {
    if (applies_to(provider) != AppliesTo::module) continue;
    const Checked c{in, out, provider};
    if (!provider.module.starts_with('/'))
      c.report("module", "not an absolute path", "start it with /");
    if (provider.http.channel == Channel::push)
      c.report("channel", "a module cannot serve push", "choose sms, email or webhook");
    check_idempotency(c);
  }
}

}  // namespace sendonce
