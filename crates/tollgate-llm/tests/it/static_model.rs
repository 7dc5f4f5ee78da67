//! A real static model, from a package registry: whether it finds what is said in other words.

use tollgate_engine::embedding::{Embedding, EmbeddingPurpose};
use tollgate_llm::static_model;
use tollgate_testkit::embedding_model;

/// A question, and the passage that answers it in other words.
const PAIRS: [(&str, &str); 15] = [
    (
        "how do I reset my login credentials?",
        "To change your password open the account page and choose a new one.",
    ),
    ("my parcel has not arrived", "Orders are delivered by mail within five working days."),
    (
        "can I get my money back?",
        "Refunds are paid within two weeks after we receive the returned item.",
    ),
    ("which medicine helps against a headache?", "Aspirin relieves pain and lowers fever."),
    ("how hot does it get in summer?", "The temperature in July climbs to thirty five degrees."),
    ("what do cats eat?", "Felines are carnivores that need meat and fish."),
    (
        "who painted the famous portrait in Paris?",
        "Leonardo da Vinci created the Mona Lisa, which hangs in the Louvre.",
    ),
    ("the car will not start", "If the engine does not turn over, the battery may be flat."),
    (
        "how do plants make food?",
        "Leaves use sunlight to turn water and carbon dioxide into sugar.",
    ),
    (
        "what is the cheapest way to fly to Spain?",
        "Budget airlines sell low cost tickets to Madrid and Barcelona.",
    ),
    ("when was the war over?", "The conflict ended with a peace treaty in 1648."),
    ("my computer is very slow", "A PC with little memory takes long to open programs."),
    (
        "how do I bake bread?",
        "Knead flour, water and yeast, let the dough rise and put it in the oven.",
    ),
    (
        "which planet is the largest?",
        "Jupiter is bigger than all other worlds of the solar system.",
    ),
    ("how can children learn to swim?", "Kids should have lessons in a pool with an instructor."),
];

/// Of fifteen; what is random would be one.
const ENOUGH: usize = 12;

#[tokio::test]
async fn a_question_finds_the_passage_that_answers_it_in_other_words() {
    let model = static_model::open(&embedding_model()).unwrap();
    assert!(model.model().starts_with("static/256-"), "{}", model.model());
    let passages: Vec<String> = PAIRS.iter().map(|(_, passage)| (*passage).to_owned()).collect();
    let passages = model.embed(&passages, EmbeddingPurpose::Passage).await.unwrap();
    let mut wrong = Vec::new();
    for (number, (question, _)) in PAIRS.iter().enumerate() {
        let asked =
            model.embed(&[(*question).to_owned()], EmbeddingPurpose::Question).await.unwrap();
        let nearness = |passage: &Embedding| asked[0].nearness(passage);
        let best = passages
            .iter()
            .enumerate()
            .max_by(|(_, one), (_, two)| nearness(one).total_cmp(&nearness(two)));
        let best = best.map(|(best, _)| best).unwrap();
        if best != number {
            wrong.push((question, PAIRS[best].1));
        }
    }
    assert!(PAIRS.len() - wrong.len() >= ENOUGH, "{wrong:?}");
}
