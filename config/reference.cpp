#include "config/reference.hpp"

#include "config/key_spec.hpp"
#include "plugin/core/text.hpp"

namespace sendonce {
namespace {

constexpr std::string_view kIntroduction = R"(# Configuration

<!-- Made from the descriptions of the keys in config/keys_*.cpp; do not edit. -->

One TOML file, by default `/etc/sendonce/sendonce.toml`, and the files `conf.d/*.toml` beside it in
the order of their names. Each table may be given once in all of them. The main file starts with
`config_version = 1`. `config/sendonce.toml` is a commented sample.

* **Quantities carry their unit**, in quotes: durations `"400ms"`, `"25s"`, `"3m"`, `"24h"`,
  `"11d"`; sizes `"256B"`, `"64MiB"`, `"8GiB"`; rates `"500/s"`, `"600/m"`, `"10/h"`. Whole numbers
  only.
* **Secrets are references**: `"cred:NAME"` is a systemd credential (`LoadCredential=NAME:/path`),
  `"file:/absolute/path"` a file that neither group nor others may read. The secret itself is
  refused.
* **A key with a dot** stands in a table of its own: `call.total` may be written
  `call = { connect = "3s", total = "10s" }` or `call.total = "10s"`.
* **Unknown keys are errors.** Every error names file, line and column and says what to do.
* **mandatory** keys have no default because no default is right for everybody.
* **Reload**: `now` keys take effect with a reload, for attempts that start after it; the others
  need a restart, and a reload that would change one is refused and says so. Adding or removing a
  provider or a class needs a restart too. Credential files are read again by every reload.
)";

constexpr std::string_view kProviders = R"(A provider is an endpoint with a credential. NAME is what
envelopes and routes call it: 1 to 64 letters, digits, `_` and `-`.
)";

constexpr std::string_view kClasses = R"(A class is the policy for a family of messages; the subject
of a message chooses its class. `[defaults.class]` takes the same keys and holds for every class
that does not set them itself, key by key.
)";

std::string_view type_text(KeyType type) {
  switch (type) {
    case KeyType::text:
      return "string";
    case KeyType::texts:
      return "array of strings";
    case KeyType::boolean:
      return "true or false";
    case KeyType::integer:
      return "integer";
    case KeyType::number:
      return "number";
    case KeyType::duration:
      return "duration";
    case KeyType::size:
      return "size";
    case KeyType::rate:
      return "rate";
    case KeyType::secret:
      return "reference to a secret";
    case KeyType::table:
      return "table";
    case KeyType::choice:
      break;
  }
  return "choice";
}

std::string bound_text(KeyType type, std::int64_t value) {
  switch (type) {
    case KeyType::duration:
      return duration_text(Duration(value));
    case KeyType::size:
      return size_text(static_cast<std::uint64_t>(value));
    case KeyType::number:
      return number_text(static_cast<double>(value) / 1000);
    case KeyType::integer:
      return std::to_string(value);
    case KeyType::text:
    case KeyType::texts:
    case KeyType::boolean:
    case KeyType::rate:
    case KeyType::secret:
    case KeyType::choice:
    case KeyType::table:
      break;
  }
  return {};
}

template <class Section>
std::string type_cell(const KeySpec<Section>& spec) {
  if (spec.type == KeyType::choice) {
    std::string out;
    for (const std::string_view choice : spec.choices) {
      if (!out.empty()) out += ", ";
      out += '`' + std::string(choice) + '`';
    }
    return out;
  }
  std::string out(type_text(spec.type));
  if (const std::string min = bound_text(spec.type, spec.bounds.min); !min.empty())
    out += ", " + min + " to " + bound_text(spec.type, spec.bounds.max);
  return out;
}

template <class Section>
std::string default_cell(const KeySpec<Section>& spec) {
  if (!spec.about.choose.empty()) return "**mandatory**";
  if (!spec.about.default_words.empty()) return std::string(spec.about.default_words);
  const std::string value = spec.print(Section{});
  return value.empty() ? "none" : '`' + value + '`';
}

template <class Section>
void append_table(std::string& out, std::span<const KeySpec<Section>> specs) {
  out += "\n| key | type | default | reload | meaning |\n|---|---|---|---|---|\n";
  for (const KeySpec<Section>& spec : specs) {
    out += "| `" + std::string(spec.about.path) + "` | " + type_cell(spec) + " | ";
    out += default_cell(spec);
    out += spec.about.reload == OnReload::now ? " | now | " : " | restart | ";
    if (const std::string kinds = kinds_text(spec.about.applies); !kinds.empty())
      out.append("*").append(kinds).append(".* ");
    out += std::string(spec.about.doc) + " |\n";
  }
}

}  // namespace

std::string config_reference() {
  std::string out(kIntroduction);
  out += "\n## [instance]\n";
  append_table(out, instance_keys());
  out += "\n## [nats]\n";
  append_table(out, nats_keys());
  out += "\n## [ledger]\n";
  append_table(out, ledger_keys());
  out += "\n## [metrics]\n";
  append_table(out, metrics_keys());
  out += "\n## [devices]\n";
  append_table(out, devices_keys());
  out += "\n## [provider.NAME]\n\n";
  out += kProviders;
  append_table(out, provider_keys());
  out += "\n## [class.NAME] and [defaults.class]\n\n";
  out += kClasses;
  append_table(out, class_keys());
  return out;
}

}  // namespace sendonce
