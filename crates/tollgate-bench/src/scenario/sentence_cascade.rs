//! C1: a sentence cascade before models that take their time: when its first word comes, and how much
//! later its answer ends than that of the strong model alone.

use std::time::Duration;

use serde_json::json;

use super::{BenchContext, completions};
use crate::chat::{BenchChatTarget, ChatApi};
use crate::clock::{self, micros};
use crate::error::BenchError;
use crate::load::{HttpLoadConnection, LoadRequest, LoadTarget};
use crate::mock_model::{FAST_ID, MockModel, MockModelBehavior, TOOL};
use crate::process::MeasuredProcess;
use crate::samples::median;
use crate::serve::ServerThread;
use crate::table::{FigureLimit, FigureRow};
use crate::wire::Era;

/// Answers of each kind in a round.
const TURNS: usize = 4;

/// One streamed answer.
struct TimedAnswer {
    first: Duration,
    whole: Duration,
}

pub(super) async fn measure(bench: &BenchContext) -> Result<Vec<FigureRow>, BenchError> {
    let provider =
        ServerThread::start("model", MockModel { manner: MockModelBehavior::TakesTime })?;
    let more = format!(
        "  fast: {{ provider: up, id: {FAST_ID}, context_window: 128000 }}\n\
         agents:\n  alone: {{ models: [bench], tools: [{TOOL}] }}\n  \
         cascade: {{ models: [bench], tools: [{TOOL}], engine: sentence_cascade, \
         opener_model: fast }}\n"
    );
    let gateway = completions::start_with(bench, "cascade", provider.address, &more).await?;
    // The first answers of a model are not measured yet.
    for model in ["alone", "cascade"] {
        answer(&gateway, model, 0).await?;
    }
    let mut added = Vec::new();
    let mut ratios = Vec::new();
    for number in 1..=(bench.pace.rounds * TURNS) as u64 {
        let alone = answer(&gateway, "alone", number).await?;
        let opener = answer(&gateway, "fast", number).await?;
        let cascade = answer(&gateway, "cascade", number).await?;
        added.push((micros(cascade.first) - micros(opener.first)) / 1e3);
        ratios.push(cascade.whole.as_secs_f64() / alone.whole.as_secs_f64());
    }
    gateway.stop().await?;
    let added = median(added);
    let ratio = median(ratios);
    let first = FigureLimit { most: 20.0, unit: "ms", digits: 1 };
    let whole = FigureLimit { most: 1.1, unit: "×", digits: 3 };
    let what = "sentence cascade, first word after the opener's own".to_owned();
    let later = "sentence cascade, whole answer to that of the strong model alone".to_owned();
    Ok(vec![
        FigureRow::at_most("C1", what, added, first).with(json!({ "addedMilliseconds": added })),
        FigureRow::at_most("C1", later, ratio, whole).with(json!({ "ratio": ratio })),
    ])
}

async fn answer(
    gateway: &MeasuredProcess,
    model: &'static str,
    number: u64,
) -> Result<TimedAnswer, BenchError> {
    let chat = BenchChatTarget { model, front: ChatApi::OpenAi };
    let target = LoadTarget {
        name: "gateway",
        address: gateway.address,
        era: Era::Modern,
        ask: LoadRequest::Chat(chat),
        process: Some(gateway.pid),
    };
    let mut connection = HttpLoadConnection::open(&target).await?;
    let began = clock::now();
    let stream = connection.stream(chat, number).await?;
    let first = stream.first;
    stream.finish(target.name, number).await?;
    Ok(TimedAnswer { first, whole: clock::now() - began })
}
