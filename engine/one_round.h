// One round of a row: the features that it asks for together, what they cost, and the resources that it goes to again.
#pragma once

#include <algorithm>
#include <bit>

#include "bill.h"
#include "step.h"

namespace costframe {

// Resources that one round goes to. Those that are there and stay spare it what only they need.
class RoundTrip {
   public:
    explicit RoundTrip(const Bill& bill) : bill_(bill), gone_(bill.prices_rounds() ? bill.needs.resources() : 0), order_(gone_.size()) {}

    // Go for one more feature; add the prices of going again to resources that were paid before this round.
    void go_for(i64 u, const u8* paid_before, Vector<u64> total) {
        if (gone_.empty()) return;
        const Needs& needs = bill_.needs;
        i64 at = count_;
        for (i64 i = needs.first[u]; i < needs.first[u + 1]; ++i) reach(needs.need[i], paid_before);
        for (; at < count_; ++at) {
            const i64 r = order_[at];
            for (i64 i = needs.further_first[r]; i < needs.further_first[r + 1]; ++i) reach(needs.further[i], paid_before);
            if (paid_before[r] == paid) add(total, bill_.round[r]);
        }
    }

    // The number of resources so far, to which `withdraw` goes back.
    i64 count() const { return count_; }

    void withdraw(i64 count) {
        while (count_ > count) gone_[order_[--count_]] = 0;
    }

   private:
    void reach(i64 r, const u8* paid_before) {
        if (gone_[r] || (paid_before[r] == paid && bill_.stays[r])) return;
        gone_[r] = 1;
        order_[count_++] = r;
    }

    const Bill& bill_;
    std::vector<u8> gone_;
    std::vector<i64> order_;
    i64 count_ = 0;
};

// What a row asks for in one round, and may pay for it.
class OneRound {
   public:
    OneRound(const Bill& bill, const StepRow& row, const u8* paid_before, Vector<const u64> spent, Vector<const u64> limit,
             i64 n_words)
        : spent(spent.begin(), spent.end()), wanted(n_words), bill_(bill), row_(row), paid_before_(paid_before),
          limit_(limit), trip_(bill), by_then_(paid_before, paid_before + bill.needs.resources()), found_(by_then_.size()),
          reserved_(spent.size()) {}

    // Ask for features, given as bits, too, if the row can pay for them, and for what it must evaluate then.
    bool take(const u64* features, Vector<const u64> evaluating) {
        const std::vector<u64> spent_before = spent, reserved_before = reserved_;
        const i64 n_found = n_found_, n_gone = trip_.count();
        for (std::size_t w = 0; w < wanted.size(); ++w) {
            for (u64 bits = features[w] & ~wanted[w]; bits != 0; bits &= bits - 1) buy(64 * w + std::countr_zero(bits));
        }
        add(reserved_, evaluating);
        if (!is_over()) {
            for (std::size_t w = 0; w < wanted.size(); ++w) wanted[w] |= features[w];
            return true;
        }
        spent = spent_before, reserved_ = reserved_before;
        trip_.withdraw(n_gone);
        while (n_found_ > n_found) by_then_[found_[--n_found_]] = unpaid;
        return false;
    }

    // Mark what it asks for as bought, with the resources.
    void settle(u8* paid_resources) const {
        for (i64 i = 0; i < n_found_; ++i) paid_resources[found_[i]] = paid;
        for (i64 i = 0; i < row_.count; ++i) row_.marks[row_.needed[i]] |= is_bought;
    }

    std::vector<u64> spent;   // (W,): with all that it asks for
    std::vector<u64> wanted;  // bits of features

   private:
    void buy(i64 u) {
        if (row_.marks[u] & is_bought) return;
        n_found_ = add_feature(bill_, u, by_then_.data(), paid, found_.data(), n_found_, spent);
        trip_.go_for(u, paid_before_, spent);
    }

    bool is_over() const {
        std::vector<u64> sum = spent;
        add(sum, reserved_);
        return exceeds(sum, limit_);
    }

    const Bill& bill_;
    const StepRow& row_;
    const u8* paid_before_;
    const Vector<const u64> limit_;
    RoundTrip trip_;
    std::vector<u8> by_then_;  // of each resource
    std::vector<i64> found_;   // resources that it pays for
    i64 n_found_ = 0;
    std::vector<u64> reserved_;  // (W,): for what it must evaluate
};

}  // namespace costframe
