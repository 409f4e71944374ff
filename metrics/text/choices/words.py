"""The words that answers to multiple-choice questions use to choose, by language.

Each field contains alternatives of a regular expression, without capturing groups and
without unbounded repetition. These are the languages of most models and data sets on
the Hub. To add a language, add a row.
"""

from __future__ import annotations

import unicodedata
from typing import NamedTuple


class ChoiceWords(NamedTuple):
    """The words of one language. A field without words is empty.

    ``answer`` and ``option`` are nouns ("the answer", "option"). ``states`` connects
    such a noun with a letter ("is"). ``chooses`` precedes a letter ("I choose"),
    ``concludes`` precedes a letter that ends the sentence ("so"), and ``rejects``
    precedes a rejected letter ("not"). An ``article`` may precede the letter. ``right``
    follows a letter that is called right, ``wrong`` follows a rejected letter, and
    ``all_wrong`` follows a list of rejected letters. ``joins`` connects letters of a
    list. ``spaced`` is true for languages that put spaces between words.
    """

    answer: str
    option: str = ""
    states: str = ""
    chooses: str = ""
    concludes: str = ""
    article: str = ""
    right: str = ""
    wrong: str = ""
    all_wrong: str = ""
    rejects: str = ""
    joins: str = ""
    spaced: bool = True


