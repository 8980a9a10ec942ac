#include "plugin/message/text_template.hpp"

#include <gmock/gmock.h>

namespace sendonce::test {
namespace {

using testing::HasSubstr;

std::string refusal(std::string_view text, TemplateUse use = TemplateUse::text) {
  const auto parsed = TextTemplate::parse(text, use);
  return parsed ? "" : parsed.error().text;
}

TEST(TextTemplate, KnowsItsPlaces) {
  const auto t = TextTemplate::parse("{{x}} {title} and {data.a.b?}", TemplateUse::text);
  ASSERT_TRUE(t.has_value()) << t.error().text;
  ASSERT_EQ(t->parts().size(), 4U);
  EXPECT_EQ(t->parts()[0].text, "{x} ");
  EXPECT_EQ(t->parts()[1].field, TemplateField::title);
  EXPECT_EQ(t->parts()[3].field, TemplateField::data_member);
  EXPECT_EQ(t->parts()[3].text, "a.b");
  EXPECT_TRUE(t->parts()[3].optional);
  EXPECT_TRUE(t->uses(TemplateField::title));
  EXPECT_FALSE(t->uses(TemplateField::body));
  EXPECT_FALSE(t->may_vanish());
}

TEST(TextTemplate, EveryNameIsReadBack) {
  for (std::size_t i = 0; i <= static_cast<std::size_t>(TemplateField::timestamp); ++i) {
    const auto field = static_cast<TemplateField>(i);
    if (field == TemplateField::data || field == TemplateField::data_member) continue;
    // A lifetime is no part of what is signed: it is another one on every attempt.
    const TemplateUse use =
        field == TemplateField::ttl ? TemplateUse::text : TemplateUse::signature;
    const auto t = TextTemplate::parse("{" + std::string(name(field)) + "}", use);
    ASSERT_TRUE(t.has_value()) << t.error().text;
    EXPECT_TRUE(t->uses(field)) << name(field);
  }
}

TEST(TextTemplate, SaysWhereItIsWrong) {
  EXPECT_THAT(refusal("a {titel}"), HasSubstr("character 3: there is no such value"));
  EXPECT_THAT(refusal("a {titel}"), HasSubstr("did you mean {title}?"));
  EXPECT_THAT(refusal("{title"), HasSubstr("single brace"));
  EXPECT_THAT(refusal("title}"), HasSubstr("single brace"));
  EXPECT_THAT(refusal("{a{title}"), HasSubstr("single brace"));
  EXPECT_THAT(refusal("{data}"), HasSubstr("data is an object"));
  EXPECT_THAT(refusal("{data.}"), HasSubstr("no such value"));
  EXPECT_THAT(refusal("{}"), HasSubstr("no such value"));
  EXPECT_THAT(refusal("{ttl}", TemplateUse::signature), HasSubstr("may not be signed"));
  EXPECT_THAT(refusal(std::string(70'000, 'x')), HasSubstr("64 KiB"));
}

TEST(TextTemplate, WhatStandsWhere) {
  EXPECT_THAT(refusal("{json:data}"), HasSubstr("JSON body only"));
  EXPECT_EQ(refusal("{json:data}", TemplateUse::json), "");
  EXPECT_THAT(refusal("x{json:data.a}", TemplateUse::json), HasSubstr("whole text"));
  EXPECT_THAT(refusal("{json:title}", TemplateUse::json), HasSubstr("only {json:data}"));
  EXPECT_EQ(refusal("<{text:data?}>"), "");
  EXPECT_THAT(refusal("{text:data.a}"), HasSubstr("only {text:data}"));
  EXPECT_THAT(refusal("{text:title}"), HasSubstr("only {text:data}"));
  EXPECT_THAT(refusal("{json:text:data}", TemplateUse::json), HasSubstr("only {text:data}"));
  EXPECT_THAT(refusal("{request.body}"), HasSubstr("no such value"));
  EXPECT_EQ(refusal("{timestamp}.{request.body}", TemplateUse::signature), "");
}

}  // namespace
}  // namespace sendonce::test
