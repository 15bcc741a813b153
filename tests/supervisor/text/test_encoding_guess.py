"""Messages of programs are read in the encoding that they were written in."""

# The characters are meant, not those that look like them.
# ruff: noqa: RUF001

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pycodex.supervisor.text.charset import as_text
from pycodex.supervisor.text.encoding_guess import SAMPLE_BYTES, likeliest

SENTENCES = {
    "french": "Vérifiez le chemin d'accès et réessayez plus tard, s'il vous plaît: où est l'élève?\n",
    "german": "Fehler: bitte prüfen Sie die Größe des Verzeichnisses und öffnen Sie es erneut.\n",
    "spanish": "¿Dónde está? No se encontró; la contraseña no es válida, inténtelo mañana.\n",
    "swedish": "Filen kunde inte öppnas: försök igen på måndag\n",
    "quotes": "The user’s file — “notes.txt” — couldn’t be opened… try again later.\n",
    "price": "Preis: 25 € für Käse\n",
    "polish": "Błąd: nie można otworzyć pliku. Sprawdź ścieżkę i spróbuj ponownie później.\n",
    "czech": "Chyba: soubor nelze otevřít. Zkontrolujte prosím cestu a zkuste to znovu později.\n",
    "turkish": "Hata: dosya açılamadı. Lütfen yolu kontrol edip daha sonra yeniden deneyin, işlem başarısız oldu.\n",
    "russian": "Ошибка: не удалось открыть файл. Проверьте путь и повторите попытку позже.\n",
    "short russian": "Файл не найден",
    "one russian word": "Привет",
    "ukrainian": "Помилка: файл не знайдено, перевірте шлях і спробуйте ще раз.\n",
    "greek": "Σφάλμα: δεν ήταν δυνατό το άνοιγμα του αρχείου. Ελέγξτε τη διαδρομή.\n",
    "hebrew": "הקובץ לא נמצא, נסה שוב מאוחר יותר\n",
    "arabic": "الملف غير موجود، يرجى المحاولة مرة أخرى\n",
    "thai": "ไม่พบไฟล์ที่ระบุ โปรดลองอีกครั้ง\n",
    "japanese": "エラー: 指定されたファイルが見つかりません。パスを確認してから、もう一度お試しください。\n",
    "short japanese": "ファイルが見つかりません",
    "one japanese word": "日本語",
    "korean": "오류: 지정된 파일을 찾을 수 없습니다. 경로를 확인한 후 다시 시도하십시오.\n",
    "one korean word": "한국어",
    "chinese": "错误：找不到指定的文件。请检查路径，然后再试一次。\n",
    "short chinese": "找不到文件",
    "traditional chinese": "錯誤：找不到指定的檔案。請檢查路徑，然後再試一次。\n",
}
WRITTEN = [
    *(("cp1252", name) for name in ("french", "german", "spanish", "swedish", "quotes", "price")),
    *((codec, name) for codec in ("cp1250", "iso8859_2") for name in ("polish", "czech")),
    ("cp1254", "turkish"),
    *(
        (codec, name)
        for codec in ("cp1251", "koi8_r", "cp866", "iso8859_5")
        for name in ("russian", "short russian", "one russian word")
    ),
    *((codec, "ukrainian") for codec in ("cp1251", "koi8_u")),
    *(("cp1253", "greek"), ("cp1255", "hebrew"), ("cp1256", "arabic"), ("cp874", "thai")),
    *(
        (codec, name)
        for codec in ("shift_jis", "euc_jp")
        for name in ("japanese", "short japanese", "one japanese word")
    ),
    *(("euc_kr", name) for name in ("korean", "one korean word")),
    *((codec, name) for codec in ("gbk", "gb18030") for name in ("chinese", "short chinese")),
    ("big5", "traditional chinese"),
]


@pytest.mark.parametrize(("codec", "name"), WRITTEN)
def test_message_is_read_in_its_encoding(codec: str, name: str) -> None:
    assert as_text(SENTENCES[name].encode(codec)) == SENTENCES[name]


@pytest.mark.parametrize("name", ["russian", "japanese", "korean", "chinese", "french"])
def test_few_damaged_bytes_do_not_make_utf8_something_else(name: str) -> None:
    data = SENTENCES[name].encode()
    assert as_text(b"\xff" + data + b"\xe9\n") == f"\ufffd{SENTENCES[name]}\ufffd\n"


@pytest.mark.parametrize(
    "data", [b"\x7fELF\x02\x01\x01\x03\xb0\xc4\xff\x10", b"\xcf\xf0\x00\xe8\xe2", bytes(range(256))]
)
def test_binary_data_is_not_taken_for_a_language(data: bytes) -> None:
    assert likeliest(data) == "cp1252"


@given(st.binary(min_size=1, max_size=200))
def test_guess_is_a_codec_that_exists(data: bytes) -> None:
    data.decode(likeliest(data), "replace")


@pytest.mark.parametrize("shift", [0, 1])
@pytest.mark.parametrize("codec", ["shift_jis", "euc_kr", "gbk"])
def test_sample_may_end_inside_a_character(codec: str, shift: int) -> None:
    name = {"shift_jis": "japanese", "euc_kr": "korean", "gbk": "chinese"}[codec]
    text = "x" * shift + SENTENCES[name].replace("\n", "") * (SAMPLE_BYTES // 20)
    assert len(text.encode(codec)) > SAMPLE_BYTES
    assert as_text(text.encode(codec)) == text


def test_message_is_found_behind_much_that_says_nothing() -> None:
    before = "plain\n" * SAMPLE_BYTES
    assert as_text((before + SENTENCES["russian"]).encode("koi8_r")) == before + SENTENCES["russian"]


def test_only_a_sample_is_looked_at() -> None:
    """Its end decides nothing, however much there is of it."""
    data = SENTENCES["russian"].encode("cp1251") * (1 + SAMPLE_BYTES // 50)
    assert likeliest(data + SENTENCES["japanese"].encode("shift_jis") * 10_000) == "cp1251"
