//! Places are given back, however a request ends.

use axum::body::Body;

use super::*;

fn crowd(in_flight: usize) -> Arc<InFlightLimit> {
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
    let crowd = crowd(3);
    let first = crowd.enter(share("a", 2)).ok().unwrap();
    let _second = crowd.enter(share("a", 2)).ok().unwrap();
    assert_eq!(refusal_of(crowd.enter(share("a", 2))), (429, "too_many_at_once"));
    let _other = crowd.enter(share("b", 2)).ok().unwrap();
    assert_eq!(refusal_of(crowd.enter(share("b", 2))), (503, "too_busy"));
    assert_eq!(refusal_of(crowd.enter(None)), (503, "too_busy"));
    drop(first);
    let _again = crowd.enter(None).ok().unwrap();
    assert_eq!(refusal_of(crowd.enter(share("a", 2))), (503, "too_busy"));
}

#[test]
fn r_10_a_greedy_key_takes_nothing_from_another() {
    let crowd = crowd(100);
    let held: Vec<_> = (0..50).filter_map(|_| crowd.enter(share("greedy", 8)).ok()).collect();
    assert_eq!(held.len(), 8);
    for _ in 0..50 {
        assert!(crowd.enter(share("modest", 8)).is_ok());
    }
}

#[test]
fn a_panic_gives_the_place_back() {
    let crowd = crowd(1);
    let place = crowd.enter(share("a", 1)).ok().unwrap();
    let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(move || {
        let _place = place;
        panic!("a request that panics");
    }));
    assert!(panicked.is_err());
    assert!(crowd.enter(share("a", 1)).is_ok());
    assert!(crowd.by_key.lock().is_empty(), "nobody is remembered for ever");
}

#[test]
fn only_the_events_of_a_call_keep_its_place() {
    let crowd = crowd(1);
    let response = |kind: &str| {
        let builder = Response::builder().header("content-type", kind);
        builder.body(Body::from("x")).unwrap()
    };
    let is_kept = |method: &Method, response: Response| {
        if listens(method, &response) {
            return false;
        }
        let answer = crowd.enter(None).ok().unwrap().keep_for(response);
        let kept = crowd.enter(None).is_err();
        drop(answer);
        assert!(crowd.enter(None).is_ok(), "the end gives it back");
        kept
    };
    assert!(!is_kept(&Method::POST, response("application/json")));
    assert!(is_kept(&Method::POST, response("text/event-stream")));
    assert!(!is_kept(&Method::GET, response("text/event-stream")));
    let mut listening = response("text/event-stream");
    listening.extensions_mut().insert(ListeningResponse);
    assert!(!is_kept(&Method::POST, listening));
}
