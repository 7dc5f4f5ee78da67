use super::pairs;

#[test]
fn attributes_are_pairs_that_may_be_encoded() {
    let check = |text: &str, expected: Option<&[(&str, &str)]>| {
        let owned = expected.map(|all| {
            all.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
        });
        assert_eq!(pairs(text), owned, "{text}");
    };
    check("", Some(&[]));
    check("a=1, b = two ,", Some(&[("a", "1"), ("b", "two")]));
    check("service.name=a%2Cb%20%C3%A9", Some(&[("service.name", "a,b é")]));
    check("authorization=Basic%20QTpC==", Some(&[("authorization", "Basic QTpC==")]));
    check("a", None);
    check("=x", None);
    check("a=%zz", None);
    check("a=%2", None);
    check("a=%ff", None);
}
