//! Pages as people read them.

use super::*;

fn check(html: &str, expected: &str) {
    assert_eq!(read(html, "https://site.example/a/b").text, expected, "{html}");
}

#[test]
fn a_page_becomes_title_headings_text_lists_and_tables() {
    let page = r#"<!doctype html><html><head><title> The  Inn &amp; you </title>
        <style>p { color: red }</style><script>alert("<p>x</p>")</script></head><body>
        <h1>The <em>Prancing</em> Pony</h1>
        <p>An inn in <a href="/bree?x=1#top">Bree</a>.
           It is old.</p><p>Rooms:
        <ul><li>Small<li><p>Large</p><ol><li>East<li>West</ol></ul>
        <table><tr><th>Night<th>Price</tr><tr><td>One</td><td>5&nbsp;sp</td></tr></table>
        <pre>  a
    b</pre>Line one<br>Line two &#x2764; &lt;tag&gt;
        </body></html>"#;
    let read = read(page, "https://site.example/a/b");
    assert_eq!(read.title.as_deref(), Some("The Inn & you"));
    assert_eq!(
        read.text,
        "# The Prancing Pony\n\nAn inn in Bree. It is old.\n\nRooms:\n\n- Small\n- Large\n  1. East\n  2. \
         West\n\nNight | Price\nOne | 5 sp\n\n  a\n    b\n\nLine one\nLine two ❤ <tag>"
    );
    let link =
        PageLink { text: "Bree".to_owned(), url: "https://site.example/bree?x=1#top".to_owned() };
    assert_eq!(read.links, [link]);
}

#[test]
fn what_is_around_the_text_is_left_out() {
    let long = "A sentence of the text that is worth reading. ".repeat(8);
    let text = long.trim();
    for around in [
        "<nav><ul><li>Home</ul></nav>{}",
        "<header><h1>Site</h1></header>{}<footer>Imprint</footer>",
        "<aside>Ads</aside>{}<form><input>Name <button>Go</button></form>",
        "<div><nav>never closed</div>{}",
        "<div role=main>{}</div><div>Other news</div>x",
        "Menu<main>{}</main>Small print",
        "<svg/>{}<svg><title>no</title><text>no</text></svg>",
        "<noscript>Turn on scripts</noscript><template><p>x</template>{}",
    ] {
        let expected = match around {
            // It ends where the page does not say so.
            "<div role=main>{}</div><div>Other news</div>x" => format!("{text}\nOther news\nx"),
            _ => text.to_owned(),
        };
        check(
            &around.replace("{}", &format!("<p>{text}</p>")),
            &expected.replace("\nOther", "\n\nOther"),
        );
    }
    let within = format!("<main><header><h1>Mine</h1></header><p>{text}</p></main>");
    check(&within, &format!("# Mine\n\n{text}"));
}

#[test]
fn a_page_that_is_all_form_is_read_all_the_same() {
    check("<form><header><p>Everything is in here</p></header></form>", "Everything is in here");
}

/// Pages can say things to models that no person sees.
#[test]
fn hidden_text_is_left_out() {
    for hidden in [
        "<p hidden>no</p>",
        "<p hidden>no",
        "<div style='display: none !important'>no<div>no</div>no</div>",
        "<span style='color:red;font-size:0'>no<span>no</span>no</span>",
        "<b aria-hidden=true>no</b>",
        "<div style=\"visibility:hidden\"><main>no</main></div>",
        "<!-- no -->",
        "<script>no</script>",
    ] {
        check(&format!("<p>before</p>{hidden}<p>after</p>"), "before\n\nafter");
    }
}

#[test]
fn links_lead_to_the_web_only_and_are_bounded() {
    let base = "https://site.example/a/b";
    let links = "<a href='javascript:x'>a</a><a href='mailto:x@y'>b</a><a href='../c'>c <b>d</b></a><a \
                 href='//other.example'> </a><a>e</a><a href='http://[bad'>f</a>";
    let found = read(links, base).links;
    assert_eq!(
        found,
        [PageLink { text: "c d".to_owned(), url: "https://site.example/c".to_owned() }]
    );
    let many = "<a href=/x>x".repeat(1_000);
    assert_eq!(read(&many, base).links.len(), MAX_LINKS);
}

#[test]
fn b_fe_5_meta_refresh_is_told() {
    let check = |content: &str, expected: Option<&str>| {
        let html = format!("<meta http-equiv=Refresh content=\"{content}\">x");
        let found = read(&html, "https://site.example/a").refresh;
        assert_eq!(found.as_deref(), expected, "{content}");
    };
    check("0; url=http://169.254.169.254/", Some("http://169.254.169.254/"));
    check("5;URL='/next'", Some("https://site.example/next"));
    check("5", None);
    check("0; url=http://[", None);
}

#[test]
fn b_fe_5_pages_made_to_break_readers_are_read_in_bounds() {
    let deep = 10_000;
    for (open, close) in
        [("<div>", ""), ("<div>", "</div>"), ("<ul><li>", ""), ("<b><i>", "</i></b>")]
    {
        let html = format!("{}text{}", open.repeat(deep), close.repeat(deep));
        let read = read(&html, "");
        assert!(read.text.ends_with("text") && read.text.len() < 100, "{open}");
    }
    let attributes: String = (0..5_000).map(|nth| format!(" a{nth}=x")).collect();
    check(&format!("<p{attributes}>text"), "text");
    for html in [
        "<",
        "</",
        "<!--",
        "<p",
        "<p a='",
        "&",
        "&#x",
        "<![CDATA[",
        "<script>",
        "<title>",
        "\0<\0p>",
    ] {
        let _ = read(html, "not a url");
    }
    check(&"</div></ul></p>".repeat(5_000), "");
}

#[test]
fn words_with_tags_become_a_line() {
    assert_eq!(line("a <strong>b</strong>&#x27;s<br>c\n d"), "a b's c d");
    assert_eq!(line("1 < 2"), "1 < 2");
}
