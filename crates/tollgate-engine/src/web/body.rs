//! Reads the body of a response, compressed or not, with a limit on both sizes.

use std::io::{self, Write};

use flate2::write::GzDecoder;
use http::HeaderMap;
use http::header::CONTENT_ENCODING;
use http_body_util::BodyExt as _;

use super::dial::Answered;
use super::fetch_error::FetchError;

/// The content of a body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct BodyContent {
    pub(crate) bytes: Vec<u8>,
    pub(crate) ended: BodyEnd,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BodyEnd {
    Whole,
    /// The limit was reached.
    Cut,
}

/// Up to `most` bytes on the wire, and as many after decompression.
pub(crate) async fn read(answered: Answered, most: usize) -> Result<BodyContent, FetchError> {
    let mut unpacked = BodyDecoder::of(answered.response.headers(), most)?;
    let host = answered.host.clone();
    let mut body = answered.response;
    let mut on_the_wire = 0_usize;
    while let Some(frame) = body.frame().await {
        let frame = frame
            .map_err(|error| FetchError::Broken { host: host.clone(), why: error.to_string() })?;
        let Ok(data) = frame.into_data() else { continue };
        on_the_wire += data.len();
        if unpacked.take(&data)? == BodyEnd::Cut || on_the_wire > most {
            return Ok(unpacked.cut());
        }
    }
    unpacked.read_whole()
}

enum BodyDecoder {
    Plain(CappedBuffer),
    Gzip(GzDecoder<CappedBuffer>),
}

impl BodyDecoder {
    fn of(headers: &HeaderMap, most: usize) -> Result<Self, FetchError> {
        let capped = CappedBuffer { bytes: Vec::new(), most, full: false };
        let mut named = headers.get_all(CONTENT_ENCODING).iter();
        let encoding = match (named.next(), named.next()) {
            (None, _) => return Ok(Self::Plain(capped)),
            (Some(one), None) => one.to_str().unwrap_or("?").trim().to_ascii_lowercase(),
            (Some(_), Some(_)) => "several".to_owned(),
        };
        match encoding.as_str() {
            "" | "identity" => Ok(Self::Plain(capped)),
            "gzip" | "x-gzip" => Ok(Self::Gzip(GzDecoder::new(capped))),
            other => Err(FetchError::Encoding(other.chars().take(40).collect())),
        }
    }

    fn take(&mut self, mut data: &[u8]) -> Result<BodyEnd, FetchError> {
        while !data.is_empty() {
            let (written, full) = match self {
                Self::Plain(capped) => (capped.write(data), capped.full),
                Self::Gzip(packed) => (packed.write(data), packed.get_ref().full),
            };
            match written {
                _ if full => return Ok(BodyEnd::Cut),
                // Data after the end of the compressed stream is ignored.
                Ok(0) => return Ok(BodyEnd::Whole),
                Ok(taken) => data = &data[taken..],
                Err(_) => return Err(FetchError::Garbled),
            }
        }
        Ok(BodyEnd::Whole)
    }

    fn read_whole(self) -> Result<BodyContent, FetchError> {
        let capped = match self {
            Self::Plain(capped) => capped,
            Self::Gzip(mut packed) => {
                let finished = packed.try_finish();
                if packed.get_ref().full {
                    return Ok(Self::Gzip(packed).cut());
                }
                finished.map_err(|_| FetchError::Garbled)?;
                std::mem::take(packed.get_mut())
            }
        };
        Ok(BodyContent { bytes: capped.bytes, ended: BodyEnd::Whole })
    }

    fn cut(mut self) -> BodyContent {
        let capped = match &mut self {
            Self::Plain(capped) => std::mem::take(capped),
            Self::Gzip(packed) => std::mem::take(packed.get_mut()),
        };
        BodyContent { bytes: capped.bytes, ended: BodyEnd::Cut }
    }
}

/// A buffer with a limit. Writing beyond it fails and marks it as full.
#[derive(Default)]
struct CappedBuffer {
    bytes: Vec<u8>,
    most: usize,
    full: bool,
}

impl Write for CappedBuffer {
    fn write(&mut self, data: &[u8]) -> io::Result<usize> {
        let room = self.most - self.bytes.len();
        if data.len() > room {
            self.bytes.extend_from_slice(&data[..room]);
            self.full = true;
            return Err(io::ErrorKind::StorageFull.into());
        }
        self.bytes.extend_from_slice(data);
        Ok(data.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
