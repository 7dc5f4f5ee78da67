//! Counts the text in a passed-through answer while it passes: what was generated, for an answer
//! that is cut before its provider has counted.
//!
//! Only strings under the keys that carry text in one of the dialects count; the rest of a stream
//! is overhead, often more than its text. Nothing is parsed or kept.

const TEXT_KEYS: [&[u8]; 9] = [
    b"content",
    b"text",
    b"delta",
    b"thinking",
    b"partial_json",
    b"arguments",
    b"reasoning",
    b"reasoning_content",
    b"refusal",
];
const MAX_KEY_BYTES: usize = 17;

#[derive(Debug, Default)]
pub struct AnswerTextMeter {
    bytes: usize,
    position: JsonPosition,
    is_escaped: bool,
    /// The string that was read last: a key, if a colon follows.
    last: Vec<u8>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum JsonPosition {
    #[default]
    Between,
    /// In a string that may be a key.
    Name,
    /// Behind the colon of a key of text.
    BeforeText,
    Text,
}

impl AnswerTextMeter {
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    pub fn read(&mut self, data: &[u8]) {
        for byte in data {
            self.step(*byte);
        }
    }

    fn step(&mut self, byte: u8) {
        match (self.position, byte) {
            (JsonPosition::Name | JsonPosition::Text, b'\\') if !self.is_escaped => {
                self.is_escaped = true;
                return;
            }
            (JsonPosition::Name | JsonPosition::Text, b'"') if !self.is_escaped => {
                self.position = JsonPosition::Between
            }
            (JsonPosition::Text, _) => self.bytes += 1,
            (JsonPosition::Name, byte) => {
                if self.last.len() <= MAX_KEY_BYTES {
                    self.last.push(byte);
                }
            }
            (JsonPosition::BeforeText, b'"') => self.position = JsonPosition::Text,
            (JsonPosition::Between, b'"') => {
                self.last.clear();
                self.position = JsonPosition::Name;
            }
            (JsonPosition::Between, b':') if TEXT_KEYS.contains(&&*self.last) => {
                self.position = JsonPosition::BeforeText;
            }
            (JsonPosition::BeforeText | JsonPosition::Between, byte)
                if byte.is_ascii_whitespace() => {}
            (JsonPosition::BeforeText | JsonPosition::Between, _) => {
                self.position = JsonPosition::Between;
                self.last.clear();
            }
        }
        self.is_escaped = false;
    }
}

#[cfg(test)]
mod tests {
    use super::AnswerTextMeter;

    fn check(answer: &str, expected: usize) {
        let mut whole = AnswerTextMeter::default();
        whole.read(answer.as_bytes());
        assert_eq!(whole.bytes(), expected, "{answer}");
        let mut by_bytes = AnswerTextMeter::default();
        answer.as_bytes().chunks(1).for_each(|byte| by_bytes.read(byte));
        assert_eq!(by_bytes.bytes(), expected, "in pieces: {answer}");
    }

    #[test]
    fn only_the_text_of_an_answer_counts() {
        check(r#"data: {"id":"c1","choices":[{"delta":{"content":"Hello"}}]}"#, 5);
        check(r#"{"type":"content_block_delta","delta":{"type":"text_delta","text":"Hi you"}}"#, 6);
        check(r#"{"candidates":[{"content":{"parts":[{"text" : "abc"},{"text":"de"}]}}]}"#, 5);
        check(r#"{"type":"response.output_text.delta","item_id":"x","delta":"four"}"#, 4);
        check(r#"{"delta":{"partial_json":"{\"a\":1}"}}"#, 7);
        check(r#"{"content":"she said \"text\": \"x\" \\"}"#, 22);
        check(r#"{"usage":{"prompt_tokens":5},"content":null,"model":"text"}"#, 0);
        check("event: ping\ndata: {}\n\n", 0);
    }
}
