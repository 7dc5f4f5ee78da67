use super::{
    BINARY, CONTINUATION, PING, PONG, RawUpgradeRequest, RawWebSocket, RawWebSocketFrame,
    RawWebSocketMessage, RawWebSocketRole, TEXT,
};

#[test]
fn a_frame_is_read_as_it_was_written_and_not_before_it_is_whole() {
    for role in [RawWebSocketRole::Client, RawWebSocketRole::Server] {
        for length in [0, 1, 125, 126, 127, 65_535, 65_536] {
            let frame =
                RawWebSocketFrame::new(BINARY, vec![7; length]).with_reserved(5).without_fin();
            let bytes = frame.bytes(role);
            assert_eq!(
                RawWebSocketFrame::parse(&bytes),
                Some((frame, bytes.len())),
                "{role:?} {length}"
            );
            assert_eq!(RawWebSocketFrame::parse(&bytes[..bytes.len() - 1]), None);
        }
    }
}

#[tokio::test]
async fn two_ends_talk_in_pieces_and_say_goodbye() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let server = async {
        let request = RawUpgradeRequest::read(listener.accept().await.unwrap().0).await.unwrap();
        assert_eq!(request.header("x-name"), Some("y"));
        let mut wire = request.welcome().await.unwrap();
        for frame in [
            RawWebSocketFrame::new(TEXT, "a").without_fin(),
            RawWebSocketFrame::new(PING, "p"),
            RawWebSocketFrame::new(CONTINUATION, "b"),
        ] {
            wire.send(&frame).await.unwrap();
        }
        assert_eq!(wire.frame().await.unwrap(), RawWebSocketFrame::new(PONG, "p"));
        assert_eq!(wire.message().await, RawWebSocketMessage::Close(1000, "bye".to_owned()));
        wire.send(&RawWebSocketFrame::close(1000, "")).await.unwrap();
    };
    let client = async {
        let headers = ["X-Name: y".to_owned()];
        let mut wire = RawWebSocket::dial(address, "/x", &headers).await.unwrap();
        assert_eq!(wire.message().await, RawWebSocketMessage::Text("ab".to_owned()));
        wire.close(1000, "bye").await;
    };
    tokio::join!(server, client);
}

#[tokio::test]
async fn a_refusal_is_shown_whole() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let server = async {
        let request = RawUpgradeRequest::read(listener.accept().await.unwrap().0).await.unwrap();
        request.refuse("HTTP/1.1 403 Forbidden\r\ncontent-length: 2\r\n\r\nno").await;
    };
    let (refused, ()) = tokio::join!(RawWebSocket::dial(address, "/x", &[]), server);
    let refused = refused.unwrap_err();
    assert_eq!((refused.status, refused.text.ends_with("\r\n\r\nno")), (403, true));
}
