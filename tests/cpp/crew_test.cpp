#include <gtest/gtest.h>

#include <deque>
#include <map>
#include <mutex>
#include <set>
#include <stdexcept>
#include <thread>
#include <vector>

#include "cluster/crew.hpp"
#include "cluster/dealing_table.hpp"
#include "deepvoro/cluster/work_in_crew.hpp"

namespace deepvoro {
namespace {

// Letters among threads of one process.
class PostOffice {
 public:
  explicit PostOffice(int size) : boxes_(static_cast<std::size_t>(size)) {}

  void send(int from, const Letter& to) {
    const std::lock_guard lock(mutex_);
    boxes_[static_cast<std::size_t>(to.rank)].push_back({from, to.words});
  }
  std::optional<Letter> receive(int rank) {
    const std::lock_guard lock(mutex_);
    auto& box = boxes_[static_cast<std::size_t>(rank)];
    if (box.empty()) return {};
    const Letter letter = box.front();
    box.pop_front();
    return letter;
  }
  [[nodiscard]] int size() const { return static_cast<int>(boxes_.size()); }

 private:
  std::mutex mutex_;
  std::vector<std::deque<Letter>> boxes_;
};

class ThreadMessenger final : public Messenger {
 public:
  ThreadMessenger(PostOffice& office, int rank) : office_(office), rank_(rank) {}
  [[nodiscard]] int rank() const override { return rank_; }
  [[nodiscard]] int size() const override { return office_.size(); }
  void send(const Letter& to) override { office_.send(rank_, to); }
  std::optional<Letter> receive() override { return office_.receive(rank_); }

 private:
  PostOffice& office_;
  int rank_;
};

// Runs `work` as each member of a crew.
template <class Work>
void in_crew(int size, const Work& work) {
  PostOffice office(size);
  std::vector<std::thread> processes;
  for (int rank = 0; rank < size; ++rank)
    processes.emplace_back([&office, &work, rank] {
      ThreadMessenger messenger(office, rank);
      Crew crew(messenger);
      work(crew);
    });
  for (std::thread& process : processes) process.join();
}

std::vector<PieceRange> all_but_the_seventh(PieceRange range) {
  if (range.begin > 7 || range.end <= 7) return {range};
  return {{range.begin, 7}, {8, range.end}};
}

TEST(Crew, MakesEveryMissingPieceOnceInEachStage) {
  const std::vector<PieceRange> first{{0, 30}, {30, 37}};
  const std::vector<PieceRange> second{{37, 50}};
  for (const int size : {1, 2, 5}) {
    std::mutex mutex;
    std::map<std::size_t, int> times;
    in_crew(size, [&](Crew& crew) {
      const MakePieces make = [&](PieceRange range, const Progress&) {
        const std::lock_guard lock(mutex);
        for (std::size_t piece = range.begin; piece < range.end; ++piece) ++times[piece];
      };
      const std::size_t made = crew.deal(first, all_but_the_seventh, make, {});
      {
        // Nobody goes on before everything before is made.
        const std::lock_guard lock(mutex);
        for (std::size_t piece = 0; piece < 37; ++piece)
          EXPECT_EQ(times[piece], piece == 7 ? 0 : 1) << piece;
      }
      if (crew.speaks()) {
        EXPECT_EQ(made, 36U);
      }
      (void)crew.deal(second, all_but_the_seventh, make, {});
      EXPECT_EQ(crew.count(second), 13U);
    });
    for (std::size_t piece = 37; piece < 50; ++piece) EXPECT_EQ(times[piece], 1) << piece;
  }
}

TEST(Crew, StopsWhereOneFailsAndOneComplains) {
  const std::vector<PieceRange> pieces{{0, 1000}};
  std::mutex mutex;
  int complaints = 0;
  int stopped = 0;
  in_crew(4, [&](Crew& crew) {
    try {
      (void)crew.deal(
          pieces, [](PieceRange range) { return std::vector{range}; },
          [](PieceRange range, const Progress&) {
            if (range.end > 300) throw std::runtime_error("cannot be made");
          },
          {});
    } catch (const StoppedByAnother&) {
      const std::lock_guard lock(mutex);
      ++stopped;
    } catch (const std::runtime_error&) {
      const bool complains = crew.fail();
      const std::lock_guard lock(mutex);
      ++(complains ? complaints : stopped);
    }
  });
  EXPECT_EQ(complaints, 1);
  EXPECT_EQ(stopped, 3);
}

TEST(DealingTable, BeginsWithLargeRangesAndEndsWithSingleOnes) {
  DealingTable table(2);
  table.lay_out({{0, 100}, {200, 220}});
  std::vector<PieceRange> dealt;
  for (bool more = true; more;) {
    table.ask(1);
    const std::vector<Dealt> answers = table.answers();
    more = !answers.empty();
    if (more) dealt.push_back(answers.front().pieces);
  }
  EXPECT_EQ(dealt.front(), (PieceRange{0, 30}));
  EXPECT_EQ(dealt.back(), (PieceRange{219, 220}));
  EXPECT_EQ(table.dealt(), 1.0);
  std::size_t pieces = 0;
  for (const PieceRange& range : dealt) {
    EXPECT_TRUE(range.end <= 100 || range.begin >= 200);
    pieces += range.size();
  }
  EXPECT_EQ(pieces, 120U);
  // The other one may still be at work.
  table.ask(0);
  EXPECT_EQ(table.answers().size(), 2U);
}

TEST(DealingTable, LetsTheOthersGoWhereRankZeroLaysOutNothing) {
  DealingTable table(2);
  table.ask(1);
  EXPECT_TRUE(table.answers().empty());
  table.leave(0);
  const std::vector<Dealt> answers = table.answers();
  ASSERT_EQ(answers.size(), 1U);
  EXPECT_EQ(answers.front().answer, Answer::all_made);
  table.leave(1);
  EXPECT_TRUE(table.is_deserted());
}

}  // namespace
}  // namespace deepvoro
