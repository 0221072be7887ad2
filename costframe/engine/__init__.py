"""The compiled engine: its functions, and the door by which a plugin binds a compiled library of its own.

A function's signature says what it takes: `hash_rows(X: f8[n,d], hashes: >u8[n])` is a float64 matrix of any n rows and
d columns, and a uint64 vector of n values that it writes; a size n+1 is one more than n, and one of n? may be 0.
Arrays are C-contiguous and in native byte order. The library gets a pointer of each array, followed by the sizes that
no array before has told, and of an array of several types, `u2|u4[n]`, the bytes of a value; it trusts them.

Arrays that many functions take, or that a loop passes again and again, are a struct, checked once when it is made:
`Task(*fields)`. The library reads its fields in their order, eight bytes for a number, for an array its pointer and all
its sizes, and for a struct all of its own. Sizes with one letter are equal in all structs of a call.

A function returns nothing, or a number whose type follows its arguments: `-> i8`. One that allocates returns a code,
`-> code`, which is negative where there was too little memory.
"""

from costframe.lazily import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
