use super::*;

/// The numbers of the rows that a query finds in all, page by page.
fn found(place: &Place, mut query: AuditQuery) -> Vec<u64> {
    let reader = place.audit().reader().unwrap();
    let mut all = Vec::new();
    loop {
        let page = reader.page(&query).unwrap();
        assert!(page.rows.len() <= query.limit);
        all.extend(page.rows.iter().map(|row| row.sequence));
        let Some(next) = page.next else { return all };
        query.after = Some(next);
    }
}

fn oldest() -> AuditQuery {
    AuditQuery::all(AuditDirection::OldestFirst)
}

fn some(text: &str) -> Option<String> {
    Some(text.to_owned())
}

#[test]
fn filters_narrow_and_both_directions_find_the_same() {
    let place = Place::new();
    drop(ten(&place));
    let mut journal = place.journal();
    let other = AuditEntry {
        agent: Some("barkeep"),
        name: Some("odd_[x]*"),
        server: Some("web"),
        tool: Some("find"),
        call: Some("02"),
        ..AuditEntry::new(at(20), "approval", "local", "denied")
    };
    journal.append([other, AuditEntry::new(at(21), "reload", "local", "ok")]).unwrap();
    let check = |query: AuditQuery, expected: &[u64]| {
        assert_eq!(found(&place, query.clone()), expected, "{query:?}");
        let mut back =
            found(&place, AuditQuery { direction: AuditDirection::NewestFirst, ..query.clone() });
        back.reverse();
        assert_eq!(back, expected, "{query:?}");
        assert_eq!(found(&place, AuditQuery { limit: 1, ..query }), expected);
    };
    let glob = |text: &str| Some(Glob::new(text));
    let all: Vec<u64> = (1..=12).collect();
    check(oldest(), &all);
    check(AuditQuery { since: Some(at(9)), ..oldest() }, &[9, 10, 11, 12]);
    check(AuditQuery { until: Some(at(2)), ..oldest() }, &[1, 2]);
    check(AuditQuery { since: Some(at(2)), until: Some(at(3)), ..oldest() }, &[2, 3]);
    check(AuditQuery { since: Some(at(99)), ..oldest() }, &[]);
    check(AuditQuery { kind: some("approval"), ..oldest() }, &[11]);
    check(AuditQuery { principal: some("local"), ..oldest() }, &[11, 12]);
    check(AuditQuery { agent: some("barkeep"), ..oldest() }, &[11]);
    check(AuditQuery { server: some("web"), tool: some("find"), ..oldest() }, &[11]);
    check(AuditQuery { server: some("web"), tool: some("write"), ..oldest() }, &[]);
    check(AuditQuery { outcome: some("denied"), ..oldest() }, &[11]);
    check(AuditQuery { call: some("02"), ..oldest() }, &[11]);
    check(AuditQuery { name: glob("t7"), ..oldest() }, &[7]);
    check(AuditQuery { name: glob("t1*"), ..oldest() }, &[1, 10]);
    check(AuditQuery { name: glob("t?"), ..oldest() }, &[1, 2, 3, 4, 5, 6, 7, 8, 9]);
    check(AuditQuery { name: glob("odd_[x]?"), ..oldest() }, &[11]);
    check(AuditQuery { name: glob("odd_x*"), ..oldest() }, &[]);
}

#[test]
fn what_is_asked_for_is_a_value_and_never_a_part_of_the_question() {
    let place = Place::new();
    drop(ten(&place));
    for text in ["' OR 1=1 --", "x'; DROP TABLE audit; --", "\0", "%", "*' OR '1'='1"] {
        for query in [
            AuditQuery { principal: some(text), ..oldest() },
            AuditQuery { outcome: some(text), ..oldest() },
            AuditQuery { kind: some(text), tool: some(text), agent: some(text), ..oldest() },
            AuditQuery { name: Some(Glob::new(text)), ..oldest() },
        ] {
            assert_eq!(found(&place, query), [] as [u64; 0], "{text}");
        }
    }
    assert_eq!(place.sequences().len(), 10);
}

#[test]
fn reading_goes_on_behind_the_last_row_in_either_direction() {
    let place = Place::new();
    let mut journal = ten(&place);
    let reader = place.audit().reader().unwrap();
    let page = |after: u64, direction| {
        let query = AuditQuery { after: Some(after), limit: 3, ..AuditQuery::all(direction) };
        let page = reader.page(&query).unwrap();
        (page.rows.iter().map(|row| row.sequence).collect::<Vec<_>>(), page.next)
    };
    assert_eq!(page(0, AuditDirection::OldestFirst), (vec![1, 2, 3], Some(3)));
    assert_eq!(page(8, AuditDirection::OldestFirst), (vec![9, 10], None));
    assert_eq!(page(10, AuditDirection::OldestFirst), (vec![], None));
    assert_eq!(page(u64::MAX, AuditDirection::OldestFirst), (vec![], None));
    assert_eq!(page(3, AuditDirection::NewestFirst), (vec![2, 1], None));
    assert_eq!(page(0, AuditDirection::NewestFirst), (vec![], None));
    assert_eq!(page(u64::MAX, AuditDirection::NewestFirst), (vec![10, 9, 8], Some(8)));
    journal.append([call("new", 11)]).unwrap();
    assert_eq!(page(10, AuditDirection::OldestFirst), (vec![11], None));
}

#[test]
fn a_page_looks_at_so_many_rows_and_no_more() {
    let place = Place::new();
    let mut journal = place.journal();
    let rows = 1_050_000;
    // The filters see only what is in a row; how it got there is not their business.
    place.sql(&format!(
        "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < {rows})
         INSERT INTO audit (sequence, at, kind, principal, outcome, hash)
         SELECT x, 0, 'call', 'p', 'ok', zeroblob(32) FROM n;
         UPDATE audit_chain SET last_sequence = {rows}"
    ));
    journal.append([call("needle", 1)]).unwrap();
    let reader = place.audit().reader().unwrap();
    let needle = AuditQuery { name: Some(Glob::new("needle")), ..oldest() };
    let page = reader.page(&needle).unwrap();
    assert_eq!((page.rows.len(), page.next), (0, Some(1_000_000)));
    let page = reader.page(&AuditQuery { after: page.next, ..needle.clone() }).unwrap();
    assert_eq!((page.rows.len(), page.next), (1, None));
    let newest = AuditQuery { direction: AuditDirection::NewestFirst, ..needle };
    let page = reader.page(&newest).unwrap();
    assert_eq!((page.rows.len(), page.next), (1, Some(50_002)));
    let page = reader.page(&AuditQuery { after: page.next, ..newest }).unwrap();
    assert_eq!((page.rows.len(), page.next), (0, None));
}

#[test]
fn no_two_rows_have_the_same_hash() {
    let place = Place::new();
    let mut journal = place.journal();
    journal.append((0..500).map(|_| call("same", 1))).unwrap();
    let page = place.audit().reader().unwrap().page(&oldest()).unwrap();
    let hashes: HashSet<[u8; 32]> = page.rows.iter().map(|row| row.hash).collect();
    assert_eq!(hashes.len(), 500);
}
