"""CityHash64 of Google, by which CatBoost numbers categories."""

from __future__ import annotations

_MASK = 2**64 - 1
_K0, _K1, _K2, _K3 = 0xC3A5C85C97CB3127, 0xB492B66FBE98F273, 0x9AE16A3B2F90404F, 0xC949D7C7509E6557
_MULTIPLIER = 0x9DDFEA08EB382D69
_Pair = tuple[int, int]


def city_hash64(data: bytes) -> int:
    """Return the hash of bytes of any length, a whole number below 2^64."""
    size = len(data)
    if size <= 16:
        return _hash_0_to_16(data, size)
    if size <= 32:
        return _hash_17_to_32(data, size)
    return _hash_33_to_64(data, size) if size <= 64 else _hash_beyond_64(data, size)


def _load(data: bytes, at: int) -> int:
    return int.from_bytes(data[at : at + 8], "little")


def _rotate(value: int, shift: int) -> int:
    value &= _MASK
    return (value >> shift) | (value << (64 - shift)) & _MASK


def _shift_mix(value: int) -> int:
    value &= _MASK
    return value ^ (value >> 47)


def _hash_pair(low: int, high: int) -> int:
    low, high = low & _MASK, high & _MASK
    first = _shift_mix((low ^ high) * _MULTIPLIER)
    return _shift_mix((high ^ first) * _MULTIPLIER) * _MULTIPLIER & _MASK


def _hash_0_to_16(data: bytes, size: int) -> int:
    if size > 8:
        first, last = _load(data, 0), _load(data, size - 8)
        return _hash_pair(first, _rotate(last + size, size)) ^ last
    if size >= 4:
        first, last = int.from_bytes(data[:4], "little"), int.from_bytes(data[-4:], "little")
        return _hash_pair(size + (first << 3), last)
    if size == 0:
        return _K2
    y, z = data[0] + (data[size >> 1] << 8), size + (data[-1] << 2)
    return _shift_mix(y * _K2 ^ z * _K3) * _K2 & _MASK


def _hash_17_to_32(data: bytes, size: int) -> int:
    a, b = _load(data, 0) * _K1, _load(data, 8)
    c, d = _load(data, size - 8) * _K2, _load(data, size - 16) * _K0
    return _hash_pair(_rotate(a - b, 43) + _rotate(c, 30) + d, a + _rotate(b ^ _K3, 20) - c + size)


def _hash_33_to_64(data: bytes, size: int) -> int:
    z = _load(data, 24)
    a = _load(data, 0) + (size + _load(data, size - 16)) * _K0
    low, high = _half(data, 8, a, z)
    z = _load(data, size - 8)
    a = _load(data, 16) + _load(data, size - 32)
    low_end, high_end = _half(data, size - 24, a, z)
    mixed = _shift_mix((low + high_end) * _K2 + (low_end + high) * _K0)
    return _shift_mix(mixed * _K0 + high) * _K2 & _MASK


def _half(data: bytes, at: int, a: int, z: int) -> _Pair:
    """Mix the 16 bytes from `at` into a and z."""
    b, c = _rotate(a + z, 52), _rotate(a, 37)
    a += _load(data, at)
    c += _rotate(a, 7)
    a += _load(data, at + 8)
    return a + z, b + _rotate(a, 31) + c


def _hash_beyond_64(data: bytes, size: int) -> int:
    x, y, z = _load(data, 0), _load(data, size - 16) ^ _K1, _load(data, size - 56) ^ _K0
    v = _weak_hash(data, size - 64, size, y)
    w = _weak_hash(data, size - 32, size * _K1, _K0)
    z += _shift_mix(v[1]) * _K1
    x = _rotate(z + x, 39) * _K1
    y = _rotate(y, 33) * _K1
    for at in range(0, (size - 1) & ~63, 64):
        x = _rotate(x + y + v[0] + _load(data, at + 16), 37) * _K1 & _MASK ^ w[1]
        y = _rotate(y + v[1] + _load(data, at + 48), 42) * _K1 & _MASK ^ v[0]
        z = _rotate(z ^ w[0], 33)
        v = _weak_hash(data, at, v[1] * _K1, x + w[0])
        w = _weak_hash(data, at + 32, z + w[1], y)
        z, x = x, z
    return _hash_pair(_hash_pair(v[0], w[0]) + _shift_mix(y) * _K1 + z, _hash_pair(v[1], w[1]) + x)


def _weak_hash(data: bytes, at: int, a: int, b: int) -> _Pair:
    """Mix the 32 bytes from `at` into a and b."""
    w, x, y, z = (_load(data, at + step) for step in (0, 8, 16, 24))
    a += w
    b = _rotate(b + a + z, 21)
    c = a
    a += x + y
    b += _rotate(a, 44)
    return a + z & _MASK, b + c & _MASK
