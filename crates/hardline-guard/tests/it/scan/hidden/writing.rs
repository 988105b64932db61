//! Invisible characters that writing needs, or that remain by accident.

use super::{PAGE, assert_found, assert_passes};

#[test]
fn variants_that_people_use_pass() {
    assert_passes(
        "names",
        "東京都葛\u{e0100}飾区の辻\u{e0101}さんと渡邉\u{e0103}さん、祇\u{e0100}園と榊\u{e0100}原。",
    );
    assert_passes("one", "葛\u{e0100}城市");
    let rows = "葛\u{e0100}飾区, 葛\u{e0100}城市, 辻\u{e0100}村\n".repeat(500);
    assert_passes("a table with the same names", &rows);
    assert_passes("compatibility ideographs", "艹\u{fe00}");
    assert_passes("mathematics", "a ≨\u{fe00} b ⊕\u{fe00} c, ∩\u{fe00} and ∪\u{fe00}, 0\u{fe00}");
    assert_passes("quotation marks", "\u{201c}\u{fe01}引用\u{201d}\u{fe01}、\u{fe00}");
    assert_found("a letter", "a\u{fe00}");
    assert_found("another variant", "≨\u{fe01}");
    assert_found("not an ideograph", &format!("{PAGE}b\u{e0100}"));
    assert_found("no such variant", &format!("{PAGE}字\u{e01ef}"));
}

#[test]
fn what_emoji_need_passes() {
    for text in [
        "👨\u{200d}👩\u{200d}👧\u{200d}👦 👩🏽\u{200d}🚀 🏳\u{fe0f}\u{200d}🌈 🏴\u{200d}☠\u{fe0f} 🏳\u{fe0f}\u{200d}⚧\u{fe0f}",
        "❤\u{fe0f}\u{200d}🔥 👁\u{fe0f}\u{200d}🗨\u{fe0f} 🧑🏻\u{200d}🤝\u{200d}🧑🏿 🐻\u{200d}❄\u{fe0f} 😶\u{200d}🌫\u{fe0f}",
        "1\u{fe0f}\u{20e3} #\u{fe0f}\u{20e3} *\u{fe0f}\u{20e3} ©\u{fe0f} ™\u{fe0e} ▶\u{fe0e} ☎\u{fe0e}",
        "⭐\u{fe0f}⭐\u{fe0f}⭐\u{fe0f}⭐\u{fe0f}⭐\u{fe0f}",
        "🇩🇪 🇯🇵 🏴\u{e0067}\u{e0062}\u{e0073}\u{e0063}\u{e0074}\u{e007f}",
        "✓\u{fe0f} done ✓\u{fe0f} done ✗\u{fe0f} not",
    ] {
        assert_passes("emoji", text);
        assert_passes("emoji", &format!("{text}\n").repeat(200));
    }
    let board =
        "⬛\u{fe0f}⬜\u{fe0f}⬛\u{fe0f}⬜\u{fe0f}⬛\u{fe0f}⬜\u{fe0f}⬛\u{fe0f}⬜\u{fe0f}\n"
            .repeat(50);
    assert_passes("a board", &board);
}

#[test]
fn a_few_strays_pass_and_many_do_not() {
    for stray in ["\u{200b}\u{200b}", "\u{fe0f}", "\u{200b}", "\u{feff}", "\u{2060}", "\u{200e}"] {
        assert_passes(
            "in a comment",
            &format!("// The value is kept{stray} until it is read again."),
        );
        assert_passes("in a page", &format!("{PAGE}{stray}{PAGE}"));
        assert_passes("on each page", &format!("{PAGE}{stray}").repeat(500));
        let many: String =
            PAGE.chars().flat_map(|it| [it, stray.chars().next().unwrap()]).collect();
        assert_found("after each letter", &many);
    }
    // In a text as short as a name, the same is no accident.
    assert_found("a name", "read\u{200b}\u{200b}file");
    assert_found("a name", "read\u{3164}file");
    assert_passes("a name", "read\u{200b}file");
}

#[test]
fn what_writing_from_right_to_left_needs_passes() {
    let kurdish = "msgid \"one\"\nmsgstr \"یەک\"\nmsgid \"hours\"\nmsgstr \"\u{202b}%(num)d کاتژمێر پێشتر\"\n\
        msgid \"{}th\"\nmsgstr \"\u{202b}{}th\"\n";
    assert_passes("Kurdish", &kurdish.repeat(20));
    for text in [
        "מחפש את \u{202a}%1$S\u{202c}…",
        "\u{202b}מחובר אל \u{202a}example.org\u{202c}…\u{202c}",
        "שלום \u{2066}hello, world!\u{2069} עולם",
        "الإصدار \u{200e}1.2.3\u{200f} (\u{200f}تجريبي\u{200f})",
        "\u{2067}שלום\u{2069} means peace.",
        "Bonjour \u{2068}Alice\u{2069}, vous avez \u{2068}3\u{2069} messages.",
        "Open \u{202a}C:\\Users\\alice\\notes.txt",
        "\u{200e}1/\u{200e}2/\u{200e}2026",
        "Created at \u{200f}\u{200e}10:24:31, \u{200e}6 of 12 files of this folder",
        "\u{2068}שלום \u{2066}one\u{2069} ו\u{2066}two\u{2069}\u{2069} means peace.",
        "\"short\": \"d\u{200f}/M\u{200f}/y\", \"name\": \"يناير\"",
        "3\u{200f}/6\u{200f}/2019",
        "٣\u{200f}/٦\u{200f}/٢٠١٩",
        "The report is from 3\u{200f}/6\u{200f}/2019, not from 12\u{200f}/6\u{200f}/2019.",
    ] {
        assert_passes("right to left", text);
        assert_passes("right to left", &format!("{text}\n").repeat(100));
    }
}

