#include "tests/support/http_message.hpp"

namespace sendonce::test {

void Headers::add(std::string_view name, std::string_view value) {
  spans_.push_back({.offset = static_cast<std::uint32_t>(text_.size()),
                    .name = static_cast<std::uint32_t>(name.size()),
                    .value = static_cast<std::uint32_t>(value.size())});
  text_.append(name).append(value);
}

Headers::Field Headers::operator[](std::size_t i) const {
  const Span& s = spans_[i];
  const std::string_view all = text_;
  return {.name = all.substr(s.offset, s.name), .value = all.substr(s.offset + s.name, s.value)};
}

std::optional<std::string_view> Headers::find(std::string_view name) const {
  for (std::size_t i = 0; i < spans_.size(); ++i) {
    if (spans_[i].name != name.size()) continue;
    const Field field = (*this)[i];
    if (field.name == name) return field.value;
  }
  return std::nullopt;
}

std::size_t Headers::count(std::string_view name) const {
  std::size_t n = 0;
  for (std::size_t i = 0; i < spans_.size(); ++i) n += (*this)[i].name == name ? 1U : 0U;
  return n;
}

void Request::clear() {
  connection = 0;
  stream = 0;
  h2 = true;
  arrived = {};
  method.clear();
  path.clear();
  headers.clear();
  body.clear();
}

void Reply::clear() {
  status = 200;
  headers.clear();
  body.clear();
  play = {};
}

bool ends_connection(const Play& how) {
  switch (how.ending) {
    case Ending::answer:
    case Ending::stall:
    case Ending::reset:
      return how.goaway && how.goaway->close;
    case Ending::cut_body:
      return !how.code;
    case Ending::deaf:
    case Ending::close:
    case Ending::abort:
    case Ending::cut_headers:
      return true;
  }
  return true;
}

}  // namespace sendonce::test
