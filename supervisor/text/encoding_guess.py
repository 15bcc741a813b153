"""Which encoding bytes are in that are not UTF-8: the one in which they read most like something that people write.

Owns the scripts and how a reading is judged: letters count the more the commoner they are in their script; capitals
inside words, foreign letters inside words and symbols between letters count against it. That is enough for a line or
two of a message, where statistics of longer texts are of no use. Takes bytes, gives the name of a codec.
"""

# The characters are meant, not those that look like them.
# ruff: noqa: RUF001

import codecs
from dataclasses import dataclass, field

from pycodex.supervisor.text.charset import FALLBACK, windows_1252

# A guess needs no more.
SAMPLE_BYTES = 4096
_ASCII = bytes(range(128))
# Control characters that no text has.
_BINARY = bytes(set(range(32)) - set(b"\a\b\t\n\v\f\r\x0e\x0f\x1b"))
_MARKS = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))

# Points for one character, or against it.
_MOST = 3.0
_STRANGE = -3.0
_BROKEN = -6.0

_LATIN = "latin"
_WIDE = "wide"
# What stands between words or at numbers in every language.
_PUNCTUATION = frozenset("“”‘’„‚–—…•«»‹›€£©®°§·№™±µ×\u00a0¿¡")
_WIDE_PUNCTUATION = frozenset("、。「」・ー：，；？！（）《》…—“”～【】％／＝＋")


@dataclass(frozen=True, slots=True)
class _Script:
    """Letters beyond ASCII in the order of their frequency, and the encodings in which they come."""

    codecs: tuple[str, ...]
    letters: str
    kind: str = ""
    weights: dict[str, float] = field(init=False)

    def __post_init__(self) -> None:
        size = len(self.letters)
        weights = {letter: _MOST - 2.0 * index / size for index, letter in enumerate(self.letters)}
        if self.kind != _WIDE:
            weights |= {letter.upper(): weight for letter, weight in weights.items() if len(letter.upper()) == 1}
        object.__setattr__(self, "weights", weights)


# In the order in which they win when two read equally well.
_SCRIPTS = (
    _Script((FALLBACK,), "éäöüáèíóàçßñãêúåôâøæëîïûùõìòœðþÿýšž", _LATIN),
    _Script(("cp1250", "iso8859_2"), "áíéłóěšąężčřýśžćůńöüőúťďňźăâîşţđäű", _LATIN),
    _Script(("cp1254",), "ıüşğçöİâî", _LATIN),
    _Script(("cp1251", "koi8_r", "koi8_u", "cp866", "iso8859_5"), "оеаинтсрвлкмдпуяыьгзбчйхжшюіцщэфїєёґўъ"),
    _Script(("cp1253",), "αοιετσνηυρπκμλωςίόάδγέήχθφύβξζώψϊΐ"),
    _Script(("cp1255",), "יוהלארבתשמםנדחקעכפטזגסצןךףץ"),
    _Script(("cp1256",), "اليمنوترةبعدسفكحقجهشصىخطأضغذزثءئإآؤظ،؟"),
    _Script(("cp874",), "านรอก่เงมยลว้ดตทส์ัิพบคปหจะใีไุแขชำึืโญูถผธซภศณฐฎษฟฝฉฏ็"),
    _Script(
        ("cp932", "euc_jp"),
        "のいるんしたにはをてとがでなりかすれさまらもくきつこっそうあえよせけちだどめみおやじろわほねばずげふへ"
        "ンスルトイラリアクドシレタロプジフマムコサテデバパメナセエカキオグソニダブモウツィェッャョュワビ"
        "日本語文字人大年中出分見行時用者方間定指名前後力入上下内新表示更再確認度試",
        _WIDE,
    ),
    _Script(
        ("cp949",),
        "이다는에을의가고하지로한를은어사기도시리있자인대서정일수나보해과만전원제아주으스니없습부라구그요들여면장동"
        "파류오경찾확후십국할생성공상용신안되된문드조선트소",
        _WIDE,
    ),
    _Script(
        ("gb18030",),
        "的一是不了在人有我他这个们中来上大为和国地到以说时要就出会可也你对生能而子那得于着下自之年过发后作里用道行"
        "所然家种事成方多经么去法学如都同现当没动面起看定天分还进好小部其些主样理心她本前开但因只从想实日文件找错"
        "误请检查路径再试次指无效失败目录名",
        _WIDE,
    ),
    _Script(
        ("big5",),
        "的一是不了在人有我他這個們中來上大為和國地到以說時要就出會可也你對生能而子那得於著下自之年過發後作裡用道行"
        "所然家種事成方多經麼去法學如都同現當沒動面起看定天分還進好小部其些主樣理心她本前開但因只從想實日文件找錯"
        "誤請檢查路徑再試次指無效失敗目錄名檔案字",
        _WIDE,
    ),
)
# Where the characters of everyday use are: the first and the last row, and the least second byte. The rare ones are
# elsewhere.
_EVERYDAY = {
    "cp932": (0x88, 0x97, 0x40),
    "euc_jp": (0xB0, 0xCF, 0xA1),
    "cp949": (0xB0, 0xC8, 0xA1),
    "gb18030": (0xB0, 0xD7, 0xA1),
    "big5": (0xA4, 0xC6, 0x40),
}


