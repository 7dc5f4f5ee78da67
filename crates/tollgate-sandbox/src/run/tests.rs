use std::time::Duration;

use crate::fake::{Fake, Numbers, run, told};
use crate::limits::Limits;

#[tokio::test]
async fn prints_calls_and_the_result_come_back() {
    let script =
        "say({'print': 'a\\n'})\nsay({'print': 'b\\n'})\nx = call(7)\ny = call(8)\ndone([x, y])";
    let limits = Limits { time: Duration::from_secs(20), ..Limits::default() };
    let ended = run(&Fake::after_ready(script).sandbox(), &limits, &Numbers).await.unwrap();
    assert_eq!(told(&ended), r#"[{"data": 7}, {"data": 8}]"#);
    assert_eq!((ended.prints.as_str(), ended.calls, ended.steps), ("a\nb\n", 2, 1));
}
