//! The answer to Twilio's webhook: TwiML that connects the call to a stream.

/// Name of the custom parameter that holds the token. Twilio drops the query of a stream's URL.
pub(super) const TOKEN_PARAMETER: &str = "token";

/// `<Connect>` makes the stream bidirectional, and ends with it.
pub(super) fn connect(url: &str, token: &str) -> String {
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?><Response><Connect><Stream url=\"{}\">\
         <Parameter name=\"{TOKEN_PARAMETER}\" value=\"{}\"/></Stream></Connect></Response>",
        escape(url),
        escape(token)
    )
}

fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for sign in text.chars() {
        match sign {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&apos;"),
            other => escaped.push(other),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    #[test]
    fn what_comes_from_outside_stays_text() {
        assert_eq!(
            super::connect("wss://gate.example/a?b&\"><Hangup/>", "t'"),
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?><Response><Connect><Stream \
             url=\"wss://gate.example/a?b&amp;&quot;&gt;&lt;Hangup/&gt;\"><Parameter name=\"token\" \
             value=\"t&apos;\"/></Stream></Connect></Response>"
        );
    }
}