def likeliest(data: bytes) -> str:
    """The encoding of bytes that are not UTF-8, or not all of them."""
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            return encoding
    sample = _sample(data)
    if _is_binary(sample) or _is_binary(data[:SAMPLE_BYTES]):
        return FALLBACK
    best, best_points = FALLBACK, 0.0
    for script in _SCRIPTS:
        for encoding in script.codecs:
            text = windows_1252(sample) if encoding == FALLBACK else _read_strictly(sample, encoding)
            if text is None:
                continue
            points = _wide_points(text, encoding, script) if script.kind == _WIDE else _points(text, script)
            if points > best_points:
                best, best_points = encoding, points
    return best if _utf8_points(sample) <= best_points else "utf-8"


def _is_binary(data: bytes) -> bool:
    return len(data.translate(None, _BINARY)) < len(data)


def _sample(data: bytes) -> bytes:
    """The first of the lines that are not ASCII, from where they are not."""
    kept = bytearray()
    for line in data.splitlines(keepends=True):
        if not line.isascii():
            start = len(line) - len(line.lstrip(_ASCII))
            kept += line[max(0, start - 1) :]
            if len(kept) >= SAMPLE_BYTES:
                break
    return bytes(kept[:SAMPLE_BYTES])


def _read_strictly(sample: bytes, encoding: str) -> str | None:
    """None if it is not in this encoding. Only a sample of full size may end inside a character."""
    decoder = codecs.getincrementaldecoder(encoding)()
    try:
        return decoder.decode(sample, final=len(sample) < SAMPLE_BYTES)
    except UnicodeDecodeError:
        return None


def _points(text: str, script: _Script) -> float:
    """For a script of single bytes."""
    points = 0.0
    weights, is_latin = script.weights, script.kind == _LATIN
    before = " "
    for at, each in enumerate(text):
        if each < "\x80":
            if before >= "\x80" and not is_latin and each.isalpha() and before.isalpha():
                points += _STRANGE
            before = each
            continue
        after = text[at + 1 : at + 2] or " "
        points += _of_letter(each, before, after, script) if each in weights else _of_other(each, before, after)
        before = each
    return points


def _of_letter(each: str, before: str, after: str, script: _Script) -> float:
    points = script.weights[each]
    if (each.isupper() and before.islower()) or (each.islower() and after.isupper()):
        points += _BROKEN
    if script.kind == _LATIN:
        # Accents come one by one.
        return points + _BROKEN if before >= "\x80" and before.isalpha() else points
    if not before.isalpha() and not after.isalpha():
        return 0.0
    if each.isupper() and before.isalpha():
        points -= _MOST / 2
    return points + _STRANGE if before < "\x80" and before.isalpha() else points


def _of_other(each: str, before: str, after: str) -> float:
    """For what is no letter of the script."""
    if "\x80" <= each < "\xa0":
        return _BROKEN
    if each.isalpha():
        return _STRANGE
    is_inside_word = before.isalpha() and after.isalpha()
    if each in _PUNCTUATION:
        return -1.0 if is_inside_word and each not in "’–—" else 1.0
    return _BROKEN if is_inside_word else -1.0


def _wide_points(text: str, encoding: str, script: _Script) -> float:
    """For a script of two bytes a character, so each counts twice."""
    points = 0.0
    for each in text:
        if each < "\x80":
            continue
        weight = script.weights.get(each)
        if weight is not None:
            points += 2 * weight
        elif each in _WIDE_PUNCTUATION:
            points += 2.0
        elif "｡" <= each <= "ﾟ":
            points -= 1.0
        else:
            points += 1.0 if _is_everyday(each.encode(encoding, "replace"), encoding) else _BROKEN
    return points


def _is_everyday(encoded: bytes, encoding: str) -> bool:
    first, last, least_second = _EVERYDAY[encoding]
    return first <= encoded[0] <= last and encoded[-1] >= least_second


def _utf8_points(sample: bytes) -> float:
    """Sequences that are right by chance are rare, so a few odd bytes among many of them are only damage."""
    text = sample.decode("utf-8", "replace")
    damage = text.count("\ufffd")
    whole = sum(each >= "\x80" for each in text) - damage
    return 2 * _MOST * whole + _BROKEN * damage
