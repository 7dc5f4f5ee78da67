//! English phrases, and language-independent ones: files, markup, URLs.

use super::{PhraseRule, RuleScope, rule};
use crate::tool::finding::InjectionPattern;

const OLD: &str = "previous|previously|prior|above|earlier|preceding|former|system|all other|\
    any other|every other|other|your|user's|existing safety|safety|original";
const TEXTS: &str = "instruction|instructions|prompt|prompts|directive|directives|guideline|\
    guidelines|guardrail|guardrails|safeguards|training|orders";
const ORDERS: &str = "instruction|instructions|prompt|prompts|directive|directives|guideline|\
    guidelines|guardrail|guardrails|safeguards|rules|restrictions|policies|training|orders";
const KEY_FILES: &str = "~/.ssh|/.ssh|.ssh/|id_rsa|id_ed25519|id_ecdsa|id_dsa|.aws/credentials|\
    /etc/passwd|/etc/shadow|/etc/sudoers|.netrc|.pgpass|.git-credentials|.gnupg|.kube/config|\
    .docker/config.json|.pypirc|.npmrc|.cursor/mcp.json|claude_desktop_config.json|wallet.dat|\
    .bash_history|.zsh_history|authorized_keys|cookies.sqlite|key4.db|logins.json|login keychain|\
    application_default_credentials.json|/proc/self/environ|~/.env|.config/gh/hosts.yml";
const TAKE: &str = "read*|open*|cat|load*|include*|content|contents|pass|passing|send*|attach*|\
    upload*|copy|copies|provide|access*|fetch*|retrieve*|extract*|grab|steal|collect*|print|dump*|\
    append*|put|lies|lese*|lire|lisez|lee|leer|leggi|прочитай*|прочти*|читай*|读取|讀取|読み|읽";
const TREASURE: &str = "conversation*|chat history|message history|chat log|credential*|\
    password*|passphrase*|api key|api keys|api_key*|access token*|secret|secrets|private key*|\
    ssh key*|environment variables|env vars|.env|system prompt|cookies|session token*|\
    previous messages|all messages|entire history|customer data|user's data|personal data|\
    user's files|tool results|results of other|results of all";
const AWAY: &str = "http://|https://|to this address|to this url|to the following|to our|to my|\
    to an external|to a remote|to the attacker|webhook|remote server|external server|sidenote|\
    side note|as the value|parameter so|to this server|to this tool|into this|\
    in this parameter|in this field|in this argument|by email|via email|query string|to us|\
    in the feedback|in the context parameter|in the notes parameter|in the metadata";