ENGLISH = ChoiceWords(
    answer="answers?|ans\\.?|solution",
    option="options?|choices?|letter",
    states="is|was|must be|should be|would be|will be|has to be|being|are",
    concludes="so|therefore|thus|hence|consequently",
    chooses="choose|chose|pick|picked|select|selected|selecting|going with|go with|"
    "opt for|settle on|went with",
    article="the|an?|most likely|probably|likely|clearly|definitely|simply|therefore|"
    "indeed|only|just",
    right="is the (?:correct|right|best)|is (?:correct|right|best|true)|"
    "is (?:the|my) (?:final )?(?:answer|choice)|seems? (?:right|correct|best)|"
    "looks? (?:right|correct|best)|fits best",
    wrong="(?:is|seems|looks) (?:also |clearly |obviously |simply )?"
    "(?:wrong|incorrect|false|excluded|eliminated|ruled out|impossible|invalid)|"
    "(?:is not|isn['’]t|was not|wasn['’]t)(?: (?:the|a|an))?"
    "(?: (?:correct|right|best|valid|true|answer|it|one))|"
    "can(?:not|['’]t) be(?: (?:the|correct|right|it))?|"
    "can be (?:excluded|eliminated|ruled out|discarded)|"
    "(?:is not|isn['’]t)(?=[.,;:!)\n]|$)",
    all_wrong="can be (?:excluded|eliminated|ruled out|discarded)|"
    "(?:are|seem|look) (?:also |both |all |clearly |obviously |simply )?"
    "(?:wrong|incorrect|false|excluded|eliminated|ruled out|impossible|invalid)|"
    "(?:are not|aren['’]t)(?: (?:correct|right|valid|true|answers|it)|"
    "(?=[.,;:!)\n]|$))",
    rejects="not|never|neither|nor|cannot be|can['’]t be|isn['’]t|wasn['’]t|aren['’]t|"
    "rather than|instead of|unlike|except|excluding|other than|as opposed to|"
    "rules? out|ruled out|ruling out|eliminates?|eliminated|eliminating|excludes?|"
    "excluded|rejects?|rejected|discard|discarded",
    joins="and|or|but also|as well as|nor|AND|OR",
)
CHINESE = ChoiceWords(
    answer="答案|正解|解答|回答|答",
    option="选项|選項|选择项|选择|選擇",
    states="是|为|為|选|選|应选|應選",
    concludes="因此|所以|故",
    chooses="选择|選擇|选|選",
    article="选项|選項|字母|：",
    right="(?:选项|選項|项|項)?(?:是|为|為)?(?:最)?(?:正确|正確|对的|對的|答案)",
    wrong="(?:选项|選項|项|項)?(?:是)?"
    "(?:不对|不對|不是|不正确|不正確|错|錯|有误|有誤|排除)",
    all_wrong="(?:选项|選項|项|項)?(?:都|均)?(?:是)?"
    "(?:不对|不對|不是|不正确|不正確|错|錯|有误|有誤|排除)",
    rejects="不是|并非|並非|而非|不选|不選|不应选|不為|不为|排除|除了|非",
    joins="和|或者|或|与|與|及|、",
    spaced=False,
)
FRENCH = ChoiceWords(
    answer="réponse|réponses|solution",
    option="option|choix|proposition|lettre",
    states="est|était|serait|sera|doit être",
    concludes="donc|ainsi",
    chooses="choisis|choisirais|sélectionne|opte pour|retiens|dirais",
    article="la|le|l['’]|une?|bien|donc",
    right="est (?:la |le )?(?:bonne|bon|correcte?|exacte?|juste|meilleure?)",
    wrong="est (?:faux|fausse|incorrecte?|erronée?)|"
    "n['’]est pas(?: (?:la|le|correcte?|bonne|juste))?",
    all_wrong="sont (?:faux|fausses|incorrecte?s|erronée?s)",
    rejects="pas|non|non pas|ni|plutôt que|au lieu de|sauf|exclus|élimine",
    joins="et|ou",
)
SPANISH = ChoiceWords(
    answer="respuestas?|solución",
    option="opción|opciones|alternativa|letra|inciso|literal",
    states="es|era|sería|será|debe ser",
    concludes="por lo tanto|por tanto|así que|entonces",
    chooses="elijo|elegiría|escojo|selecciono|marco|elegimos",
    article="la|el|una?|lo",
    right="es (?:la |el )?(?:respuesta |opción )?(?:correcta|correcto|mejor|adecuada)",
    wrong="es (?:incorrecta|falsa|errónea)|no es(?: (?:la|correcta|respuesta))?",
    all_wrong="son (?:incorrectas|falsas|erróneas)|no son(?: correctas)?",
    rejects="no|ni|en lugar de|en vez de|excepto|salvo|descarto",
    joins="y|e|o|u",
)
GERMAN = ChoiceWords(
    answer="antworten?|lösung|antwortmöglichkeit|antwortoption",
    option="option|auswahl|möglichkeit|buchstabe",
    states="ist|lautet|wäre|war",
    concludes="daher|somit|folglich",
    chooses="wähle|nehme|entscheide mich für|würde ich sagen|tippe auf",
    article="die|der|das|den|eine?|also|wohl|natürlich|eindeutig",
    right="ist (?:die |das |der )?(?:richtige?|korrekte?|beste|zutreffend)|stimmt",
    wrong="ist (?:falsch|ausgeschlossen|inkorrekt|unzutreffend)|"
    "ist nicht(?: (?:die|richtig|korrekt))|stimmt nicht|scheidet aus",
    all_wrong="sind (?:falsch|ausgeschlossen|inkorrekt|unzutreffend)|scheiden aus",
    rejects="nicht|weder|noch|kein|keine|statt|anstatt|außer",
    joins="und|oder|sowie|noch",
)
JAPANESE = ChoiceWords(
    answer="答え|答|解答|回答|正解|正答",
    option="選択肢|オプション",
    states="は|が|として",
    concludes="したがって|よって|だから",
    chooses="",
    article="選択肢|記号|：",
    right="(?:が|は|を)?(?:正解|正しい|答え|正答|選択|選び|適切|最適)",
    wrong="では(?:なく|ない|ありません)|でなく|じゃな|"
    "(?:は|が)?(?:誤り|間違|不正解|正しくな|不適切)",
    all_wrong="(?:は|が)?(?:誤り|間違|不正解|正しくな|不適切)",
    rejects="",
    joins="と|または|か|や",
    spaced=False,
)
KOREAN = ChoiceWords(
    answer="정답|답변|대답|답",
    option="선택지|보기|옵션",
    states="은|는|이|가",
    concludes="따라서|그러므로",
    chooses="",
    article="선택지|보기|옵션",
    right=" ?(?:번|가|이|은|는|를|을)? ?(?:정답|답|맞|옳|선택|고르|적절)",
    wrong=" ?(?:가|이|은|는)? ?(?:아니|아닌|아닙|틀|오답)",
    all_wrong=" ?(?:가|이|은|는)? ?(?:아니|아닌|아닙|틀|오답)",
    rejects="",
    joins="와|과|또는|이나|나|및",
    spaced=False,
)
RUSSIAN = ChoiceWords(
    answer="ответ|ответом|ответы|решение",
    option="вариант|варианта|опция|буква|буквой|пункт",
    states="это|является|будет|под",
    concludes="поэтому|следовательно|значит|итак",
    chooses="выбираю|выбрал|выбрала|выберу|выбор",
    article="вариант|буква|буквой|под|будет|это",
    right="[–—-]? ?(?:является |это )?"
    "(?:правильны\\w\\w?|верны\\w\\w?|правильно|верно)",
    wrong="[–—-]? ?(?:не является|неверно|неправильно|не подходит|ошибочн\\w)",
    all_wrong="[–—-]? ?(?:неверны|неправильны|не подходят|ошибочны)",
    rejects="не|ни|вместо|кроме",
    joins="и|или|либо",
)
PORTUGUESE = ChoiceWords(
    answer="respostas?|gabarito|solução",
    option="opção|opções|alternativa|letra|item",
    states="é|era|seria|será|deve ser",
    concludes="portanto|logo|então",
    chooses="escolho|escolheria|seleciono|marco|marcaria",
    article="a|o|uma?|seria",
    right="é (?:a |o )?(?:resposta |alternativa |opção )?"
    "(?:corret[ao]|cert[ao]|melhor)|está corret[ao]",
    wrong="(?:é|está) (?:incorret[ao]|errad[ao]|fals[ao])|não (?:é|está)",
    all_wrong="(?:são|estão) (?:incorret|errad|fals)[ao]s|não (?:são|estão)",
    rejects="não|nem|em vez de|exceto|descarto",
    joins="e|ou",
)
ITALIAN = ChoiceWords(
    answer="rispost[ae]|soluzione",
    option="opzione|alternativa|scelta|lettera",
    states="è|era|sarebbe|sarà|deve essere",
    concludes="quindi|dunque|pertanto",
    chooses="scelgo|sceglierei|seleziono|opto per",
    article="la|il|lo|l['’]|una?",
    right="è (?:la |quella |l['’])?(?:risposta |opzione )?"
    "(?:corrett[ao]|giust[ao]|esatt[ao]|migliore)",
    wrong="è (?:sbagliat|errat|fals|scorrett)[ao]|non è",
    all_wrong="sono (?:sbagliat|errat|fals|scorrett)[ei]|non sono",
    rejects="non|né|invece di|anziché|tranne|escludo",
    joins="e|o|ed|oppure",
)
ARABIC = ChoiceWords(
    answer="(?:ال)?[إاأ]جاب(?:ة|ه|تي)|(?:ال)?جواب|(?:ال)?حل",
    option="(?:ال)?خيار|(?:ال)?اختيار|حرف",
    states="هي|هو|ستكون|تكون",
    concludes="لذلك|إذن|لذا",
    chooses="[أا]ختار|اخترت|نختار",
    article="(?:ال)?خيار|(?:ال)?حرف|(?:ال)?صحيحة?",
    right="(?:هي |هو )?(?:الإجابة|الاجابة|الجواب|الصحيح|الصحيحة|صحيح|صحيحة)",
    wrong="(?:غير صحيح|غير صحيحة|خاطئ|خاطئة|خطأ)|(?:ليس|ليست)",
    rejects="ليس|ليست|وليس|وليست|لا|بدلا من|غير|باستثناء",
    joins="و|أو|او",
)
HINDI = ChoiceWords(
    answer="उत्तर|जवाब|हल",
    option="विकल्प|अक्षर",
    states="है|होगा",
    concludes="इसलिए|अतः",
    chooses="",
    article="विकल्प|है",
    right="(?:ही )?(?:सही|सर्वोत्तम|उचित|चुन)",
    wrong="(?:नहीं|गलत|ग़लत)",
    rejects="",
    joins="और|या|व",
)
VIETNAMESE = ChoiceWords(
    answer="đáp án|câu trả lời|trả lời",
    option="phương án|lựa chọn|đáp án",
    states="là",
    concludes="vì vậy|do đó",
    chooses="chọn",
    article="là|đúng",
    right="(?:là )?(?:đáp án đúng|đúng|câu trả lời đúng|chính xác)",
    wrong="(?:là )?(?:sai|không đúng)",
    rejects="không phải là|không phải|chứ không phải|trừ",
    joins="và|hoặc|hay",
)
INDONESIAN = ChoiceWords(
    answer="jawaban(?:nya)?",
    option="pilihan|opsi",
    states="adalah|ialah|yaitu",
    concludes="jadi",
    chooses="memilih|pilih",
    article="pilihan|opsi|yang benar",
    right="(?:adalah )?(?:jawaban )?(?:yang )?(?:benar|tepat)",
    wrong="(?:adalah )?salah|tidak (?:benar|tepat)",
    rejects="bukan|bukanlah|tidak|kecuali",
    joins="dan|atau",
)
TURKISH = ChoiceWords(
    answer="cevap|cevabı|cevabım|yanıt|yanıtı|cevaptır",
    option="seçenek|seçeneği|şık|şıkkı",
    states="ise",
    concludes="bu nedenle|dolayısıyla",
    right="['’]?(?:dir|dır)?(?:seçeneği |şıkkı )?doğru",
    wrong="(?:seçeneği |şıkkı )?(?:değil|yanlış)",
    joins="ve|veya|ya da",
)
DUTCH = ChoiceWords(
    answer="antwoord|antwoorden",
    option="optie|keuze",
    states="is|luidt",
    concludes="dus|daarom",
    chooses="kies|neem",
    article="de|het",
    right="is (?:het |de )?(?:juiste?|correcte?|goede?)",
    wrong="is (?:fout|onjuist|niet juist)",
    all_wrong="zijn (?:fout|onjuist|niet juist)",
    rejects="niet|in plaats van|behalve",
    joins="en|of",
)
POLISH = ChoiceWords(
    answer="odpowied(?:ź|zią|zi)|rozwiązanie",
    option="opcja|opcję|wariant",
    states="to|jest|brzmi",
    concludes="zatem|więc",
    chooses="wybieram|zaznaczam",
    right="jest (?:poprawn|prawidłow|właściw)\\w",
    wrong="jest (?:błędn|niepoprawn|nieprawidłow)\\w|nie jest",
    all_wrong="są (?:błędne|niepoprawne|nieprawidłowe)|nie są",
    rejects="nie|ani|zamiast|oprócz",
    joins="i|oraz|lub|albo",
)
LANGUAGES = (
    ENGLISH,
    CHINESE,
    FRENCH,
    SPANISH,
    GERMAN,
    JAPANESE,
    KOREAN,
    RUSSIAN,
    PORTUGUESE,
    ITALIAN,
    ARABIC,
    HINDI,
    VIETNAMESE,
    INDONESIAN,
    TURKISH,
    DUTCH,
    POLISH,
)


def any_of(field: str) -> str:
    """Returns a regular expression for any word of a field, in any language.

    In languages with spaces, a match must be a whole word. In other languages it may
    touch letters.
    """
    spaced: list[str] = []
    joined: list[str] = []
    for language in LANGUAGES:
        words = getattr(language, field)
        if words:
            (spaced if language.spaced else joined).append(words)
    pattern = rf"(?:(?<!\w)(?:{'|'.join(spaced)})(?!\w)|{'|'.join(joined)})"
    # Answers are normalised to NFKC before they are searched.
    return unicodedata.normalize("NFKC", pattern)
