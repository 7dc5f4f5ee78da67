//! Vector table of a static model, in a `safetensors` file: eight bytes with the header length, the
//! header in JSON, the numbers.
//!
//! The numbers keep the encoding of the file: 16-bit floats would take twice the memory otherwise.

use std::ops::Range;

use serde_json::Value;

/// Size limit of a header.
const MAX_HEADER_BYTES: usize = 1 << 20;
const MAX_DIMENSIONS: usize = 8_192;
/// Bytes at both ends that identify a file, together with its header and size.
const SAMPLE_BYTES: usize = 64 << 10;

pub(super) struct VectorTable {
    bytes: Vec<u8>,
    vectors: Tensor,
    rows: usize,
    dimensions: usize,
    unknown: UnknownTokenRule,
    /// Weight of each token.
    weights: Option<Vec<f32>>,
    /// Row of each token, if tokens share rows.
    rows_of: Option<Vec<usize>>,
}

/// How unknown tokens are handled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum UnknownTokenRule {
    /// As in model2vec.
    Skipped,
    /// As in WordLlama and sentence-transformers.
    Counted,
}

#[derive(Debug, Clone)]
struct Tensor {
    kind: TensorDtype,
    shape: Vec<usize>,
    at: Range<usize>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TensorDtype {
    F64,
    F32,
    F16,
    Bf16,
    I8,
    I32,
    I64,
}

#[derive(Debug, thiserror::Error)]
pub(super) enum VectorTableError {
    #[error("its tensor file is not in `safetensors` format")]
    Format,
    #[error("its tensor `{name}` {why}")]
    Tensor { name: &'static str, why: TensorError },
    #[error("it has neither tensor `embeddings` nor `embedding.weight`")]
    NoEmbeddings,
    #[error("its embeddings are not a table")]
    NotATable,
    #[error("its table has {rows} rows of {dimensions} numbers")]
    Size { rows: usize, dimensions: usize },
    #[error("its embeddings have an unsupported type")]
    ElementType,
    #[error("its `mapping` refers to missing rows")]
    Mapping,
}

/// The end of a sentence that begins with the tensor.
#[derive(Debug, thiserror::Error)]
pub(super) enum TensorError {
    #[error("is of kind `{0}`, which is not supported")]
    Dtype(String),
    #[error("has no shape")]
    NoShape,
    #[error("has no place")]
    NoOffsets,
    #[error("is not where the header says; the file may be truncated")]
    OutOfBounds,
}

impl VectorTable {
    pub(super) fn read(bytes: Vec<u8>) -> Result<Self, VectorTableError> {
        let (header, data) = header(&bytes)?;
        let find = |name: &'static str| match header.get(name) {
            Some(tensor) => Tensor::read(tensor, data..bytes.len())
                .map(Some)
                .map_err(|why| VectorTableError::Tensor { name, why }),
            None => Ok(None),
        };
        let (vectors, unknown) = match (find("embeddings")?, find("embedding.weight")?) {
            (Some(vectors), _) => (vectors, UnknownTokenRule::Skipped),
            (None, Some(vectors)) => (vectors, UnknownTokenRule::Counted),
            (None, None) => {
                return Err(VectorTableError::NoEmbeddings);
            }
        };
        let &[rows, dimensions] = &vectors.shape[..] else {
            return Err(VectorTableError::NotATable);
        };
        if rows == 0 || !(1..=MAX_DIMENSIONS).contains(&dimensions) {
            return Err(VectorTableError::Size { rows, dimensions });
        }
        if matches!(vectors.kind, TensorDtype::I32 | TensorDtype::I64) {
            return Err(VectorTableError::ElementType);
        }
        let numbers = |tensor: Tensor| {
            let size = tensor.kind.size();
            bytes[tensor.at].chunks_exact(size).map(|it| tensor.kind.number(it)).collect::<Vec<_>>()
        };
        let weights = find("weights")?
            .map(|tensor| numbers(tensor).into_iter().map(|it| it as f32).collect::<Vec<f32>>());
        let rows_of = find("mapping")?
            .map(|tensor| numbers(tensor).into_iter().map(|it| it as usize).collect::<Vec<_>>());
        if rows_of.as_ref().is_some_and(|rows_of| rows_of.iter().any(|row| *row >= rows)) {
            return Err(VectorTableError::Mapping);
        }
        Ok(Self { vectors, rows, dimensions, unknown, weights, rows_of, bytes })
    }

    pub(super) fn dimensions(&self) -> usize {
        self.dimensions
    }

    pub(super) fn unknown(&self) -> UnknownTokenRule {
        self.unknown
    }

