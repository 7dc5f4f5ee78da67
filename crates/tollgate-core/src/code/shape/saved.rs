//! Shapes as JSON, so that they outlive the process. What cannot be read is no shape.

use serde_json::{Map, Value, json};

use super::{ANY, DEEPEST, LONGEST_KEY, MOST_KEYS, MOST_PARTS, Object, Seen, Shape};

impl Shape {
    /// In few letters: `{"s":16}` is a text.
    pub fn to_value(&self) -> Value {
        let mut fields = Map::new();
        if self.scalars != 0 {
            fields.insert("s".to_owned(), self.scalars.into());
        }
        if let Some(items) = &self.items {
            fields.insert("l".to_owned(), items.to_value());
        }
        if let Some(object) = &self.object {
            fields.insert("o".to_owned(), object.to_value());
        }
        fields.into()
    }

    /// What [`Shape::to_value`] wrote, within the same bounds.
    pub fn from_value(value: &Value) -> Option<Self> {
        Self::read(value, DEEPEST).filter(|it| it.parts() <= MOST_PARTS)
    }

    fn read(value: &Value, depth: usize) -> Option<Self> {
        let fields = value.as_object()?;
        let scalars = match fields.get("s") {
            Some(bits) => u8::try_from(bits.as_u64()?).ok().filter(|it| *it < 2 * ANY)?,
            None => 0,
        };
        let deeper = || depth.checked_sub(1);
        let items = match fields.get("l") {
            Some(items) => Some(Box::new(Self::read(items, deeper()?)?)),
            None => None,
        };
        let object = match fields.get("o") {
            Some(object) => Some(Box::new(Object::read(object, deeper()?)?)),
            None => None,
        };
        Some(Self { scalars, items, object })
    }
}

impl Object {
    fn to_value(&self) -> Value {
        let fields =
            self.fields.iter().map(|it| json!([it.key, it.count, it.results, it.shape.to_value()]));
        let mut object = json!({"n": self.count, "f": fields.collect::<Vec<_>>()});
        if let Some(others) = &self.others {
            object["x"] = others.to_value();
        }
        object
    }

    fn read(value: &Value, depth: usize) -> Option<Self> {
        let count = number(value.get("n")?)?;
        let fields = value.get("f")?.as_array().filter(|it| it.len() <= MOST_KEYS)?;
        let fields = fields.iter().map(|it| Seen::read(it, depth)).collect::<Option<_>>()?;
        let others = match value.get("x") {
            Some(others) => Some(Shape::read(others, depth)?),
            None => None,
        };
        Some(Self { count, fields, others })
    }
}

impl Seen {
    fn read(value: &Value, depth: usize) -> Option<Self> {
        let [key, count, results, shape] = value.as_array()?.as_slice() else { return None };
        let key = key.as_str().filter(|it| it.len() <= LONGEST_KEY)?.to_owned();
        let (count, results) = (number(count)?, number(results)?);
        Some(Self { key, count, results, shape: Shape::read(shape, depth)? })
    }
}

fn number(value: &Value) -> Option<u32> {
    u32::try_from(value.as_u64()?).ok()
}
