use super::*;

const STOCK: PartitionStats = PartitionStats { texts: 10_000, first: 1, last: 10_000 };

fn lists(terms: &[&[u64]]) -> PostingLists {
    let mut lists = PostingLists::new(terms.len());
    lists.add_partition(STOCK);
    for (term, newest) in terms.iter().enumerate() {
        lists.add(term, newest.to_vec(), STOCK);
    }
    lists
}

#[test]
fn rare_terms_go_before_common_ones_and_the_newest_of_equals_first() {
    let common: Vec<u64> = (9_000..9_900).rev().collect();
    let chosen = lists(&[&common, &[9_050, 7]]).choose_candidates();
    assert_eq!(chosen[..4], [9_050, 7, 9_899, 9_898]);
    assert_eq!(chosen.len(), MAX_CANDIDATES);
}

#[test]
fn more_terms_go_before_fewer() {
    assert_eq!(lists(&[&[9, 5, 3], &[7, 5, 2]]).choose_candidates(), [5, 9, 7, 3, 2]);
    assert_eq!(lists(&[&[], &[]]).choose_candidates(), [0_u64; 0]);
}

#[test]
fn a_list_that_ends_is_counted_and_one_that_does_not_is_estimated() {
    let check = |newest: Vec<u64>, stock: PartitionStats, expected: u64| {
        assert_eq!(estimate(&newest, stock), expected, "{stock:?}");
    };
    check(vec![5, 3], STOCK, 2);
    check(vec![], STOCK, 0);
    let every_second: Vec<u64> = (0..1_000).map(|it| 10_000 - 2 * it).collect();
    check(every_second.clone(), STOCK, 5_002);
    // The texts of this shelf lie in the newer half only.
    let half = PartitionStats { texts: 5_000, first: 5_001, last: 10_000 };
    check(every_second.clone(), half, 2_501);
    // Never more than there are.
    check(every_second, PartitionStats { texts: 1_200, ..STOCK }, 1_200);
    // What was counted wrongly must not be worse than an estimate.
    check((1..=1_000).rev().collect(), PartitionStats { texts: 0, first: 9, last: 0 }, 1_000);
}

#[test]
fn shelves_are_added_up() {
    let mut lists = PostingLists::new(1);
    let other = PartitionStats { texts: 5, first: 2, last: 9 };
    for (stock, newest) in [(STOCK, vec![10, 4]), (other, vec![9])] {
        lists.add_partition(stock);
        lists.add(0, newest, stock);
    }
    assert_eq!(
        (lists.texts(), lists.with(), lists.choose_candidates()),
        (10_005, vec![3], vec![10, 9, 4])
    );
}

#[test]
fn what_has_all_terms_goes_first_however_old_it_is() {
    let mut lists = lists(&[&[9, 5], &[7, 5]]);
    lists.with_all(vec![5, 1]);
    assert_eq!(lists.choose_candidates(), [5, 1, 9, 7]);
}

#[test]
fn a_text_that_has_a_term_in_two_ways_has_it_once() {
    let mut lists = lists(&[&[5, 3], &[3, 2]]);
    lists.add(0, vec![5, 1], STOCK);
    assert_eq!(lists.choose_candidates(), [3, 2, 5, 1]);
}
