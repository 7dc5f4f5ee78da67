use super::{Value, json, raw, text};
use crate::shaping::pages::{LEAST_PAGE_BYTES, Page, PageContent, count, page};

/// All pages of a result, each checked for what holds for every page.
fn all(result: &str, page_bytes: usize) -> Vec<Page> {
    let result = raw(result.to_owned());
    let mut pages = Vec::new();
    let mut next = Some(1);
    while let Some(number) = next {
        let page = page(&result, number, page_bytes).expect("a page that was announced");
        assert!(page.data.get().len() <= page_bytes.max(LEAST_PAGE_BYTES), "{page:?}");
        assert_eq!(page.number, number);
        next = page.next;
        pages.push(page);
    }
    let total = u32::try_from(pages.len()).expect("few");
    assert!(pages.iter().all(|page| page.pages == total));
    assert_eq!(count(result.get(), page_bytes), total);
    for absent in [0, total + 1, u32::MAX] {
        let none = page(&result, absent, page_bytes).expect_err("there is no such page");
        assert_eq!(none.pages, total);
    }
    pages
}

fn value(page: &Page) -> Value {
    serde_json::from_str(page.data.get()).expect("a page is JSON")
}

fn structured(value: &Value) -> String {
    json!({"content": [], "structuredContent": value}).to_string()
}

/// The strings of pages that hold pieces of one, put together.
fn together<'p>(pages: impl IntoIterator<Item = &'p Page>) -> String {
    pages.into_iter().map(|page| value(page).as_str().expect("a piece").to_owned()).collect()
}

#[test]
fn what_fits_is_one_page() {
    let pages = all(&structured(&json!({"a": 1})), 1_000);
    assert_eq!((pages.len(), &pages[0].holds), (1, &PageContent::Whole));
    assert_eq!(value(&pages[0]), json!({"a": 1}));
    assert_eq!(value(&all(&text("hello"), 1_000)[0]), json!("hello"));
    assert_eq!(value(&all(&text("[1, 2]"), 1_000)[0]), json!([1, 2]));
    assert_eq!(value(&all(&text(""), 1_000)[0]), json!(""));
}

#[test]
fn lists_page_by_items() {
    let rows: Vec<Value> = (0..100).map(|id| json!({"id": id, "name": "somebody"})).collect();
    for result in [structured(&json!(rows)), text(&json!(rows).to_string())] {
        let pages = all(&result, 500);
        let mut seen = Vec::new();
        for page in &pages {
            assert_eq!(page.holds, PageContent::Items { first: seen.len(), of: 100 });
            seen.extend(value(page).as_array().expect("items").iter().cloned());
        }
        assert_eq!(seen, rows);
        assert!(pages.len() > 3);
    }
}

#[test]
fn an_object_around_a_list_stands_on_every_page() {
    let rows: Vec<u32> = (0..400).collect();
    let result = structured(&json!({"total": 400, "data": {"rows": rows, "unit": "m"}, "z": null}));
    let mut seen = Vec::new();
    for page in all(&result, 500) {
        let value = value(&page);
        assert_eq!((&value["total"], &value["data"]["unit"]), (&json!(400), &json!("m")));
        assert_eq!(page.holds, PageContent::Items { first: seen.len(), of: 400 });
        let rows = value["data"]["rows"].as_array().expect("rows").clone();
        seen.extend(rows.iter().filter_map(Value::as_u64).filter_map(|it| u32::try_from(it).ok()));
    }
    assert_eq!(seen, rows);
}

#[test]
fn what_stands_around_large_items_is_not_lost() {
    let result = structured(&json!({"total": 2, "rows": ["x".repeat(900), "y".repeat(900)]}));
    let pages = all(&result, 500);
    assert_eq!(value(&pages[0]), json!({"total": 2, "rows": []}));
    assert_eq!(pages[0].holds, PageContent::Items { first: 0, of: 2 });
    for (at, letter) in ["x", "y"].into_iter().enumerate() {
        let holds = PageContent::Text { part: Some(format!("rows.{at}")) };
        let pieces = pages.iter().filter(|page| page.holds == holds);
        assert_eq!(together(pieces), letter.repeat(900));
    }
}

#[test]
fn other_objects_page_by_fields_and_large_fields_in_pieces() {
    let long = "Line one\nline two äöü\n".repeat(60);
    let list: Vec<u32> = (0..300).collect();
    let result =
        structured(&json!({"a": 1, "text": long, "b": "x".repeat(200), "list": list, "c": 3}));
    let pages = all(&result, 400);
    let part = |name: &str| Some(name.to_owned());
    let of_text =
        pages.iter().filter(|page| page.holds == PageContent::Text { part: part("text") });
    assert_eq!(together(of_text), long);
    let source =
        pages.iter().filter(|page| page.holds == PageContent::Source { part: part("list") });
    assert_eq!(together(source), json!(list).to_string());
    let mut fields = serde_json::Map::new();
    for page in pages.iter().filter(|page| page.holds == PageContent::Fields) {
        fields.extend(value(page).as_object().expect("fields").clone());
    }
    assert_eq!(Value::Object(fields), json!({"a": 1, "b": "x".repeat(200), "c": 3}));
}

