use std::time::{Duration, Instant};

use super::{SilencePart, SilenceTracker};
use crate::realtime::observer::SpeechEvent;

/// Plays a script of `milliseconds event` and returns what each silence consists of.
fn play(script: &str) -> Vec<String> {
    #[expect(clippy::disallowed_methods, reason = "any start will do")]
    let begin = Instant::now();
    let mut tracker = SilenceTracker::default();
    let mut part = SilencePart::Model;
    let mut found = Vec::new();
    for step in script.split(", ") {
        let (at, event) = step.split_once(' ').unwrap();
        let now = begin + Duration::from_millis(at.parse().unwrap());
        tracker.attribute(part, now);
        let ended = |hangover: Option<u64>| SpeechEvent::CallerEnded {
            hangover: hangover.map(Duration::from_millis),
        };
        let spoken = match event {
            "began" => Some(SpeechEvent::CallerBegan),
            "ended" => Some(ended(None)),
            "ended after 500" => Some(ended(Some(500))),
            "sound" => Some(SpeechEvent::CallerSounds),
            "asked" => Some(SpeechEvent::ResponseRequested),
            _ => None,
        };
        if let Some(event) = spoken {
            tracker.on_speech(event, part, now);
            continue;
        }
        match event {
            "audio" => found.extend(tracker.on_agent_audio(now).map(|silence| {
                let segments = silence.segments.iter().map(|segment| {
                    format!("{} {}", segment.part.as_str(), segment.took.as_millis())
                });
                let segments: Vec<String> = segments.collect();
                let hangover = silence.hangover.map(|it| format!(" +{}", it.as_millis()));
                let sum: Duration = SilencePart::ALL.iter().map(|part| silence.of(*part)).sum();
                assert_eq!(sum, silence.total());
                format!("{}{}", segments.join(" "), hangover.unwrap_or_default())
            })),
            "over" => tracker.on_turn_end(),
            "stopped" => tracker.on_interruption(),
            other => {
                part = *SilencePart::ALL.iter().find(|it| it.as_str() == other).unwrap();
                tracker.attribute(part, now);
            }
        }
    }
    found
}

#[test]
fn each_moment_of_a_silence_belongs_to_one_part() {
    for (script, expected) in [
        ("0 ended, 800 audio", vec!["model 800"]),
        ("0 began, 900 ended after 500, 1300 audio", vec!["model 400 +500"]),
        (
            "0 ended, 300 tool, 700 gateway, 720 model, 1000 audio",
            vec!["model 300 tool 400 gateway 20 model 280"],
        ),
        (
            "0 ended, 0 network, 250 model, 400 tool, 450 model, 450 tool, 600 model, 900 audio",
            vec!["network 250 model 150 tool 200 model 300"],
        ),
        // What happens while nobody waits belongs to nobody.
        ("0 tool, 500 model, 600 ended, 700 audio", vec!["model 100"]),
        ("0 tool, 100 ended, 300 model, 400 audio", vec!["tool 200 model 100"]),
    ] {
        assert_eq!(play(script), expected, "{script}");
    }
}

#[test]
fn a_silence_begins_when_the_caller_ends_and_ends_with_the_first_audio() {
    for (script, expected) in [
        // The audio of one answer is one end.
        ("0 ended, 100 audio, 150 audio, 200 over, 300 audio", vec!["model 100"]),
        // Speech goes on: only the last end counts.
        ("0 ended, 200 began, 500 ended, 600 audio", vec!["model 100"]),
        ("0 sound, 20 sound, 40 sound, 500 audio", vec!["model 460"]),
        // A report is better than a sound, and the first one counts.
        ("0 sound, 40 ended, 60 sound, 70 ended, 80 asked, 100 audio", vec!["model 60"]),
        // Echoes of the agent are no speech of the caller.
        ("0 ended, 100 audio, 120 sound, 140 audio, 200 over", vec!["model 100"]),
        // A client that asks again within an answer waits for nothing.
        ("0 asked, 100 audio, 150 asked, 300 audio", vec!["model 100"]),
        ("0 asked, 90 audio, 100 over, 200 asked, 250 audio", vec!["model 90", "model 50"]),
        // Barge-in: the next answer has a silence of its own.
        (
            "0 ended, 100 audio, 150 began, 160 stopped, 400 ended, 700 audio",
            vec!["model 100", "model 300"],
        ),
        // The end of an answer that was stopped comes when the caller has ended already.
        (
            "0 ended, 100 audio, 150 began, 200 ended, 210 stopped, 300 audio",
            vec!["model 100", "model 100"],
        ),
        // An answer without audio is no silence, and neither is a greeting.
        ("0 ended, 100 over, 900 audio", vec![]),
        ("500 audio", vec![]),
    ] {
        assert_eq!(play(script), expected, "{script}");
    }
}

#[test]
fn the_segments_of_a_long_wait_are_bounded_and_nothing_of_it_is_lost() {
    let changes: Vec<String> = (1..=500)
        .map(|at| format!("{} {}", at * 10, if at % 2 == 0 { "tool" } else { "model" }))
        .collect();
    let found = play(&format!("0 ended, 0 tool, {}, 6000 audio", changes.join(", ")));
    let numbers: Vec<u64> = found[0].split(' ').filter_map(|word| word.parse().ok()).collect();
    assert_eq!((numbers.len(), numbers.iter().sum::<u64>()), (48, 6_000));
}