#[test]
fn what_scripts_need_passes() {
    for (language, text) in [
        (
            "Persian",
            "می\u{200c}خواهم کتاب\u{200c}ها را به خانه\u{200c}ی دوستم ببرم و نمی\u{200c}دانم چه\u{200c}قدر می\u{200c}ماند.",
        ),
        ("Urdu", "یہ ایک مثال ہے جس میں ہم\u{200c}کار اور بے\u{200c}شمار الفاظ ہیں۔"),
        ("Arabic", "ه\u{200d} تعني هجري، و\u{200f}(١٢٣)\u{200f} رقم."),
        ("Hindi", "क्\u{200d}ष और क्\u{200c}ष, र्\u{200d}य, श्री\u{200c}मान।"),
        ("Bengali", "র\u{200d}্যাব, হুম্\u{200c}ম্\u{200c}, উদ্\u{200c}ঘাটন।"),
        ("Tamil", "க்\u{200c}ஷ மற்றும் க்ஷ"),
        ("Malayalam", "അവന്\u{200d} പറഞ്ഞു, സാന്റ്\u{200c}ബോക്സ്\u{200c}"),
        ("Kannada", "ರ\u{200d}್ಯಾಂಕ್, ಸಾಫ್ಟ್\u{200c}ವೇರ್"),
        ("Telugu", "సాఫ్ట్\u{200c}వేర్, ఎక్స్\u{200c}ప్రెస్"),
        ("Sinhala", "ශ්\u{200d}රී ලංකාව, ක්\u{200d}ය, විද්\u{200d}යාව"),
        ("Gujarati", "સોફ્ટ\u{200c}વેર ર્\u{200d}ય"),
        ("Odia", "ନବ୍\u{200c}\u{200c}\u{200c}\u{200c}ଗୁଡ଼ିକ"),
        (
            "Khmer",
            "ពាក្យ\u{200b}សម្ងាត់\u{200b}របស់\u{200b}អ្នក\u{200b}\u{200b}\u{200b}មិន\u{200b}ត្រឹម\u{200b}ត្រូវ",
        ),
        ("Thai", "ภาษา\u{200b}ไทย\u{200b}ไม่\u{200b}มี\u{200b}ช่อง\u{200b}ว่าง"),
        ("Lao", "ມາດຕະຖານ\u{200b}\u{200b}\u{200b}ອອສ\u{200b}ເຕຣ\u{200b}ລຽນ"),
        ("Burmese", "မြန်မာ\u{200b}ဘာသာ\u{200b}စကား"),
        ("Tibetan", "བོད་ཡིག\u{200b}དང་\u{200b}སྐད་"),
        ("Mongolian", "ᠮᠣᠩᠭᠣᠯ ᠪᠢᠴᠢᠭ᠌ ᠠᠭᠤᠯᠠ\u{180e}ᠨ ᠴᠠᠭ\u{180b}ᠠ\u{202f}ᠶᠢᠨ ᠭᠠᠵᠠᠷ\u{180e}\u{180e}ᠠ"),
        (
            "Old Hangul",
            "나랏말\u{115f}\u{1161}미 \u{1112}\u{1160}\u{11ab} \u{115f}\u{1160}\u{11ab}",
        ),
        ("Korean", "국어사전\u{200b}을 찾아보다, 사전은 낱말의 뜻과 쓰임을 풀이한 책이다."),
        ("Japanese", "長い\u{200b}文章を\u{200b}折り返す。葛\u{e0100}飾"),
        ("Chinese", "你应该将\u{200b}\u{200b}类添加到容器中\u{200b}的第二个"),
        ("Hebrew", "יְרוּשָׁלַ\u{34f}ִם וְ\u{34f}ָ"),
        ("Yiddish", "ייִדיש איז אַ שפּראַך."),
        (
            "German",
            "Donau\u{ad}dampf\u{ad}schiff\u{ad}fahrts\u{ad}gesell\u{ad}schaft, Auf\u{200c}lage, Schilf\u{200c}insel",
        ),
        ("French", "Qu’est-ce\u{202f}? «\u{202f}Oui\u{202f}»\u{a0}!"),
        (
            "Church Slavonic",
            "Этотъ\u{200b} редакторъ показываетъ, какїе параметры \u{200b}предоставлѧетъ шаблонъ",
        ),
        ("mathematics", "f\u{2061}(x) = 2\u{2062}x + sin\u{2061}y, a\u{2063}b, 3\u{2064}½"),
        ("orders", "O\u{2062}(n) and O\u{2062}(n2) and O\u{2062}(n\u{2062}log\u{2061}n), "),
        ("functions", "f\u{2061}(x)=a\u{2062}x "),
        ("music", "𝄞𝅝𝅗𝅥𝅘𝅥 \u{1d173}𝅘𝅥𝅮𝅘𝅥𝅮\u{1d174}"),
        ("hieroglyphs", "𓀀\u{13430}𓀁\u{13431}𓀂"),
        (
            "URLs",
            "https://\u{200b}example\u{200b}.org/\u{200b}a/\u{200b}very_\u{200b}long_\u{200b}name",
        ),
        ("code", "java.\u{200b}util.\u{200b}concurrent.\u{200b}Concurrent\u{200b}HashMap"),
    ] {
        assert_passes(language, text);
        assert_passes(language, &format!("{text}\n").repeat(100));
    }
}
