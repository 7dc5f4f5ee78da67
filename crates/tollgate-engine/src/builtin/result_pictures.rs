//! Pictures in results of tools: PNG, JPEG, WebP or GIF in base64, whatever their server calls them.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde_json::value::RawValue;
use tollgate_core::json::Object;

use super::image_format::ImageFormat;

/// Items of a result that are looked at.
const MAX_ITEMS: usize = 64;
/// Characters of base64 that contain the magic bytes of every format.
const HEAD_CHARS: usize = 32;

/// A picture among the content of a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ResultPicture {
    /// Its index.
    pub(crate) item: usize,
    pub(crate) media_type: &'static str,
    pub(crate) bytes: usize,
}

/// The pictures of a result, recognized by their first bytes.
pub(crate) fn find(result: &RawValue) -> Vec<ResultPicture> {
    let picture = |(item, raw): (usize, &&RawValue)| {
        let data = picture_data(raw)?;
        let head = data.get(..HEAD_CHARS.min(data.len() / 4 * 4))?;
        let format = ImageFormat::of(&BASE64_STANDARD.decode(head).ok()?)?;
        let padding = data.bytes().rev().take_while(|byte| *byte == b'=').count();
        let bytes = (data.len() / 4 * 3).saturating_sub(padding);
        Some(ResultPicture { item, media_type: format.media_type(), bytes })
    };
    with_items(result, |items| items.iter().enumerate().filter_map(picture).collect())
}

/// The content of the image at this index, whatever it is.
pub(crate) fn decode(result: &RawValue, item: usize) -> Option<Vec<u8>> {
    let data = with_items(result, |items| picture_data(items.get(item)?));
    BASE64_STANDARD.decode(data?).ok()
}

/// The first items of the content.
fn with_items<T>(result: &RawValue, look: impl FnOnce(&[&RawValue]) -> T) -> T {
    let object = Object::parse(result.get()).unwrap_or_default();
    let content = object.get("content");
    let items = content.and_then(|items| serde_json::from_str::<Vec<&RawValue>>(items.get()).ok());
    let items = items.unwrap_or_default();
    look(&items[..items.len().min(MAX_ITEMS)])
}

/// The base64 of an item that is an image.
fn picture_data(item: &RawValue) -> Option<String> {
    let item = Object::parse(item.get()).ok()?;
    let is_image = item.string("type").as_deref() == Some("image");
    is_image.then(|| item.string("data").map(std::borrow::Cow::into_owned)).flatten()
}

#[cfg(test)]
mod tests {
    use tollgate_core::json;

    use super::{ResultPicture, find};

    #[test]
    fn only_what_is_a_picture_is_found() {
        let result = r#"{"content":[
            {"type":"text","text":"iVBORw0KGgo="},
            {"type":"image","mimeType":"text/html","data":"iVBORw0KGgoAAAAA"},
            {"type":"image","mimeType":"image/png","data":"PHN2Zy8+"},
            {"type":"image","mimeType":"image/png","data":"not base64"},
            {"type":"image","mimeType":"image/png","data":7},
            {"type":"image","mimeType":"image/gif","data":"R0lGODlhAA=="}]}"#;
        let picture = |item, media_type, bytes| ResultPicture { item, media_type, bytes };
        let expected = [picture(1, "image/png", 12), picture(5, "image/gif", 7)];
        assert_eq!(find(&json::raw(result.to_owned())), expected);
        for result in ["{}", r#"{"content":{}}"#, r#"{"content":[]}"#] {
            assert_eq!(find(&json::raw(result.to_owned())), []);
        }
    }
}
