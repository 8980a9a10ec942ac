#include "classifiers/log_form.hpp"

#include <gtest/gtest.h>

namespace sendonce::test {
namespace {

TEST(LogForm, python_becomes_json) {
  EXPECT_EQ(json_from_python("{'a': {'b': [1, 'x']}}"), R"({"a": {"b": [1, "x"]}})");
  EXPECT_EQ(json_from_python("{'a': None, 'b': True, 'c': False}"),
            R"({"a": null, "b": true, "c": false})");
  EXPECT_EQ(json_from_python(R"({'m': "Permission 'x' denied"})"),
            R"({"m": "Permission 'x' denied"})");
  EXPECT_EQ(json_from_python(R"({'m': 'say "x" and \'y\''})"), R"({"m": "say \"x\" and 'y'"})");
}

TEST(LogForm, anything_else_is_left_alone) {
  for (const char* text :
       {"", "{}", R"({"a":1})", "{'a': ", "{'a", "{'a': b}", "{'a': 'x\\", "text"})
    EXPECT_FALSE(json_from_python(text)) << text;
}

TEST(LogForm, bare_messages) {
  EXPECT_TRUE(is_bare_message("Auth error from APNS or Web Push Service"));
  EXPECT_TRUE(is_bare_message("BadDeviceToken"));
  for (const std::string& text : {std::string(), std::string("{\"reason\":\"cut"),
                                  std::string("<p>"), std::string("a\nb"), std::string(513, 'a')})
    EXPECT_FALSE(is_bare_message(text)) << text;
}

}  // namespace
}  // namespace sendonce::test
