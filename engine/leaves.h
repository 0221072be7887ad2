// The leaves of a block's rows: all rows pass a small tree's gates together, or walk a large one level by level. No
// branch depends on the data, so the processor works on many rows while each waits for memory.
#pragma once

#include "nodes.h"

namespace costframe {

// Parts of a node's word: at tests for categories the highest bit; steps to the left child, which the right one
// follows, 0 at leaves; the code column; the rank.
constexpr int named_at = 63, steps_at = 41, column_at = 23;
constexpr u64 steps_bits = (1 << 22) - 1, column_bits = (1 << 18) - 1, rank_bits = (1 << 23) - 1;

constexpr u32 exit_places = 0x077CB531;  // the first bit of a word times this has other five highest bits at each place

// Room for the leaves that a block's rows may still reach, as bits.
struct GateRoom {
    u8 kept[8][block];
    u32 word[block];
};

// Set at[i] to the leaf of row start + i in a tree that has gates: the first bit that no failed comparison cleared.
template <typename Code>
void pass_gates(u32* at, GateRoom& room, Codes<Code> codes, i64 start, i64 count, const Nodes& nodes, i64 tree) {
    const auto* ranks = nodes.gate_rank.as<std::remove_const_t<Code>>();
    const i64 n_words = nodes.n_words[tree];
    for (i64 byte = 0; byte < 4 * n_words; ++byte) std::fill(room.kept[byte], room.kept[byte] + count, 255);
    for (i64 gate = nodes.gate_first[tree]; gate < nodes.gate_first[tree + 1]; ++gate) {
        const Code *code = codes[nodes.gate_column[gate]] + start, rank = ranks[gate];
        u8 *left = room.kept[nodes.gate_byte[gate]], kept = nodes.gate_kept[gate];
        for (i64 i = 0; i < count; ++i) left[i] &= code[i] > rank ? kept : 255;
    }
    for (i64 n = n_words - 1; n >= 0; --n) {  // the first word that is not empty has the leaf
        const u8 *first = room.kept[4 * n], *second = room.kept[4 * n + 1];
        const u8 *third = room.kept[4 * n + 2], *fourth = room.kept[4 * n + 3];
        for (i64 i = 0; i < count; ++i) {
            room.word[i] = first[i] | u32{second[i]} << 8 | u32{third[i]} << 16 | u32{fourth[i]} << 24;
        }
        const u32* leaf = nodes.exit.data() + nodes.exit_first[tree] + 32 * n;
        for (i64 i = 0; i < count; ++i) {
            const u32 word = room.word[i];
            if (word != 0) at[i] = leaf[(word & (~word + 1)) * exit_places >> 27];
        }
    }
}

// Walk a block's rows from the root to a leaf, level by level; at a leaf they stay.
template <typename Code, bool by_category>
void walk_levels(u32* at, Codes<Code> codes, i64 start, i64 count, const Nodes& nodes, i64 tree) {
    constexpr i64 steady = 5;  // levels to walk before testing whether every row is at a leaf
    std::fill(at, at + count, static_cast<u32>(nodes.root[tree]));
    const Code* flat = codes.data + start;
    const u64 *words = nodes.word.data(), *sets = nodes.sets.data(), stride = static_cast<u64>(codes.rows);
    for (i64 level = 0; level < nodes.depth[tree]; ++level) {
        u32 moved = 0;
        for (i64 i = 0; i < count; ++i) {
            const u32 node = at[i];
            const u64 test = words[node], rank = test & rank_bits;
            const u64 code = flat[(test >> column_at & column_bits) * stride + i];
            u64 right = code > rank;
            if constexpr (by_category) {
                const u64 named = test >> named_at;  // other nodes read the first word of sets
                const u64 bit = sets[named * (rank + (code >> 6))] >> (code & 63) & 1;
                right = (bit & named) | (right & (named ^ 1));
            }
            const u32 below = node + static_cast<u32>((test >> steps_at & steps_bits) + right);
            moved |= below ^ node;
            at[i] = below;
        }
        if (moved == 0 && level >= steady) break;
    }
}

// Set at[i] to the leaf of row start + i in a tree.
template <typename Code>
void find_leaves(u32* at, GateRoom& room, Codes<Code> codes, i64 start, i64 count, const Nodes& nodes, i64 tree) {
    if (nodes.n_words[tree] > 0) {
        pass_gates(at, room, codes, start, count, nodes, tree);
    } else if (nodes.by_category[tree]) {
        walk_levels<Code, true>(at, codes, start, count, nodes, tree);
    } else {
        walk_levels<Code, false>(at, codes, start, count, nodes, tree);
    }
}

// Set leaves[i, t] to the node at which row i ends in tree t.
template <typename Code>
void walk_leaves(Codes<Code> codes, const Nodes& nodes, Matrix<i32> leaves) {
    std::vector<u32> at(block);
    GateRoom room;
    for (i64 start = 0; start < codes.rows; start += block) {
        const i64 count = std::min(block, codes.rows - start);
        for (i64 tree = 0; tree < std::ssize(nodes.root); ++tree) {
            find_leaves(at.data(), room, codes, start, count, nodes, tree);
            for (i64 i = 0; i < count; ++i) leaves(start + i, tree) = static_cast<i32>(at[i]);
        }
    }
}

}  // namespace costframe
