// Parts of one job that threads share, through a board of numbers.
//
// One thread posts a job. It and its helpers then draw parts until none is left, so it waits only for parts that
// helpers have begun. A ticket holds the job's number, its parts and the next part in one word: a late helper never
// draws a part of a job that has ended. Waiting threads yield their processors; waking none saves some 50 us per job.
#pragma once

#include <atomic>
#include <thread>

#include "room.h"

namespace costframe::trees {

constexpr i64 part_bits = 20, most_parts = (i64{1} << part_bits) - 1;
constexpr int spins_before_rest = 64;  // looks at the board before a thread yields

// Offer the parts of a job, numbered from 0; the one before has ended, and its parameters are on the board.
inline void post(Board& board, i64 job, i64 parts) {
    std::atomic_ref<i64> ticket(board.ticket), done(board.done);
    const i64 number = ((ticket.load() >> (2 * part_bits)) + 1) & most_parts;
    board.job = job;
    done.store(0);
    ticket.store((number << (2 * part_bits)) | (parts << part_bits));
}

// Return a part of the present job that no other thread draws, or -1 if none is left.
inline i64 draw_part(Board& board) {
    std::atomic_ref<i64> ticket(board.ticket);
    const auto left = [](i64 word) { return (word & most_parts) < ((word >> part_bits) & most_parts); };
    if (!left(ticket.load())) return -1;
    const i64 mine = ticket.fetch_add(1);
    return left(mine) ? mine & most_parts : -1;
}

inline void end_part(Board& board) { std::atomic_ref<i64>(board.done).fetch_add(1); }

inline bool has_stopped(Board& board) { return std::atomic_ref<i64>(board.stop).load() != 0; }

// Yield the processor if a thread has already looked often; return how often.
inline int rest(int spins) {
    if (spins >= spins_before_rest) std::this_thread::yield();
    return spins + 1;
}

// Wait until all parts of the job are done; return false if a helper failed.
inline bool wait_for_parts(Board& board, i64 parts) {
    for (int spins = 0; std::atomic_ref<i64>(board.done).load() < parts;) {
        if (has_stopped(board)) return false;
        spins = rest(spins);
    }
    return true;
}

}  // namespace costframe::trees
