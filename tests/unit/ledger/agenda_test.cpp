#include "ledger/agenda.hpp"

#include <chrono>

#include <gtest/gtest.h>

namespace sendonce::test {
namespace {

WallTime at(std::int64_t seconds) {
  return WallTime(std::chrono::seconds(seconds));
}

TEST(Agenda, HandsOutInOrderOfTime) {
  Agenda agenda;
  agenda.add(RowId(1), at(30));
  agenda.add(RowId(2), at(10));
  agenda.add(RowId(3), at(20));
  EXPECT_EQ(agenda.next(), at(10));
  const auto due = agenda.take_due(at(20), 10);
  ASSERT_EQ(due.size(), 2U);
  EXPECT_EQ(due[0].row, RowId(2));
  EXPECT_EQ(due[1].row, RowId(3));
  EXPECT_EQ(agenda.size(), 1U);
  EXPECT_EQ(agenda.next(), at(30));
}

TEST(Agenda, TakesNoMoreThanAskedFor) {
  Agenda agenda;
  for (std::uint64_t i = 1; i <= 5; ++i) agenda.add(RowId(i), at(1));
  EXPECT_EQ(agenda.take_due(at(1), 2).size(), 2U);
  EXPECT_EQ(agenda.take_due(at(1), 9).size(), 3U);
  EXPECT_FALSE(agenda.next().has_value());
}

TEST(Agenda, WhatIsRemovedOrMovedIsNotHandedOut) {
  Agenda agenda;
  agenda.add(RowId(1), at(1));
  agenda.add(RowId(2), at(2));
  agenda.add(RowId(3), at(3));
  agenda.remove(RowId(1));
  agenda.remove(RowId(77));
  agenda.move(RowId(2), RowId(20));
  agenda.move(RowId(88), RowId(89));
  agenda.add(RowId(3), at(9));
  const auto due = agenda.take_due(at(5), 10);
  ASSERT_EQ(due.size(), 1U);
  EXPECT_EQ(due[0].row, RowId(20));
  EXPECT_EQ(agenda.next(), at(9));
}

TEST(Agenda, LeftOversDoNotPileUp) {
  Agenda agenda;
  agenda.add(RowId(1), at(1'000'000));
  for (int round = 0; round < 100'000; ++round) {
    agenda.add(RowId(2), at(500'000 + round));
    agenda.remove(RowId(2));
  }
  EXPECT_EQ(agenda.size(), 1U);
  EXPECT_EQ(agenda.next(), at(1'000'000));
  EXPECT_EQ(agenda.take_due(at(2'000'000), 10).size(), 1U);
}

}  // namespace
}  // namespace sendonce::test
