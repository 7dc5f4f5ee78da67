//! The first parts of a list or object that may be useful, and the total count. The rest is counted
//! but not parsed.

use std::fmt;

use serde::Deserializer as _;
use serde::de::{IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

#[derive(Default)]
pub(super) struct ContainerHead<'a> {
    pub(super) parts: Vec<HeadPart<'a>>,
    pub(super) count: usize,
}

pub(super) struct HeadPart<'a> {
    /// Empty for a list item.
    pub(super) key: String,
    pub(super) value: &'a str,
    pub(super) cost: usize,
}

impl<'a> ContainerHead<'a> {
    /// Items until their cost exceeds `room`, but at least a minimum number. `None` if it is not a
    /// list.
    pub(super) fn list(
        text: &'a str,
        room: usize,
        least: usize,
        cost: impl Fn(&str) -> usize,
    ) -> Option<Self> {
        let reader = HeadVisitor { room, least, cost: |_: &str, value: &str| cost(value) };
        serde_json::Deserializer::from_str(text).deserialize_seq(reader).ok()
    }

    /// Fields until their cost exceeds `room`. `None` if a key is not decodable.
    pub(super) fn object(
        text: &'a str,
        room: usize,
        cost: impl Fn(&str, &str) -> usize,
    ) -> Option<Self> {
        let reader = HeadVisitor { room, least: 0, cost };
        serde_json::Deserializer::from_str(text).deserialize_map(reader).ok()
    }
}

struct HeadVisitor<C> {
    room: usize,
    least: usize,
    cost: C,
}

impl<C: Fn(&str, &str) -> usize> HeadVisitor<C> {
    fn wants_more(&self, head: &ContainerHead<'_>, spent: usize) -> bool {
        spent <= self.room || head.parts.len() < self.least
    }
}

impl<'de, C: Fn(&str, &str) -> usize> Visitor<'de> for HeadVisitor<C> {
    type Value = ContainerHead<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list or an object")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<ContainerHead<'de>, A::Error> {
        let mut head = ContainerHead::default();
        let mut spent = 0_usize;
        while self.wants_more(&head, spent)
            && let Some(value) = seq.next_element::<&RawValue>()?
        {
            let cost = (self.cost)("", value.get());
            spent = spent.saturating_add(cost);
            head.parts.push(HeadPart { key: String::new(), value: value.get(), cost });
        }
        head.count = head.parts.len();
        while seq.next_element::<IgnoredAny>()?.is_some() {
            head.count += 1;
        }
        Ok(head)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<ContainerHead<'de>, A::Error> {
        let mut head = ContainerHead::default();
        let mut spent = 0_usize;
        while self.wants_more(&head, spent)
            && let Some((key, value)) = map.next_entry::<String, &RawValue>()?
        {
            let cost = (self.cost)(&key, value.get());
            spent = spent.saturating_add(cost);
            head.parts.push(HeadPart { key, value: value.get(), cost });
        }
        head.count = head.parts.len();
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {
            head.count += 1;
        }
        Ok(head)
    }
}
