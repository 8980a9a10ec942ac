#include "plugin/core/subject.hpp"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace sendonce::test {
namespace {

TEST(Subject, KnowsValidFilters) {
  for (const char* good : {"a", "a.b", "notify.otp.>", "*.b", "a.*.c", ">", "$JS.x.API", "ä.b"})
    EXPECT_TRUE(valid_subject_filter(good)) << good;
  for (const char* bad : {"", ".", "a.", ".a", "a..b", "a b", "a.>.b", "a.b*", "a.>b", "a\t.b"})
    EXPECT_FALSE(valid_subject_filter(bad)) << bad;
  EXPECT_FALSE(valid_subject_filter(std::string(256, 'a')));
}

TEST(Subject, IntersectsWildcards) {
  struct Case {
    const char* a;
    const char* b;
    bool overlap;
  };
  for (const Case& c :
       {Case{"a.b", "a.b", true}, Case{"a.b", "a.c", false}, Case{"a.*", "a.b", true},
        Case{"a.*", "*.b", true}, Case{"a.*.c", "a.b.*", true}, Case{"a.>", "a.b.c", true},
        Case{"a.>", "a", false}, Case{"a.>", "*.b", true}, Case{"a.>", "b.>", false},
        Case{">", "x", true}, Case{"a.*", "a.b.c", false}, Case{"a.*.c", "a.>", true},
        Case{"a.b", "a.b.c", false}, Case{"*", "a.b", false}, Case{"*.*.x", "a.>", true},
        Case{"notify.otp.>", "notify.otps.>", false}}) {
    EXPECT_EQ(subjects_overlap(c.a, c.b), c.overlap) << c.a << " " << c.b;
    EXPECT_EQ(subjects_overlap(c.b, c.a), c.overlap) << c.b << " " << c.a;
  }
}

// Against the definition: two filters overlap when some subject of a small world matches both.
bool matches(std::string_view filter, std::string_view subject) {
  while (!filter.empty() && !subject.empty()) {
    const std::string_view f = filter.substr(0, filter.find('.'));
    const std::string_view s = subject.substr(0, subject.find('.'));
    if (f == ">") return true;
    if (f != "*" && f != s) return false;
    filter = filter.size() > f.size() ? filter.substr(f.size() + 1) : std::string_view{};
    subject = subject.size() > s.size() ? subject.substr(s.size() + 1) : std::string_view{};
  }
  return filter.empty() && subject.empty();
}

void grow(std::vector<std::string>& out, const std::string& prefix, int depth, bool wild) {
  for (const char* token : {"a", "b", "*", ">"}) {
    if (!wild && (*token == '*' || *token == '>')) continue;
    const std::string subject = prefix.empty() ? token : prefix + "." + token;
    out.push_back(subject);
    if (depth > 1 && *token != '>') grow(out, subject, depth - 1, wild);
  }
}

TEST(Subject, AgreesWithEverySubjectOfASmallWorld) {
  std::vector<std::string> filters;
  std::vector<std::string> subjects;
  grow(filters, "", 3, true);
  grow(subjects, "", 4, false);
  for (const std::string& a : filters) {
    for (const std::string& b : filters) {
      bool any = false;
      for (const std::string& subject : subjects) any |= matches(a, subject) && matches(b, subject);
      ASSERT_EQ(subjects_overlap(a, b), any) << a << " " << b;
    }
  }
}

TEST(Subject, CoversWhatItMatchesAltogether) {
  EXPECT_TRUE(subject_covers("a.>", "a.b"));
  EXPECT_TRUE(subject_covers("a.*", "a.b"));
  EXPECT_TRUE(subject_covers(">", "a.*.c"));
  EXPECT_FALSE(subject_covers("a.*", "a.>"));
  EXPECT_FALSE(subject_covers("a.b", "a.*"));
  EXPECT_FALSE(subject_covers("a.>", "a"));
}

TEST(Name, IsSafeEverywhere) {
  EXPECT_TRUE(valid_name("sms-a_2"));
  EXPECT_TRUE(valid_name(std::string(64, 'a')));
  for (const char* bad : {"", "a.b", "a b", "a/b", "é", "a>"}) EXPECT_FALSE(valid_name(bad)) << bad;
  EXPECT_FALSE(valid_name(std::string(65, 'a')));
}

}  // namespace
}  // namespace sendonce::test