#[test]
fn text_pages_end_at_lines_then_words_then_anywhere() {
    let lines = "A line of some words.\n".repeat(100);
    let pages = all(&text(&lines), 300);
    assert_eq!(together(&pages), lines);
    assert!(pages.iter().all(|page| value(page).as_str().is_some_and(|text| text.ends_with('\n'))));
    let words = "word ".repeat(500);
    let pages = all(&text(&words), 300);
    assert_eq!(together(&pages), words);
    assert!(pages.iter().all(|page| value(page).as_str().is_some_and(|text| text.ends_with(' '))));
    for hard in ["語😀".repeat(500), "\u{1}\"\\".repeat(500)] {
        assert_eq!(together(&all(&text(&hard), 300)), hard);
    }
}

#[test]
fn results_with_other_things_than_text_page_as_they_are() {
    let image = json!({"type": "image", "data": "A".repeat(900), "mimeType": "image/png"});
    let words = json!({"type": "text", "text": "a caption"});
    let result = json!({"content": [words, image, words]}).to_string();
    let pages = all(&result, 400);
    assert_eq!(pages[0].holds, PageContent::Items { first: 0, of: 3 });
    assert_eq!(value(&pages[0])["content"][0], words);
    let part = Some("content.1".to_owned());
    let pieces =
        pages.iter().filter(|page| page.holds == PageContent::Source { part: part.clone() });
    assert_eq!(serde_json::from_str::<Value>(&together(pieces)).unwrap(), image);
    // Structure that says less than the text does not stand for it.
    let both = json!({
        "content": [{"type": "text", "text": "long ".repeat(200)}],
        "structuredContent": {"ok": true},
    });
    let all_of_it: String =
        all(&both.to_string(), 400).iter().map(|page| page.data.get()).collect();
    assert!(all_of_it.matches("long").count() == 200, "{all_of_it}");
}

#[test]
fn what_is_too_deep_for_readers_is_a_text() {
    let deep = format!("{}1{}", "[".repeat(60), "]".repeat(60));
    let result = format!(r#"{{"content":[],"structuredContent":[1,{deep},2]}}"#);
    let pages = all(&result, 1_000);
    assert_eq!(value(&pages[0]), json!([1]));
    assert_eq!(pages[1].holds, PageContent::Source { part: Some("1".to_owned()) });
    assert_eq!(value(&pages[1]), json!(deep));
    assert_eq!((value(&pages[2]), pages.len()), (json!([2]), 3));
    let wide = format!("{}1{}", "{\"a\":".repeat(3_000), "}".repeat(3_000));
    let result = format!(r#"{{"content":[],"structuredContent":{wide}}}"#);
    let pages = all(&result, 64 << 10);
    assert!(
        matches!(&pages[1].holds, PageContent::Source { part: Some(part) } if part.len() == 17)
    );
    let frame = pages[0].data.get();
    let inside = together(&pages[1..]);
    assert!(frame.replace("{}", &format!("{{\"a\":{inside}}}")) == wide, "{frame}");
}

#[test]
fn hostile_documents_have_pages_too() {
    let deep = format!("{}1{}", "[".repeat(5_000), "]".repeat(5_000));
    let key = format!("{{\"{}\":1}}", "k\\u202e".repeat(500));
    let lone = format!("{{\"a\":\"{}\",\"\\ud800\":1}}", "x".repeat(900));
    let frames = format!("{}1{}", "{\"a\":".repeat(3_000), "}".repeat(3_000));
    let number = format!("[{}]", "7".repeat(2_000));
    let many = format!("[{}0]", "0,".repeat(200_000));
    for document in [&deep, &key, &frames, &number, &many, &lone] {
        let result = format!(r#"{{"content":[],"structuredContent":{document}}}"#);
        let result = raw(result);
        let pages = count(result.get(), 64);
        for number in [1, pages / 2, pages] {
            let page = page(&result, number.max(1), 64).expect("there is a page");
            assert!(page.data.get().len() <= LEAST_PAGE_BYTES);
            assert!(!crate::json::is_deeper_than(64, page.data.get()));
            assert!(serde_json::from_str::<&serde_json::value::RawValue>(page.data.get()).is_ok());
        }
    }
}
