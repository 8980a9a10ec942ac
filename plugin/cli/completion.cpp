#include "plugin/cli/completion.hpp"

#include <algorithm>
#include <vector>

#include <nlohmann/json.hpp>

namespace sendonce::cli {
namespace {

using Json = nlohmann::ordered_json;

struct Option {
  std::vector<std::string> names{};  // with their dashes; none: positional
  std::string label{};               // of a positional, or of the value
  std::string about{};
  std::string standard{};  // its value when it is not given
  bool takes_value = false;
  bool required = false;
  bool files = false;
  std::vector<std::string> choices{};
};

struct Command {
  std::string path{};  // "sendonce bench"
  std::string name{};
  std::string about{};
  std::string example{};
  std::vector<Option> options{};
  std::vector<Command> commands{};
};

// "TEXT:{bash,fish}": what stands between the braces.
std::vector<std::string> choices_in(const std::string& type) {
  std::vector<std::string> out;
  const std::size_t open = type.find('{');
  const std::size_t close = type.find('}');
  if (open == std::string::npos || close == std::string::npos) return out;
  std::string one;
  for (const char c : type.substr(open + 1, close - open - 1) + ",") {
    if (c != ',') {
      one += c;
    } else if (!one.empty()) {
      out.push_back(one);
      one.clear();
    }
  }
  return out;
}

Option option_of(const CLI::Option& from) {
  Option out;
  for (const std::string& name : from.get_snames()) out.names.push_back("-" + name);
  for (const std::string& name : from.get_lnames()) out.names.push_back("--" + name);
  const std::string type = from.get_type_name();
  out.about = from.get_description();
  out.standard = from.get_default_str();
  out.takes_value = from.get_items_expected_max() > 0;
  out.required = from.get_required();
  out.files = type.starts_with("FILE") || type.starts_with("DIR");
  out.choices = choices_in(type);
  out.label = out.names.empty() ? from.get_name() : type.substr(0, type.find_first_of(":="));
  return out;
}

Command command_of(const CLI::App& from, const std::string& parent) {
  Command out;
  out.name = from.get_name();
  out.path = parent.empty() ? out.name : parent + " " + out.name;
  out.about = from.get_description();
  const std::string footer = from.get_footer();
  out.example = footer.starts_with("example: ") ? footer.substr(9) : footer;
  for (const CLI::Option* option : from.get_options()) out.options.push_back(option_of(*option));
  for (const CLI::App* sub : from.get_subcommands([](const CLI::App*) { return true; }))
    out.commands.push_back(command_of(*sub, out.path));
  return out;
}

// Options of the program may stand after a command, too.
void share(Command& at, const std::vector<Option>& global) {
  for (const Option& option : global)
    if (!option.names.empty() && option.names.back() != "--version" &&
        option.names.back() != "--help")
      at.options.push_back(option);
  for (Command& sub : at.commands) share(sub, global);
}

template <class Visit>
void each(const Command& at, const Visit& visit) {
  visit(at);
  for (const Command& sub : at.commands) each(sub, visit);
}

// In single quotes, which every shell here reads in the same way but for the quote itself.
std::string in_quotes(std::string_view text, std::string_view quote = "'\\''") {
  std::string out = "'";
  for (const char c : text) {
    if (c == '\'') {
      out += quote;
    } else {
      out += c;
    }
  }
  return out + "'";
}

std::string joined(const std::vector<std::string>& words, std::string_view between) {
  std::string out;
  for (const std::string& word : words) {
    if (!out.empty()) out += between;
    out += word;
  }
  return out;
}

// The names of all options for which `wanted` holds, as a pattern of a shell's `case`.
template <class Wanted>
std::string pattern(const Command& root, const Wanted& wanted) {
  std::vector<std::string> names;
  each(root, [&](const Command& at) {
    for (const Option& option : at.options)
      for (const std::string& name : option.names)
        if (wanted(option) && std::ranges::find(names, name) == names.end()) names.push_back(name);
  });
  return joined(names, "|");
}

std::string paths(const Command& root) {
  std::vector<std::string> out;
  each(root, [&](const Command& at) {
    if (&at != &root) out.push_back('"' + at.path + '"');
  });
  return joined(out, "|");
}

// What a position may hold that is no option: commands, files, choices of a positional.
std::vector<std::string> plain_words(const Command& at) {
  std::vector<std::string> out;
  for (const Command& sub : at.commands) out.push_back(sub.name);
  for (const Option& option : at.options)
    if (option.names.empty()) out.insert(out.end(), option.choices.begin(), option.choices.end());
  return out;
}

// The command that the words so far have named; what an option takes is no command. The same text
// works in bash and in zsh, whose arrays begin at `first`.
std::string walk(const Command& root, std::string_view words, std::string_view first) {
  const std::string value = pattern(root, [](const Option& o) { return o.takes_value; });
  std::string out = "  for ((i = ";
  out.append(first).append("; i < at; i++)); do\n    word=${").append(words).append("[i]}\n");
  out += "    case \"$word\" in " + value + ") ((i++)); continue ;; esac\n";
  out += "    case \"$command $word\" in " + paths(root) + ") command+=\" $word\" ;; esac\n";
  return out + "  done\n";
}

std::string bash(const Command& root) {
  std::string out = "# bash completion of sendonce, made by `sendonce completion bash`\n";
  out += "_sendonce() {\n  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]}\n";
  out += "  local at=$COMP_CWORD command=sendonce word words i\n  COMPREPLY=()\n";
  out += walk(root, "COMP_WORDS", "1");
  out += "  case \"$prev\" in\n";
  out += "    " + pattern(root, [](const Option& o) { return o.files; }) +
         ") COMPREPLY=($(compgen -f -- \"$cur\")); return ;;\n";
  out += "    " + pattern(root, [](const Option& o) { return o.takes_value && !o.files; }) +
         ") return ;;\n  esac\n";
  out += "  case \"$command\" in\n";
  each(root, [&](const Command& at) {
    std::vector<std::string> words = plain_words(at);
    for (const Option& option : at.options)
      words.insert(words.end(), option.names.begin(), option.names.end());
    out += "    \"" + at.path + "\") words=" + in_quotes(joined(words, " ")) + " ;;\n";
  });
  out += "  esac\n  COMPREPLY=($(compgen -W \"$words\" -- \"$cur\"))\n}\n";
  return out + "complete -o filenames -F _sendonce sendonce\n";
}

// "name:what it is": a colon in the name would end it.
std::string described(const std::string& name, const std::string& about) {
  return " " + in_quotes(name + ":" + about);
}

std::string zsh(const Command& root) {
  std::string out = "#compdef sendonce\n# made by `sendonce completion zsh`\n";
  out += "_sendonce() {\n  local command=sendonce word i at=$CURRENT\n";
  out += "  local -a commands options\n";
  out += walk(root, "words", "2");
  out += "  case \"${words[CURRENT-1]}\" in\n";
  out += "    " + pattern(root, [](const Option& o) { return o.files; }) + ") _files; return ;;\n";
  out += "    " + pattern(root, [](const Option& o) { return o.takes_value && !o.files; }) +
         ") return 1 ;;\n  esac\n";
  out += "  case \"$command\" in\n";
  each(root, [&](const Command& at) {
    out += "    \"" + at.path + "\")\n      commands=(";
    for (const Command& sub : at.commands) out += described(sub.name, sub.about);
    for (const Option& option : at.options)
      if (option.names.empty())
        for (const std::string& choice : option.choices) out += described(choice, option.about);
    out += ")\n      options=(";
    for (const Option& option : at.options)
      for (const std::string& name : option.names) out += described(name, option.about);
    out += ")\n      ;;\n";
  });
  out += "  esac\n  (( $#commands )) && _describe -t commands command commands\n";
  return out + "  _describe -o options option options\n}\n_sendonce \"$@\"\n";
}

std::string fish_option(const std::string& condition, const Option& option) {
  std::string out = "complete -c sendonce -n " + condition;
  for (const std::string& name : option.names)
    out += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
  if (option.takes_value) out += option.files ? " -r -F" : " -x";
  return out + " -d " + in_quotes(option.about, "\\'") + "\n";
}

std::string fish(const Command& root) {
  std::string out = "# fish completion of sendonce, made by `sendonce completion fish`\n";
  out += "function __sendonce_at\n  set -l command sendonce\n  set -l skip 0\n";
  out += "  for word in (commandline -opc)[2..]\n    if test $skip = 1\n      set skip 0\n";
  out += "      continue\n    end\n    switch $word\n      case ";
  std::string value = pattern(root, [](const Option& o) { return o.takes_value; });
  for (char& c : value)
    if (c == '|') c = ' ';
  out += value + "\n        set skip 1\n        continue\n    end\n";
  out += "    switch \"$command $word\"\n      case ";
  std::string known = paths(root);
  for (char& c : known)
    if (c == '|') c = ' ';
  out += known + "\n        set command \"$command $word\"\n    end\n  end\n";
  out += "  test \"$command\" = \"$argv[1]\"\nend\ncomplete -c sendonce -f\n";
  each(root, [&](const Command& at) {
    const std::string condition = "'__sendonce_at \"" + at.path + "\"'";
    for (const Command& sub : at.commands)
      out += "complete -c sendonce -n " + condition + " -a " + sub.name + " -d " +
             in_quotes(sub.about, "\\'") + "\n";
    for (const Option& option : at.options) {
      if (!option.names.empty()) out += fish_option(condition, option);
      for (const std::string& choice : option.choices)
        if (option.names.empty())
          out += "complete -c sendonce -n " + condition + " -a " + choice + "\n";
    }
  });
  return out;
}

Json json_of(const Command& at) {
  Json out{{"path", at.path}, {"about", at.about}, {"example", at.example}};
  out["options"] = Json::array();
  for (const Option& o : at.options)
    out["options"].push_back({{"names", o.names},
                              {"label", o.label},
                              {"about", o.about},
                              {"default", o.standard},
                              {"takes_value", o.takes_value},
                              {"required", o.required},
                              {"choices", o.choices}});
  out["commands"] = Json::array();
  for (const Command& sub : at.commands) out["commands"].push_back(json_of(sub));
  return out;
}

}  // namespace

std::string completion(const CLI::App& app, std::string_view shell) {
  Command root = command_of(app, "");
  if (shell == "json") return json_of(root).dump(1) + "\n";
  const std::vector<Option> global = root.options;
  for (Command& sub : root.commands) share(sub, global);
  if (shell == "bash") return bash(root);
  return shell == "zsh" ? zsh(root) : fish(root);
}

}  // namespace sendonce::cli
