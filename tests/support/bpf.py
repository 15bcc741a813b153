"""An interpreter for classic BPF, as far as seccomp filters use it.

Owns the meaning of the instructions; gives the verdict of a program on one system call, and how it got there. Knows no
rule of ours.
"""

import struct
from dataclasses import dataclass

ALLOW = 0x7FFF0000
KILL_PROCESS = 0x80000000
_ERRNO = 0x00050000

_FIRST_ARGUMENT_OFFSET = 16


def failing_with(code: int) -> int:
    """The verdict that makes a call fail with this errno."""
    return _ERRNO | code


@dataclass(frozen=True)
class Verdict:
    action: int
    steps: int
    looked_at_arguments: bool


def evaluate(program: bytes, arch: int, number: int, arguments: tuple[int, ...] = ()) -> Verdict:
    """Run `program` on a call; missing arguments are zero."""
    padded = [value & 0xFFFFFFFFFFFFFFFF for value in (*arguments, *(0,) * (6 - len(arguments)))]
    data = struct.pack("<IIQ6Q", number & 0xFFFFFFFF, arch, 0, *padded)
    code = list(struct.iter_unpack("<HBBI", program))
    position, steps, accumulator, looked = 0, 0, 0, False
    while True:
        opcode, if_true, if_false, constant = code[position]
        position += 1
        steps += 1
        match opcode:
            case 0x20:
                (accumulator,) = struct.unpack_from("<I", data, constant)
                looked = looked or constant >= _FIRST_ARGUMENT_OFFSET
            case 0x54:
                accumulator &= constant
            case 0x06:
                return Verdict(constant, steps, looked)
            case 0x05:
                position += constant
            case 0x15 | 0x25 | 0x35 | 0x45:
                holds = {
                    0x15: accumulator == constant,
                    0x25: accumulator > constant,
                    0x35: accumulator >= constant,
                    0x45: bool(accumulator & constant),
                }[opcode]
                position += if_true if holds else if_false
            case _:
                raise ValueError(f"instruction {position - 1}: unknown opcode {opcode:#x}")