    /// A token without a row adds nothing.
    pub(super) fn add(&self, token: u32, sum: &mut [f32]) {
        let Ok(token) = usize::try_from(token) else { return };
        let row = match &self.rows_of {
            Some(rows_of) => rows_of.get(token).copied(),
            None => Some(token),
        };
        let Some(row) = row.filter(|row| *row < self.rows) else { return };
        let weight = match &self.weights {
            Some(weights) => weights.get(token).copied().unwrap_or(1.0),
            None => 1.0,
        };
        let size = self.vectors.kind.size();
        let start = self.vectors.at.start + row * self.dimensions * size;
        let numbers = self.bytes[start..start + self.dimensions * size].chunks_exact(size);
        for (sum, number) in sum.iter_mut().zip(numbers) {
            *sum += weight * self.vectors.kind.number(number) as f32;
        }
    }
}

/// A sample that identifies a file without hashing all of it.
pub(super) fn sample(bytes: &[u8]) -> Vec<u8> {
    let end = bytes.len().saturating_sub(SAMPLE_BYTES).max(SAMPLE_BYTES.min(bytes.len()));
    let mut sample = bytes[..SAMPLE_BYTES.min(bytes.len())].to_vec();
    sample.extend_from_slice(&bytes[end..]);
    sample.extend_from_slice(&bytes.len().to_le_bytes());
    sample
}

/// The header, and the offset of the data.
fn header(bytes: &[u8]) -> Result<(Value, usize), VectorTableError> {
    let broken = || VectorTableError::Format;
    let (length, rest) = bytes.split_first_chunk::<8>().ok_or_else(broken)?;
    let length = usize::try_from(u64::from_le_bytes(*length)).map_err(|_| broken())?;
    let text = rest.get(..length).filter(|_| length <= MAX_HEADER_BYTES).ok_or_else(broken)?;
    let header = serde_json::from_slice::<Value>(text).map_err(|_| broken())?;
    Ok((header, 8 + length))
}

impl Tensor {
    /// `data` is the range of all tensors' data.
    fn read(header: &Value, data: Range<usize>) -> Result<Self, TensorError> {
        let kind = match header["dtype"].as_str().unwrap_or_default() {
            "F64" => TensorDtype::F64,
            "F32" => TensorDtype::F32,
            "F16" => TensorDtype::F16,
            "BF16" => TensorDtype::Bf16,
            "I8" => TensorDtype::I8,
            "I32" => TensorDtype::I32,
            "I64" => TensorDtype::I64,
            other => return Err(TensorError::Dtype(other.to_owned())),
        };
        let whole = |value: &Value| value.as_u64().and_then(|it| usize::try_from(it).ok());
        let list = |value: &Value| value.as_array()?.iter().map(whole).collect::<Option<Vec<_>>>();
        let shape = list(&header["shape"]).ok_or(TensorError::NoShape)?;
        let offsets = list(&header["data_offsets"]).ok_or(TensorError::NoOffsets)?;
        let &[start, end] = &offsets[..] else { return Err(TensorError::NoOffsets) };
        let length = shape.iter().try_fold(kind.size(), |all, side| all.checked_mul(*side));
        let place = data.start.checked_add(start).zip(data.start.checked_add(end));
        match place {
            Some((first, last))
                if last <= data.end && last.checked_sub(first) == length && length.is_some() =>
            {
                Ok(Self { kind, shape, at: first..last })
            }
            _ => Err(TensorError::OutOfBounds),
        }
    }
}

impl TensorDtype {
    fn size(self) -> usize {
        match self {
            Self::F64 | Self::I64 => 8,
            Self::F32 | Self::I32 => 4,
            Self::F16 | Self::Bf16 => 2,
            Self::I8 => 1,
        }
    }

    /// `bytes` has the size of the type, little-endian.
    fn number(self, bytes: &[u8]) -> f64 {
        match (self, bytes) {
            (Self::F64, &[a, b, c, d, e, f, g, h]) => f64::from_le_bytes([a, b, c, d, e, f, g, h]),
            (Self::I64, &[a, b, c, d, e, f, g, h]) => {
                i64::from_le_bytes([a, b, c, d, e, f, g, h]) as f64
            }
            (Self::F32, &[a, b, c, d]) => f32::from_le_bytes([a, b, c, d]).into(),
            (Self::I32, &[a, b, c, d]) => i32::from_le_bytes([a, b, c, d]).into(),
            (Self::F16, &[a, b]) => half(u16::from_le_bytes([a, b])).into(),
            (Self::Bf16, &[a, b]) => f32::from_le_bytes([0, 0, a, b]).into(),
            (Self::I8, &[a]) => i8::from_le_bytes([a]).into(),
            _ => 0.0,
        }
    }
}

/// A 16-bit float: sign, five bits of exponent, ten of fraction.
fn half(bits: u16) -> f32 {
    let sign = u32::from(bits >> 15) << 31;
    let exponent = u32::from(bits >> 10) & 0x1f;
    let fraction = u32::from(bits) & 0x3ff;
    match exponent {
        // Subnormal: a multiple of 2 to the power of -24.
        0 => f32::from_bits(sign | (fraction as f32 / 16_777_216.0).to_bits()),
        0x1f => f32::from_bits(sign | 0x7f80_0000 | fraction << 13),
        _ => f32::from_bits(sign | (exponent + 112) << 23 | fraction << 13),
    }
}

#[cfg(test)]
mod tests;
