//! Places are given back, however a request ends.

use axum::body::Body;

use super::*;

fn limit_in_flight(in_flight: usize) -> Arc<InFlightLimit> {
    InFlightLimit::new(InFlightClass::Requests, &Limits { in_flight, ..Limits::default() })
}

fn share(name: &str, most: u32) -> Option<PrincipalShare> {
    Some(PrincipalShare { principal: Principal::from_name(name), most })
}

fn refusal_of(result: Result<InFlightPermit, ApiError>) -> (u16, &'static str) {
    let problem = result.err().expect("there was no room");
    assert_eq!(problem.retry_after, Some(RETRY_AFTER));
    (problem.status.as_u16(), problem.code)
}

#[test]
fn r_09_a_key_has_its_share_and_all_together_have_the_rest() {
    let limit = limit_in_flight(3);
    let first = limit.enter(share("a", 2)).ok().unwrap();
    let _second = limit.enter(share("a", 2)).ok().unwrap();
    assert_eq!(refusal_of(limit.enter(share("a", 2))), (429, "too_many_at_once"));
    let _other = limit.enter(share("b", 2)).ok().unwrap();
    assert_eq!(refusal_of(limit.enter(share("b", 2))), (503, "too_busy"));
    assert_eq!(refusal_of(limit.enter(None)), (503, "too_busy"));
    drop(first);
    let _again = limit.enter(None).ok().unwrap();
    assert_eq!(refusal_of(limit.enter(share("a", 2))), (503, "too_busy"));
}

#[test]
fn r_10_a_greedy_key_takes_nothing_from_another() {
    let limit = limit_in_flight(100);
    let held: Vec<_> = (0..50).filter_map(|_| limit.enter(share("greedy", 8)).ok()).collect();
    assert_eq!(held.len(), 8);
    for _ in 0..50 {
        assert!(limit.enter(share("modest", 8)).is_ok());
    }
}

#[test]
fn a_panic_gives_the_place_back() {
    let limit = limit_in_flight(1);
    let place = limit.enter(share("a", 1)).ok().unwrap();
    let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(move || {
        let _place = place;
        panic!("a request that panics");
    }));
    assert!(panicked.is_err());
    assert!(limit.enter(share("a", 1)).is_ok());
    assert!(limit.by_key.lock().is_empty(), "nobody is remembered for ever");
}

#[test]
fn only_the_events_of_a_call_keep_its_place() {
    let limit = limit_in_flight(1);
    let response = |kind: &str| {
        let builder = Response::builder().header("content-type", kind);
        builder.body(Body::from("x")).unwrap()
    };
    let is_kept = |method: &Method, response: Response| {
        if listens(method, &response) {
            return false;
        }
        let answer = limit.enter(None).ok().unwrap().keep_for(response);
        let is_retained = limit.enter(None).is_err();
        drop(answer);
        assert!(limit.enter(None).is_ok(), "the end gives it back");
        is_retained
    };
    assert!(!is_kept(&Method::POST, response("application/json")));
    assert!(is_kept(&Method::POST, response("text/event-stream")));
    assert!(!is_kept(&Method::GET, response("text/event-stream")));
    let mut listening = response("text/event-stream");
    listening.extensions_mut().insert(ListeningResponse);
    assert!(!is_kept(&Method::POST, listening));
}