pub(super) const RULES: &[PhraseRule] = &[
    // Ignore previous instructions.
    rule(
        InjectionPattern::Override,
        28,
        &[
            "ignore|ignoring|disregard|disregarding|forget|do not follow|don't follow|do not obey|\
           pay no attention to|set aside|stop following",
            OLD,
            TEXTS,
        ],
    ),
    rule(
        InjectionPattern::Override,
        20,
        &[
            "ignore|disregard|forget|do not follow|don't follow",
            "previous|prior|your|safety",
            ORDERS,
        ],
    ),
    rule(
        InjectionPattern::Override,
        8,
        &["ignore|disregard|forget", "all|any|the|these|those", TEXTS],
    ),
    rule(
        InjectionPattern::Override,
        28,
        &[
            "override|overrides|overriding|bypass|supersede|supersedes|precedence over|overrule|\
           overrules|higher priority than",
            OLD,
            TEXTS,
        ],
    ),
    rule(
        InjectionPattern::Override,
        0,
        &["you are now a|you are now an|you are now in|your new instructions|new instructions:|\
           your real task|your actual task|your true task|forget everything|ignore everything|\
           ignore anything|system override|ignore the user|ignore what the user|\
           ignore the user's|regardless of what the user|do anything now|unrestricted mode|\
           disable your safety|without any restrictions or filters|you must obey|\
           you no longer have to"],
    ),
    rule(
        InjectionPattern::Override,
        32,
        &["decode*|decrypt*|rot13", "follow|obey|comply with|act on|carry out|as instructions"],
    ),
    // Hide it from the user.
    rule(
        InjectionPattern::Secrecy,
        24,
        &[
            "do not|don't|never|must not|should not|shouldn't|mustn't|without|refrain from|avoid",
            "tell|telling|inform|informing|mention|mentioning|reveal|revealing|notify|notifying|\
           disclose|disclosing|alert|alerting|warn|warning|divulge|let on",
            "user|users|human|humans|operator|anyone|anybody|customer|owner|developer|person",
        ],
    ),
    rule(
        InjectionPattern::Secrecy,
        0,
        &["without the user's knowledge|without the user knowing|without the user noticing|\
           without their knowledge|behind the user's back|keep this secret|keep it secret|\
           keep this a secret|keep this hidden|keep this between us|secretly|covertly|\
           hide this from|hide it from|conceal this|conceal it|hide this step|hidden from the user|\
           the user must not know|the user should not know|the user must never|\
           user does not need to know|user doesn't need to know|user must not see|\
           do not mention this|don't mention this|do not reveal this|do not tell anyone|\
           without letting the user know|don't let the user know|do not let the user know|\
           do not show this to the user|don't show this to the user"],
    ),
    rule(
        InjectionPattern::Secrecy,
        16,
        &[
            "silently|quietly|discreetly|invisibly",
            "send|sends|read|reads|call|calls|include|append|upload|forward|copy|invoke|execute|pass",
        ],
    ),
    // Call this tool first.
    rule(
        InjectionPattern::Priority,
        14,
        &[
            "before|prior to",
            "using|calling|invoking|running|executing|use of|you use|you call|you run|you invoke",
            "any other|any|another|all other|every other|all|every",
            "tool|tools|function|functions|action|actions|command|commands|tool calls|operation",
        ],
    ),
    rule(
        InjectionPattern::Priority,
        10,
        &[
            "before",
            "any other|every other|all other|each other",
            "tool|tools|tool call|tool calls|function|function call",
        ],
    ),
    rule(
        InjectionPattern::Priority,
        24,
        &[
            "always|must|mandatory|required|need to|have to|important",
            "call|use|invoke|run|execute|called|invoked|used|executed|calling",
            "this tool|this function|this one|it first|this first|first",
            "first|before anything|before any|before every|before each|before responding|\
           before answering|before all|every time|on every|for every|at the start of every|\
           before doing|before you",
        ],
    ),
    rule(
        InjectionPattern::Priority,
        24,
        &[
            "this tool|this function",
            "must|has to|needs to|should always|is required to",
            "be called|be used|be invoked|be run|be executed",
            "first|before any|before every|before each|before all|before anything|every time|on every|for every",
        ],
    ),
    rule(
        InjectionPattern::Priority,
        20,
        &[
            "use this|call this|prefer this|use it|choose this|select this",
            "instead of|rather than|over",
            "any other|all other|every other|other servers|another server|other providers",
        ],
    ),
    rule(
        InjectionPattern::Priority,
        24,
        &[
            "never|do not|don't|stop",
            "use|using|call|calling|invoke",
            "other tools|any other tool|other tool|other servers|any other server|the other",
        ],
    ),
    // Chat markup that models were trained to follow.
    rule(
        InjectionPattern::Markup,
        0,
        &["<important>|</important>|<important |<system>|</system>|<system |<secret>|<hidden>|\
           <instructions>|</instructions>|<instruction>|<admin>|<critical>|<override>|<sudo>|\
           <system-reminder>|<system_prompt>|<assistant>|<developer>|im_start|im_end|endoftext|\
           start_of_turn|[inst]|[/inst]|<<sys>>|[system]|[system message]|[admin]|\
           ### instruction|### system|# system prompt|begin system|system message:|<!--|\
           <priority>|<mandatory>|</tool>|</description>|</tool_description>|</function>|\
           <function_calls>"],
    ),
    // Keys and passwords.
    rule(InjectionPattern::KeyFile, 80, &[TAKE, KEY_FILES]),
    rule(InjectionPattern::KeyFile, 60, &[KEY_FILES, TAKE]),
    PhraseRule {
        pattern: InjectionPattern::KeyFile,
        within: RuleScope::Values,
        gap: 0,
        steps: &[KEY_FILES],
    },
    // Exfiltration.
    rule(
        InjectionPattern::Exfiltration,
        60,
        &[
            "send|sending|post|upload|forward|transmit|exfiltrat*|leak|append|include|pass|passing|\
           submit|email|copy|attach|share|encode|put|insert|embed|place|base64-encode",
            TREASURE,
            AWAY,
        ],
    ),
    rule(
        InjectionPattern::Exfiltration,
        40,
        &[
            "full conversation|entire conversation|whole conversation|complete conversation|\
           conversation history|conversation so far|chat history|entire chat|all previous messages|\
           system prompt",
            "must be|must include|verbatim|as this|as the|in this|into this|in every|in each|word for word",
        ],
    ),
    rule(
        InjectionPattern::Exfiltration,
        50,
        &[
            "always|every|each|all|automatically|also|additionally",
            "bcc|blind copy|blind-copy|cc",
            "@",
        ],
    ),
    rule(
        InjectionPattern::Exfiltration,
        40,
        &[
            "curl|wget|fetch|request|visit|load|render|![",
            "http://|https://",
            "${|$(|{data|{secret|{token|{conversation|?data=|&data=|?q={|?d=|=${|?c=|?secret|?token={",
        ],
    ),
    // Interference with calls of other tools.
    rule(
        InjectionPattern::Meddling,
        48,
        &[
            "when|whenever|if|every time|each time|any time|before|after|once",
            "is called|is invoked|is used|gets called|are called|is run|is executed|called|invoked|sending|calling",
            "change|replace|modify|rewrite|redirect|alter|substitute|swap",
            "recipient*|destination*|phone number|account*|address*|argument*|parameter*|proxy|amount",
        ],
    ),
    rule(
        InjectionPattern::Meddling,
        32,
        &[
            "when|whenever|if|every time|each time|any time|after",
            "any other tool|another tool|other tools|any tool|any other server|other servers|all tools|every tool",
            "you must|must|always|also call|also use|call this|use this|add|append|include|send|set",
        ],
    ),
    rule(
        InjectionPattern::Meddling,
        32,
        &[
            "side effect*|behavior|behaviour|rules|instructions|implementation details",
            "for|of|on|to",
            "other tools|other tool|any other tool|other servers|another tool",
        ],
    ),
];
