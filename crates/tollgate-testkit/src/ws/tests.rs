use super::{Asked, BINARY, CONTINUATION, Frame, Message, PING, PONG, Role, TEXT, Wire};

#[test]
fn a_frame_is_read_as_it_was_written_and_not_before_it_is_whole() {
    for role in [Role::Client, Role::Server] {
        for length in [0, 1, 125, 126, 127, 65_535, 65_536] {
            let frame = Frame::new(BINARY, vec![7; length]).reserved(5).unfinished();
            let bytes = frame.bytes(role);
            assert_eq!(Frame::parse(&bytes), Some((frame, bytes.len())), "{role:?} {length}");
            assert_eq!(Frame::parse(&bytes[..bytes.len() - 1]), None);
        }
    }
}

#[tokio::test]
async fn two_ends_talk_in_pieces_and_say_goodbye() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let server = async {
        let asked = Asked::read(listener.accept().await.unwrap().0).await.unwrap();
        assert_eq!(asked.header("x-name"), Some("y"));
        let mut wire = asked.welcome().await.unwrap();
        for frame in [
            Frame::new(TEXT, "a").unfinished(),
            Frame::new(PING, "p"),
            Frame::new(CONTINUATION, "b"),
        ] {
            wire.send(&frame).await.unwrap();
        }
        assert_eq!(wire.frame().await.unwrap(), Frame::new(PONG, "p"));
        assert_eq!(wire.message().await, Message::Close(1000, "bye".to_owned()));
        wire.send(&Frame::close(1000, "")).await.unwrap();
    };
    let client = async {
        let headers = ["X-Name: y".to_owned()];
        let mut wire = Wire::dial(address, "/x", &headers).await.unwrap();
        assert_eq!(wire.message().await, Message::Text("ab".to_owned()));
        wire.close(1000, "bye").await;
    };
    tokio::join!(server, client);
}

#[tokio::test]
async fn a_refusal_is_shown_whole() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let server = async {
        let asked = Asked::read(listener.accept().await.unwrap().0).await.unwrap();
        asked.refuse("HTTP/1.1 403 Forbidden\r\ncontent-length: 2\r\n\r\nno").await;
    };
    let (refused, ()) = tokio::join!(Wire::dial(address, "/x", &[]), server);
    let refused = refused.unwrap_err();
    assert_eq!((refused.status, refused.text.ends_with("\r\n\r\nno")), (403, true));
}
