//! The most common phrases in other languages.

use super::{PhraseRule, rule};
use crate::tool::finding::InjectionPattern;

pub(super) const RULES: &[PhraseRule] = &[
    rule(
        InjectionPattern::Override,
        40,
        &[
            "ignorier*|missacht*|vergiss|vergesst|vergessen sie|beachte nicht",
            "vorherig*|bisherig*|vorangegangen*|obig*|früher*|alle|anderen",
            "anweisung*|instruktion*|vorgaben|regeln|prompts",
        ],
    ),
    rule(
        InjectionPattern::Override,
        40,
        &[
            "ignore|ignorez|ignorer|oublie|oubliez|oublier|ne tiens pas compte|ne tenez pas compte",
            "instructions|consignes|directives|règles",
            "précédent*|antérieur*|ci-dessus",
        ],
    ),
    rule(
        InjectionPattern::Override,
        40,
        &[
            "ignora|ignore|ignorar|olvida|olvide|olvidar|descarta",
            "instrucciones|indicaciones|directrices|órdenes|reglas",
            "anterior*|previas|previos|precedentes",
        ],
    ),
    rule(
        InjectionPattern::Override,
        40,
        &[
            "ignore|ignorar|esqueça|desconsidere",
            "instruções|orientações|diretrizes|regras",
            "anterior*|prévias|acima",
        ],
    ),
    rule(
        InjectionPattern::Override,
        40,
        &[
            "ignora|ignorare|dimentica|dimenticare",
            "istruzioni|direttive|indicazioni|regole",
            "precedenti|anteriori|sopra",
        ],
    ),
    rule(
        InjectionPattern::Override,
        40,
        &[
            "negeer|vergeet",
            "vorige|eerdere|voorgaande|bovenstaande",
            "instructies|aanwijzingen|opdrachten|regels",
        ],
    ),
    rule(
        InjectionPattern::Override,
        40,
        &[
            "zignoruj|ignoruj|zapomnij",
            "poprzedni*|wcześniejsz*|powyższ*",
            "instrukcj*|polece*|zasad*",
        ],
    ),
    rule(
        InjectionPattern::Override,
        60,
        &[
            "игнорируй*|проигнорируй*|забудь*|не обращай*",
            "предыдущ*|прежн*|вышеуказан*|все",
            "инструкц*|указани*|правил*",
        ],
    ),
    rule(
        InjectionPattern::Override,
        60,
        &["ігноруй*|проігноруй*|забудь*", "попередн*|усі|всі", "інструкц*|вказівк*|правил*"],
    ),
    rule(
        InjectionPattern::Override,
        40,
        &[
            "önceki|yukarıdaki|tüm",
            "talimat*|yönerge*",
            "yok say*|yoksay*|unut*|dikkate alma*|görmezden",
        ],
    ),
    rule(
        InjectionPattern::Override,
        40,
        &["abaikan|lupakan", "instruksi|perintah|arahan", "sebelumnya|di atas"],
    ),
    rule(InjectionPattern::Override, 40, &["bỏ qua|quên", "hướng dẫn|chỉ dẫn|lệnh", "trước"]),
    rule(
        InjectionPattern::Override,
        30,
        &["忽略|无视|無視|忘记|忘記|不要理会|不要理會", "指令|指示|提示词|提示詞|规则|規則|命令"],
    ),
    rule(
        InjectionPattern::Override,
        40,
        &[
            "以前の|これまでの|前の|上記の|すべての|全ての",
            "指示|命令|ルール|プロンプト",
            "無視|忘れ",
        ],
    ),
    rule(
        InjectionPattern::Override,
        40,
        &["이전|앞의|위의|모든", "지시|명령|규칙|프롬프트", "무시|잊"],
    ),
    rule(
        InjectionPattern::Override,
        40,
        &["تجاهل|انس|انسى", "التعليمات|الأوامر|الإرشادات", "السابقة|أعلاه"],
    ),
    rule(InjectionPattern::Override, 60, &["पिछले|पिछली|पूर्व|सभी", "निर्देश", "अनदेखा|नज़रअंदाज़|भूल"]),
    rule(
        InjectionPattern::Secrecy,
        32,
        &[
            "sag*|erzähl*|erwähn*|teile|informier*|verrat*",
            "nutzer|benutzer|anwender|user",
            "nichts|nicht|niemals|kein wort",
        ],
    ),
    rule(
        InjectionPattern::Secrecy,
        32,
        &[
            "nutzer|benutzer|anwender|user",
            "nichts|nicht|niemals",
            "sagen|erzählen|erwähnen|mitteilen|informieren|verraten|davon",
        ],
    ),
    rule(
        InjectionPattern::Secrecy,
        32,
        &[
            "ne",
            "dis|dites|mentionne*|révèle*|informe*|parle*",
            "pas|jamais|rien",
            "utilisateur*|personne",
        ],
    ),
    rule(
        InjectionPattern::Secrecy,
        0,
        &[
            "à l'insu de l'utilisateur|sin que el usuario lo sepa|sem o conhecimento do usuário|all'insaputa dell'utente|ohne wissen des nutzers|ohne wissen des benutzers|zonder medeweten",
        ],
    ),
    rule(
        InjectionPattern::Secrecy,
        32,
        &[
            "no",
            "digas|diga|menciones|mencione|informes|informe|reveles|revele|cuentes",
            "usuario*|nadie",
        ],
    ),
    rule(
        InjectionPattern::Secrecy,
        32,
        &["não", "diga|mencione|informe|revele|conte", "usuário*|utilizador*|ninguém"],
    ),
    rule(
        InjectionPattern::Secrecy,
        32,
        &["non", "dire|menzionare|informare|rivelare", "utente|utenti|nessuno"],
    ),
    rule(
        InjectionPattern::Secrecy,
        32,
        &["nie", "mów|wspominaj|informuj|ujawniaj", "użytkownik*|nikomu"],
    ),
    rule(
        InjectionPattern::Secrecy,
        48,
        &[
            "не",
            "говори*|сообщай*|упоминай*|рассказывай*|раскрывай*|информируй*",
            "пользовател*|никому",
        ],
    ),
    rule(InjectionPattern::Secrecy, 32, &["kullanıcı*", "söyleme*|bildirme*|bahsetme*"]),
    rule(
        InjectionPattern::Secrecy,
        30,
        &[
            "不要|不得|请勿|請勿|切勿|不能|别",
            "告诉|告訴|告知|提及|透露|通知|提到",
            "用户|用戶|使用者|任何人",
        ],
    ),
    rule(
        InjectionPattern::Secrecy,
        30,
        &[
            "不要|不得|请勿|請勿|切勿|不能|别",
            "向用户|向用戶|向使用者|让用户|讓用戶",
            "提及|透露|说明|提到|知道|报告",
        ],
    ),
    rule(
        InjectionPattern::Secrecy,
        60,
        &["ユーザー|利用者", "伝えない|言わない|知らせない|教えない|話さない|秘密|明かさない|内緒"],
    ),
    rule(InjectionPattern::Secrecy, 60, &["사용자|유저", "말하지|알리지|언급하지|밝히지|비밀"]),
    rule(InjectionPattern::Secrecy, 24, &["لا تخبر|لا تذكر|دون علم", "المستخدم"]),
    rule(InjectionPattern::Secrecy, 48, &["उपयोगकर्ता|यूज़र", "मत बता|न बता"]),
    rule(
        InjectionPattern::Priority,
        32,
        &[
            "ruf*|verwend*|benutz*|nutz*",
            "dieses tool|dieses werkzeug|diese funktion",
            "immer zuerst|zuerst|vor jedem|vor allen|vor jeder",
        ],
    ),
    rule(
        InjectionPattern::Priority,
        32,
        &[
            "appel*|utilis*",
            "cet outil|cette fonction",
            "d'abord|en premier|avant tout|avant tous|avant chaque",
        ],
    ),
    rule(
        InjectionPattern::Priority,
        32,
        &[
            "llama*|usa*|utiliza*|invoca*",
            "esta herramienta|esta función",
            "primero|antes de cualquier|antes que cualquier|antes de todas",
        ],
    ),
    rule(
        InjectionPattern::Priority,
        32,
        &["chame|use|utilize|invoque", "esta ferramenta|esta função", "primeiro|antes de qualquer"],
    ),
    rule(
        InjectionPattern::Priority,
        48,
        &[
            "всегда|обязательно|сначала|первым",
            "вызывай*|вызови*|используй*",
            "этот инструмент|эту функцию",
        ],
    ),
    rule(
        InjectionPattern::Priority,
        30,
        &[
            "必须|必須|总是|總是|始终|务必|務必|首先",
            "调用|調用|使用|呼叫",
            "此工具|该工具|這個工具|这个工具|本工具|此函数",
        ],
    ),
    rule(InjectionPattern::Priority, 30, &["任何其他工具|其他任何工具|所有其他工具", "之前|前"]),
    rule(
        InjectionPattern::Priority,
        60,
        &["必ず|常に|最初に", "このツール|この関数", "呼び出|使用|実行"],
    ),
    rule(
        InjectionPattern::Priority,
        60,
        &["항상|반드시|먼저", "이 도구|이 함수", "호출|사용|실행"],
    ),
];
