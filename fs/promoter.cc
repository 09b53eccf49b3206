#include "fs/promoter.h"

#include <algorithm>
#include <utility>

namespace kvpagefs {

using Touch = MemoryTier::Touch;

namespace {

constexpr size_t kMaxEarlyInterrupts = 256;

}  // namespace

struct Promoter::Arriving {
  std::unique_ptr<Draft> draft;
  std::vector<iovec> blocks;
};

void Promoter::Fetch(const Page& page, const Request& request, Answer answer) {
  Waiter waiter{request, std::move(answer)};
  Result<PageHold> hold = ErrorCode::kNotFound;
  switch (Place(page, &waiter, &hold)) {
    case Placed::kStart: return Start(page);
    case Placed::kJoined: return;
    case Placed::kAnswer: return waiter.answer(std::move(hold));
  }
}

Promoter::Placed Promoter::Place(const Page& page, Waiter* waiter, Result<PageHold>* hold) {
  MutexLock lock(mutex_);
  if (std::erase(early_interrupts_, waiter->request.ticket) > 0) {
    *hold = ErrorCode::kInterrupted;
    return Placed::kAnswer;
  }
  const auto found = flights_.find(page.id.value);
  const bool for_peer = waiter->request.for_peer;
  // The other node may be waiting for us in turn.
  if (found != flights_.end() && found->second.remote && for_peer) return Placed::kAnswer;
  if (found != flights_.end()) {
    parts_.counters->Add(Counter::kFetchesJoined);
    found->second.waiters.push_back(std::move(*waiter));
    return Placed::kJoined;
  }
  // It may have come since the caller looked.
  *hold = parts_.tier->Hold(page.id, waiter->request.touch, waiter->request.reader);
  const bool on_ssd = OnSsd(page.id);
  if (hold->ok() || (!on_ssd && (parts_.remote == nullptr || for_peer))) return Placed::kAnswer;
  Flight& flight = flights_[page.id.value];
  flight.page = page;
  flight.remote = !on_ssd;
  flight.deadline_ns = waiter->request.deadline_ns;
  flight.waiters.push_back(std::move(*waiter));
  return Placed::kStart;
}

void Promoter::Start(const Page& page) {
  const auto arriving = std::make_shared<Arriving>();
  arriving->draft = parts_.tier->NewDraft();
  const Status prepared = arriving->draft->Prepare(page.bytes, &arriving->blocks);
  if (!prepared.ok()) {
    arriving->draft.reset();
    WaitForMemory(page, prepared);
    return;
  }
  if (OnSsd(page.id)) return ReadFromSsd(page, arriving);
  ReadFromPeer(page, arriving);
}

void Promoter::ReadFromSsd(const Page& page, const std::shared_ptr<Arriving>& arriving) {
  parts_.spiller->BeginRead();
  parts_.ssd->Read(page.id, arriving->blocks, [this, page, arriving](const Status& read) {
    parts_.spiller->EndRead();
    if (!read.ok()) {
      parts_.counters->Add(Counter::kFetchFailures);
      return ReadFromPeer(page, arriving);
    }
    parts_.counters->Add(Counter::kFetches);
    parts_.counters->Add(Counter::kFetchedBytes, page.bytes);
    Finish(page, arriving);
  });
}

void Promoter::ReadFromPeer(const Page& page, const std::shared_ptr<Arriving>& arriving) {
  RemotePages::Read read;
  std::vector<Waiter> peers;
  {
    MutexLock lock(mutex_);
    Flight& flight = flights_.find(page.id.value)->second;
    flight.remote = true;
    read.deadline_ns = flight.deadline_ns;
    std::vector<Waiter> ours;
    for (Waiter& waiter : flight.waiters) (waiter.request.for_peer ? peers : ours).push_back(std::move(waiter));
    flight.waiters = std::move(ours);
  }
  for (const Waiter& peer : peers) peer.answer(ErrorCode::kNotFound);
  if (parts_.remote == nullptr) return Fail(page.id, ErrorCode::kNotFound);
  read.page = page;
  read.blocks = arriving->blocks;
  read.keep = arriving;
  parts_.remote->Start(std::move(read), [this, page, arriving](const Status& status) {
    if (!status.ok()) return Fail(page.id, ErrorCode::kNotFound);
    Finish(page, arriving);
  });
}

void Promoter::WaitForMemory(const Page& page, const Status& refused) {
  {
    // Before the tier is asked: the space may come, and Retry with it, at once.
    MutexLock lock(mutex_);
    flights_.find(page.id.value)->second.state = Flight::State::kWaiting;
  }
  if (refused.code() == ErrorCode::kNoSpace && parts_.tier->WaitForSpace(page.bytes)) {
    if (parts_.spiller != nullptr) parts_.spiller->RequestSpace();
    return;
  }
  {
    // A Retry that came in between has it now.
    MutexLock lock(mutex_);
    const auto found = flights_.find(page.id.value);
    if (found == flights_.end() || found->second.state != Flight::State::kWaiting) return;
    found->second.state = Flight::State::kReading;
  }
  Fail(page.id, ErrorCode::kNotFound);
}

void Promoter::Finish(const Page& page, const std::shared_ptr<Arriving>& arriving) {
  const bool admitted = parts_.history->Note(page.id);
  MemoryTier::Arrival arrival;
  arrival.id = page.id;
  arrival.checksum = page.checksum;
  arrival.pin = page.pin;
  arrival.welcome = admitted ? MemoryTier::Welcome::kFresh : MemoryTier::Welcome::kFirstToGo;
  const Result<PageHold> hold = parts_.tier->Adopt(arrival, arriving->draft);
  if (!hold.ok()) return Fail(page.id, ErrorCode::kNotFound);
  std::vector<Waiter> waiters;
  bool removed = false;
  {
    MutexLock lock(mutex_);
    const auto found = flights_.find(page.id.value);
    waiters = std::move(found->second.waiters);
    removed = found->second.removed;
    flights_.erase(found);
  }
  if (removed) (void)parts_.tier->Remove(page.id);
  if (!removed && parts_.on_arrived) parts_.on_arrived(page.id);
  Serve(page, *hold, admitted, std::move(waiters));
}

void Promoter::Serve(const Page& page, const PageHold& hold, bool admitted, std::vector<Waiter> waiters) {
  for (size_t i = 0; i < waiters.size(); ++i) {
    Request& request = waiters[i].request;
    // Only the first reader is a stranger: those that came with it have read it again.
    if (request.touch == Touch::kRead && !admitted && i == 0) request.touch = Touch::kCount;
    Result<PageHold> own = parts_.tier->Hold(page.id, request.touch, request.reader);
    waiters[i].answer(own.ok() ? std::move(own) : Result<PageHold>(hold.Clone()));
  }
}

void Promoter::Fail(PageId id, ErrorCode code) {
  std::vector<Waiter> waiters;
  {
    MutexLock lock(mutex_);
    const auto found = flights_.find(id.value);
    waiters = std::move(found->second.waiters);
    flights_.erase(found);
  }
  for (const Waiter& waiter : waiters) waiter.answer(code);
}

void Promoter::Interrupt(uint64_t ticket) {
  Answer answer;
  {
    MutexLock lock(mutex_);
    for (auto& [id, flight] : flights_) {
      const auto found = std::find_if(flight.waiters.begin(), flight.waiters.end(),
                                      [ticket](const Waiter& waiter) { return waiter.request.ticket == ticket; });
      if (found == flight.waiters.end()) continue;
      answer = std::move(found->answer);
      flight.waiters.erase(found);
      break;
    }
    if (answer == nullptr) {
      // Or its answer is on its way; such tickets are of no use and must not pile up.
      if (early_interrupts_.size() >= kMaxEarlyInterrupts) early_interrupts_.clear();
      early_interrupts_.push_back(ticket);
      return;
    }
  }
  parts_.counters->Add(Counter::kInterrupted);
  answer(ErrorCode::kInterrupted);
}

void Promoter::Forget(PageId id) {
  MutexLock lock(mutex_);
  const auto found = flights_.find(id.value);
  if (found != flights_.end()) found->second.removed = true;
}

void Promoter::Retry(int64_t now_ns) {
  std::vector<Waiter> late;
  std::vector<Page> ready;
  {
    MutexLock lock(mutex_);
    for (auto& [id, flight] : flights_) {
      std::vector<Waiter> in_time;
      for (Waiter& waiter : flight.waiters) {
        (waiter.request.deadline_ns > now_ns ? in_time : late).push_back(std::move(waiter));
      }
      flight.waiters = std::move(in_time);
      if (flight.state == Flight::State::kReading || flight.waiters.empty()) continue;
      flight.state = Flight::State::kReading;
      ready.push_back(flight.page);
    }
    absl::erase_if(flights_, [](const auto& entry) {
      return entry.second.state == Flight::State::kWaiting && entry.second.waiters.empty();
    });
  }
  parts_.counters->Add(Counter::kFetchTimeouts, late.size());
  for (const Waiter& waiter : late) waiter.answer(ErrorCode::kNotFound);
  for (const Page& page : ready) Start(page);
}

int64_t Promoter::NextDeadline() const {
  MutexLock lock(mutex_);
  int64_t nearest = 0;
  for (const auto& [id, flight] : flights_) {
    for (const Waiter& waiter : flight.waiters) {
      if (nearest == 0 || waiter.request.deadline_ns < nearest) nearest = waiter.request.deadline_ns;
    }
  }
  return nearest;
}

void Promoter::AnswerAll(ErrorCode code) {
  std::vector<Waiter> waiters;
  {
    MutexLock lock(mutex_);
    for (auto& [id, flight] : flights_) {
      std::move(flight.waiters.begin(), flight.waiters.end(), std::back_inserter(waiters));
      flight.waiters.clear();
    }
  }
  for (const Waiter& waiter : waiters) waiter.answer(code);
}

size_t Promoter::waiting() const {
  MutexLock lock(mutex_);
  size_t count = 0;
  for (const auto& [id, flight] : flights_) count += flight.waiters.size();
  return count;
}

}  // namespace kvpagefs
