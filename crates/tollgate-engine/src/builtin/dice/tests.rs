//! The dice tools as a caller sees them, with dice that fall as written down.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};

use super::tables::RandomTables;
use super::{DiceRandom, parse, thread_random, tools};
use crate::builtin::{BuiltinReply, BuiltinToolContext, BuiltinToolError};

mod hostile;

/// Dice that fall one after the other as given.
fn falling(falls: &[u32]) -> DiceRandom {
    let falls = falls.to_vec();
    let next = AtomicUsize::new(0);
    Arc::new(move |sides| {
        let fall = falls[next.fetch_add(1, Ordering::Relaxed)];
        assert!((1..=sides).contains(&fall), "{fall} is not on a die with {sides} sides");
        fall
    })
}

async fn call(
    name: &str,
    random: &DiceRandom,
    given: Value,
) -> Result<BuiltinReply, BuiltinToolError> {
    let tools = tools(RandomTables::builtin(), random);
    let tool = tools.iter().find(|tool| tool.definition()["name"] == name).unwrap();
    tool.call(given.as_object().unwrap(), &BuiltinToolContext::local()).await
}

async fn roll(expression: &str, falls: &[u32]) -> Result<BuiltinReply, BuiltinToolError> {
    call("roll", &falling(falls), json!({ "expression": expression })).await
}

async fn roll_table(name: &str, fall: u32) -> Result<BuiltinReply, BuiltinToolError> {
    call("roll_table", &falling(&[fall]), json!({ "table_name": name })).await
}

/// What came of it as data.
async fn check(expression: &str, falls: &[u32], expected: Value) {
    let reply = roll(expression, falls).await.unwrap();
    assert_eq!(reply.structured, Some(expected), "{expression}");
}

#[tokio::test]
async fn a_roll_says_expression_faces_and_total() {
    check("2d6+3", &[4, 2], json!({ "expression": "2d6+3", "rolls": [4, 2], "total": 9 })).await;
    check("d20", &[17], json!({ "expression": "d20", "rolls": [17], "total": 17 })).await;
    check(
        " 4D8 - 1 ",
        &[1, 2, 3, 8],
        json!({ "expression": "4D8 - 1", "rolls": [1, 2, 3, 8], "total": 13 }),
    )
    .await;
}

#[tokio::test]
async fn dropped_faces_are_told_apart_from_those_that_count() {
    check(
        "4d6dl1",
        &[3, 1, 6, 1],
        json!({ "expression": "4d6dl1", "rolls": [3, 6, 1], "total": 10, "dropped": [1] }),
    )
    .await;
    check(
        "adv+5",
        &[4, 15],
        json!({ "expression": "adv+5", "rolls": [15], "total": 20, "dropped": [4] }),
    )
    .await;
}

#[tokio::test]
async fn a_number_alone_has_no_rolls() {
    check("7", &[], json!({ "expression": "7", "rolls": [], "total": 7 })).await;
}

#[tokio::test]
async fn a_roll_can_be_read_aloud() {
    let reply = roll("2d6+3", &[4, 2]).await.unwrap();
    assert_eq!(reply.text, "2d6+3: 4 and 2, plus 3, makes 9.");
}

#[tokio::test]
async fn explosions_that_reach_the_limit_are_marked() {
    let always_two: DiceRandom = Arc::new(|_| 2);
    let reply = call("roll", &always_two, json!({ "expression": "1d2!" })).await.unwrap();
    let structured = reply.structured.unwrap();
    assert_eq!(structured["limited"], true);
    assert_eq!(structured["total"], 2_002);
    assert!(reply.text.ends_with("Extra rolls ended at the limit of 1000."), "{}", reply.text);
}

#[tokio::test]
async fn a_table_says_its_name_the_roll_and_the_entry() {
    let reply = roll_table("wild_magic", 3).await.unwrap();
    let result = "A ball of fire bursts around the caster, who stands in the middle of it.";
    assert_eq!(
        reply.structured,
        Some(json!({ "table": "wild_magic", "roll": 3, "result": result }))
    );
    assert_eq!(reply.text, format!("wild magic, 3: {result}"));
}

#[tokio::test]
async fn dice_in_an_entry_are_rolled_and_told() {
    let arguments = json!({ "table_name": "random_encounter" });
    let reply = call("roll_table", &falling(&[5, 3]), arguments).await.unwrap();
    assert_eq!(
        reply.text,
        "random encounter, 5: 4 wolves follow at a distance, and close in once the light goes."
    );
    let dice = &reply.structured.unwrap()["dice"];
    assert_eq!(*dice, json!([{ "expression": "1d6+1", "total": 4 }]));
}

#[tokio::test]
async fn an_argument_that_is_missing_is_named() {
    let failure = call("roll", &falling(&[]), json!({})).await.unwrap_err();
    assert_eq!(failure.message, "`expression` is required and must be a string");
}

#[test]
fn definitions_declare_latency_and_hints() {
    for tool in tools(RandomTables::builtin(), &thread_random()) {
        let definition = tool.definition();
        assert_eq!(
            definition["_meta"]["dev.tollgate/latency"],
            json!({ "estimatedDurationMs": 5, "maxDurationMs": 20 })
        );
        let hints = &definition["annotations"];
        assert_eq!(hints["readOnlyHint"], true);
        assert_eq!(hints["idempotentHint"], false);
        assert_eq!(hints["openWorldHint"], false);
        assert_eq!(definition["inputSchema"]["additionalProperties"], false);
        assert_eq!(definition["outputSchema"]["type"], "object");
    }
}

#[test]
fn the_schema_lists_the_tables() {
    let tools = tools(RandomTables::builtin(), &thread_random());
    assert_eq!(
        tools[1].definition()["inputSchema"]["properties"]["table_name"]["enum"],
        json!(["random_encounter", "treasure_hoard", "wild_magic"])
    );
}

#[test]
fn examples_in_the_description_can_be_rolled() {
    let description = super::ROLL_DESCRIPTION;
    let examples = description
        .split([' ', '(', ')', ',', ';'])
        .map(|word| word.trim_end_matches('.'))
        .filter(|word| word.contains('d') && word.contains(|c: char| c.is_ascii_digit()));
    for example in examples {
        parse::parse(example).unwrap();
    }
}

#[test]
fn every_face_comes_up_about_as_often() {
    let random = thread_random();
    let mut faces = [0_u32; 6];
    for _ in 0..6_000 {
        faces[random(6) as usize - 1] += 1;
    }
    for count in faces {
        assert!((800..1_200).contains(&count), "{faces:?}");
    }
}
