use std::collections::HashMap;

use tollgate_core::memory::terms;

use super::{Campaign, CampaignVolume, DIMENSIONS, OF_A_SESSION, nearest};

const TINY: CampaignVolume =
    CampaignVolume { entries: 5_000, passages: 400, entities: 400, relations: 100 };

#[test]
fn what_is_planted_stands_where_it_says_and_nowhere_else() {
    let campaign = Campaign::new(TINY);
    let all: Vec<_> =
        (0..campaign.sessions()).flat_map(|it| campaign.session(it).unwrap()).collect();
    assert_eq!(all.len(), TINY.entries);
    assert!(all.is_sorted_by_key(|it| it.at));
    for number in 0..campaign.planted_count() {
        let planted = campaign.planted_number(number);
        let with = all.iter().enumerate().filter(|(_, it)| it.text.contains(&planted.name));
        assert_eq!(with.map(|(at, _)| at).collect::<Vec<_>>(), [planted.at]);
    }
    assert_eq!(campaign.session(3).unwrap(), all[3 * OF_A_SESSION..4 * OF_A_SESSION]);
}

#[test]
fn few_words_are_common_and_many_are_rare() {
    let campaign = Campaign::new(TINY);
    let mut counts: HashMap<String, usize> = HashMap::new();
    for entry in (0..campaign.sessions()).flat_map(|it| campaign.session(it).unwrap()) {
        for term in terms(&entry.text) {
            *counts.entry(term).or_default() += 1;
        }
    }
    assert!(counts["the"] > TINY.entries / 3, "{}", counts["the"]);
    let once = counts.values().filter(|it| **it == 1).count();
    assert!(once > counts.len() / 4 && counts.len() > 5_000, "{once} of {}", counts.len());
}

#[test]
fn a_question_is_nearest_to_what_answers_it() {
    let campaign = Campaign::new(TINY);
    let all = TINY.passages;
    let vectors: Vec<f32> = (0..all).flat_map(|it| campaign.meanings.of(it, all)).collect();
    for passage in [0, 17, 399] {
        let requests = campaign.meanings.question_embedding(passage, all);
        assert_eq!(requests.len(), DIMENSIONS);
        assert!(nearest(&vectors, &requests, 10).contains(&passage));
    }
    assert_eq!(nearest(&vectors, &campaign.meanings.of(5, all), 1), [5]);
}

#[test]
fn entities_and_relations_fit_together() {
    let campaign = Campaign::new(TINY);
    let names: Vec<String> = (0..8).map(|it| campaign.entity_name(it)).collect();
    let family = |it: usize| names[it].split(' ').nth(1).unwrap();
    assert_eq!(family(0), family(3));
    assert_ne!(family(0), family(4));
    assert_eq!(campaign.entity(1).unwrap().id, Campaign::entity_id(1).unwrap());
    assert!(campaign.relation(1).is_ok());
}
