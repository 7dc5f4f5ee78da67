use super::OfflineScript;

fn check(text: &str, expected: &str) {
    let written =
        OfflineScript::read(text).map_or_else(|| "none".to_owned(), |script| encode(&script));
    assert_eq!(written, expected, "{text}");
}

fn encode(script: &OfflineScript) -> String {
    let mut rounds: Vec<String> = Vec::new();
    for made in 0..3 {
        let Some(round) = script.round(made) else { break };
        let calls: Vec<String> =
            round.calls.iter().map(|(name, arguments)| format!("{name}({arguments})")).collect();
        rounds.push(format!("{}{}", round.says, calls.join("+")));
    }
    rounds.push(format!("[{}]", script.last_words));
    rounds.join(" ")
}

#[test]
fn each_line_is_a_step() {
    check("call a {}", "a({}) []");
    check("call a {\"x\": 1}\ncall b {}", "a({\"x\": 1})+b({}) []");
    check("call a {}\nthen\ncall b {}\nsay Done.", "a({}) b({}) [Done.]");
    check("say Wait.\ncall a {}\nsay One.\nsay Two.", "Wait.a({}) [One.\nTwo.]");
    check("call a {}\nagain", "a({}) a({}) a({}) []");
    check("  call a {}\r\n  call b [1]\r\n", "a({})+b([1]) []");
}

#[test]
fn arguments_need_not_be_json() {
    check("call a {\"x\": ", "a({\"x\":) []");
    check("call a {'x': 1,}", "a({'x': 1,}) []");
    check("call a ```json", "a(```json) []");
}

#[test]
fn what_people_say_is_no_script() {
    for text in ["", "call", "call me", "call me tomorrow", "say hello", "then", "please call a {}"]
    {
        check(text, "none");
    }
}
