//! Accessors: typed arrays in buffers, checked before anything is allocated. *glTF 2.0 §3.6.2, §3.11*
//!
//! Every length is computed in checked arithmetic and compared with the bytes there are. An accessor may have no bytes
//! at all (zeros, perhaps with sparse values over them), and many channels may share one accessor, so the numbers
//! that a file decodes to can outgrow it without end; [`Budget`] is where that ends.

use bevy_math::Mat4;
use gltf::accessor::{DataType, Dimensions};
use gltf::json::accessor as codes;

use super::document::{Accessor, BufferView, Document, Sparse};
use crate::assets::container::Container;
use crate::assets::json::{Fault, Size, entry, quote};

/// Bytes that any file may decode to: enough for hand-made files full of zeros, far below the 64 MiB of *SEC-01*.
const FREE_BYTES: u64 = 16 << 20;
/// Further bytes that a file may decode to, per byte of its own. Normalised bytes take 4 as f32; exporters that remove
/// duplicate accessors reach about that as well.
const BYTES_PER_BYTE: u64 = 16;

/// How a number may be stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stored {
    /// As f32.
    Float,
    /// As f32, or as a normalised integer of 8 or 16 bits.
    FloatOrNormalized,
    /// As f32, or as a normalised unsigned integer of 8 or 16 bits: weights of vertices. *glTF 2.0 §3.7.3.3*
    Share,
    /// As an unsigned integer of 8 or 16 bits that stands for itself: joints of vertices. *glTF 2.0 §3.7.3.3*
    Whole,
    /// As f32, or as an integer of 8 or 16 bits, normalised or for itself: positions. *`KHR_mesh_quantization`*
    Any,
}

/// The type of the stored numbers, and whether integers stand for fractions.
#[derive(Clone, Copy)]
struct Format {
    component: DataType,
    normalized: bool,
}

/// What may still be allocated for decoded numbers.
pub(super) struct Budget {
    total: u64,
    left: u64,
}

impl Budget {
    fn new(container: &Container) -> Self {
        let buffers = container.buffers.iter().flatten();
        let bytes = container.json.len() + buffers.map(Vec::len).sum::<usize>();
        let total = FREE_BYTES + BYTES_PER_BYTE * bytes as u64;
        Self { total, left: total }
    }

    /// `None` when less than `bytes` are left.
    pub(super) fn spend(&mut self, bytes: Option<u64>) -> Option<()> {
        self.left = self.left.checked_sub(bytes?)?;
        Some(())
    }
}

/// Reads the accessors of one file.
pub(super) struct Reader<'a> {
    document: &'a Document<'a>,
    container: &'a Container,
    budget: Budget,
}

/// Elements in memory: the first starts at `bytes[0]`, the last may be followed by less than `stride`.
struct Elements<'a> {
    bytes: &'a [u8],
    stride: usize,
    count: usize,
}

impl<'a> Reader<'a> {
    /// For the buffers of `container`, which `document` was parsed from.
    pub(super) fn new(document: &'a Document<'a>, container: &'a Container) -> Self {
        Self {
            document,
            container,
            budget: Budget::new(container),
        }
    }

    /// All elements of accessor `index`, which must have the type `wanted` with `N` components, at least one element.
    ///
    /// Normalised integers become f32 as *glTF 2.0 §3.11* says: c / 127, c / 255, c / 32767, c / 65535, not below -1;
    /// others keep their value.
    pub(super) fn read<const N: usize>(
        &mut self,
        index: usize,
        wanted: Dimensions,
        stored: Stored,
    ) -> Result<Vec<[f32; N]>, Fault> {
        debug_assert_eq!(wanted.multiplicity(), N, "N is the number of components");
        let document = self.document;
        let accessor = entry(&document.accessors, "/accessors", index)?;
        let place = |member: &str| format!("/accessors/{index}/{member}");
        let format = format_of(accessor, wanted, stored, &place)?;
        let size = (format.component.size() * N) as u64;
        let base = match accessor.buffer_view {
            Some(view) => Some(
                self.elements(view.get(), accessor.byte_offset, accessor.count, size, true)
                    .map_err(|fault| fault.used_by(&format!("/accessors/{index}")))?,
            ),
            None => None,
        };
        let count = self.afford::<N>(accessor, &place)?;
        let mut values = match base {
            Some(elements) => decode(format, &elements),
            None => vec![[0.0; N]; count],
        };
        if let Some(sparse) = &accessor.sparse {
            self.overlay(sparse, format, &mut values)
                .map_err(|fault| fault.used_by(&place("sparse")))?;
        }
        Ok(values)
    }

    /// How the numbers of accessor `index` are stored.
    pub(super) fn stored_as(&self, index: usize) -> Option<DataType> {
        let accessor = self.document.accessors.get(index)?;
        component(accessor.component_type.get())
    }

    /// The first `count` matrices of accessor `index`, column by column; it may hold more.
    pub(super) fn read_matrices(&mut self, index: usize, count: usize) -> Result<Vec<Mat4>, Fault> {
        let matrices = self.read::<16>(index, Dimensions::Mat4, Stored::Float)?;
        if matrices.len() < count {
            return Err(Fault::new(
                format!("/accessors/{index}/count"),
                matrices.len().to_string(),
                format!("at least {count}, one matrix per joint"),
            ));
        }
        Ok(matrices[..count]
            .iter()
            .map(Mat4::from_cols_array)
            .collect())
    }

    /// The number of elements, once their memory is within the budget.
    fn afford<const N: usize>(
        &mut self,
        accessor: &Accessor,
        place: &dyn Fn(&str) -> String,
    ) -> Result<usize, Fault> {
        let bytes = accessor.count.0.checked_mul(4 * N as u64);
        let count = usize::try_from(accessor.count.0).ok().filter(|&n| n > 0);
        match (count, self.budget.spend(bytes)) {
            (Some(count), Some(())) => Ok(count),
            (None, _) => Err(Fault::new(place("count"), "0", "at least 1")),
            (Some(count), None) => Err(Fault::new(
                place("count"),
                format!("{count} elements"),
                format!(
                    "no more than {} bytes of numbers in all from a file of this size",
                    self.budget.total
                ),
            )),
        }
    }

    /// The bytes of `count` elements of `size` bytes, from `offset` within the view on.
    fn elements(
        &self,
        view: usize,
        offset: Size,
        count: Size,
        size: u64,
        strided: bool,
    ) -> Result<Elements<'a>, Fault> {
        let bytes = self.view(view)?;
        let entry = &self.document.buffer_views[view];
        let stride = match entry.byte_stride {
            Some(stride) if strided => checked_stride(stride.0, size, view)?,
            _ => size,
        };
        let steps = count.0.saturating_sub(1).checked_mul(stride);
        let end = steps.and_then(|steps| steps.checked_add(size)?.checked_add(offset.0));
        if end.is_none_or(|end| end > bytes.len() as u64) {
            return Err(Fault::new(
                format!("/bufferViews/{view}/byteLength"),
                format!("{} bytes", bytes.len()),
                format!(
                    "room for {} elements of {size} bytes, {stride} apart, from {} on",
                    count.0, offset.0
                ),
            ));
        }
        // All three fit: they are not above the length of a slice, or belong to at most one element.
        Ok(Elements {
            bytes: &bytes[offset.0 as usize..],
            stride: stride as usize,
            count: count.0 as usize,
        })
    }

    /// The bytes of a buffer view.
    fn view(&self, index: usize) -> Result<&'a [u8], Fault> {
        let document = self.document;
        let view = entry(&document.buffer_views, "/bufferViews", index)?;
        let place = |member: &str| format!("/bufferViews/{index}/{member}");
        let buffer = view.buffer.get();
        let bytes = entry(&self.container.buffers, "/buffers", buffer)
            .map_err(|fault| fault.used_by(&place("buffer")))?;
        let Some(bytes) = bytes else {
            return Err(without_bytes(view, index));
        };
        let end = view.byte_offset.0.checked_add(view.byte_length.0);
        match end {
            Some(end) if end <= bytes.len() as u64 => {
                Ok(&bytes[view.byte_offset.0 as usize..end as usize])
            }
            _ => Err(Fault::new(
                place("byteLength"),
                format!("{} from {} on", view.byte_length.0, view.byte_offset.0),
                format!("an end within the {} bytes of buffer {buffer}", bytes.len()),
            )),
        }
    }

    /// Writes sparse values over `values`; their indices must increase. *glTF 2.0 §3.6.2.3*
    fn overlay<const N: usize>(
        &mut self,
        sparse: &Sparse,
        format: Format,
        values: &mut [[f32; N]],
    ) -> Result<(), Fault> {
        if sparse.count.0 == 0 || sparse.count.0 > values.len() as u64 {
            let expected = format!("1 to {}, the accessor's count", values.len());
            return Err(Fault::new("count", sparse.count.0.to_string(), expected));
        }
        let (indices, packed) = (&sparse.indices, &sparse.values);
        let size = index_size(indices.component_type.get())?;
        let (view, offset) = (indices.buffer_view.get(), indices.byte_offset);
        let indices = self.elements(view, offset, sparse.count, size, false)?;
        let (view, offset) = (packed.buffer_view.get(), packed.byte_offset);
        let size = (format.component.size() * N) as u64;
        let packed = self.elements(view, offset, sparse.count, size, false)?;
        let bytes = sparse.count.0.checked_mul(size);
        if self.budget.spend(bytes).is_none() {
            let found = sparse.count.0.to_string();
            return Err(Fault::new(
                "count",
                found,
                "fewer values, for a file of this size",
            ));
        }
        let mut next = 0;
        let new = decode::<N>(format, &packed);
        for (i, (bytes, value)) in indices.bytes.chunks(indices.stride).zip(new).enumerate() {
            let index = bytes.iter().rev().fold(0, |n, &b| n << 8 | usize::from(b));
            match values.get_mut(index) {
                Some(place) if index >= next => *place = value,
                _ => {
                    let found = format!("index {index}");
                    let expected = format!("{next} to {}, increasing", values.len() - 1);
                    return Err(Fault::new(format!("indices, element {i}"), found, expected));
                }
            }
            next = index + 1;
        }
        Ok(())
    }
}

/// The component type of a code, of those that keys can have.
fn component(code: usize) -> Option<DataType> {
    match u32::try_from(code).unwrap_or(0) {
        codes::FLOAT => Some(DataType::F32),
        codes::BYTE => Some(DataType::I8),
        codes::UNSIGNED_BYTE => Some(DataType::U8),
        codes::SHORT => Some(DataType::I16),
        codes::UNSIGNED_SHORT => Some(DataType::U16),
        _ => None,
    }
}

/// The format, when type and storage are what the reader can use.
fn format_of(
    accessor: &Accessor,
    wanted: Dimensions,
    stored: Stored,
    place: &dyn Fn(&str) -> String,
) -> Result<Format, Fault> {
    let name = match wanted {
        Dimensions::Scalar => "SCALAR",
        Dimensions::Vec2 => "VEC2",
        Dimensions::Vec3 => "VEC3",
        Dimensions::Vec4 => "VEC4",
        Dimensions::Mat2 => "MAT2",
        Dimensions::Mat3 => "MAT3",
        Dimensions::Mat4 => "MAT4",
    };
    if &*accessor.dimensions != name {
        let found = quote(&accessor.dimensions);
        return Err(Fault::new(place("type"), found, format!("{name:?}")));
    }
    let code = accessor.component_type.get();
    let wrong = |expected| Fault::new(place("componentType"), code.to_string(), expected);
    let unsigned = |component| matches!(component, DataType::U8 | DataType::U16);
    let normalized = accessor.normalized;
    let component = component(code).filter(|&component| match stored {
        Stored::Float => component == DataType::F32,
        Stored::FloatOrNormalized | Stored::Any => true,
        Stored::Share => component == DataType::F32 || unsigned(component),
        Stored::Whole => unsigned(component),
    });
    let component = component.ok_or_else(|| {
        wrong(match stored {
            Stored::Float => "5126 (float)",
            Stored::FloatOrNormalized => {
                "5126 (float), 5120, 5121, 5122 or 5123 (normalised integers)"
            }
            Stored::Share => "5126 (float), 5121 or 5123 (normalised unsigned integers)",
            Stored::Whole => "5121 or 5123 (unsigned integers)",
            Stored::Any => "5126 (float), 5120, 5121, 5122 or 5123 (integers)",
        })
    })?;
    let flag = |expected: &str| Fault::new(place("normalized"), normalized.to_string(), expected);
    match stored {
        Stored::FloatOrNormalized | Stored::Share if component != DataType::F32 && !normalized => {
            Err(flag("true, for integers that stand for fractions"))
        }
        Stored::Whole if normalized => Err(flag("false, for integers that stand for themselves")),
        _ => Ok(Format {
            component,
            normalized,
        }),
    }
}

/// Bytes of a sparse index.
fn index_size(code: usize) -> Result<u64, Fault> {
    match u32::try_from(code).unwrap_or(0) {
        codes::UNSIGNED_BYTE => Ok(1),
        codes::UNSIGNED_SHORT => Ok(2),
        codes::UNSIGNED_INT => Ok(4),
        _ => Err(Fault::new(
            "indices/componentType",
            code.to_string(),
            "5121, 5123 or 5125 (unsigned integers)",
        )),
    }
}

/// *glTF 2.0 §5.11*: 4 to 252 in steps of 4, and elements do not overlap.
fn checked_stride(stride: u64, size: u64, view: usize) -> Result<u64, Fault> {
    if (4..=252).contains(&stride) && stride.is_multiple_of(4) && stride >= size {
        return Ok(stride);
    }
    Err(Fault::new(
        format!("/bufferViews/{view}/byteStride"),
        stride.to_string(),
        format!("a multiple of 4 from 4 to 252, at least {size} (the size of an element)"),
    ))
}

/// A view into a buffer that has no bytes of its own.
fn without_bytes(view: &BufferView, index: usize) -> Fault {
    let compression = &view.extensions;
    let name = match (&compression.ext_meshopt, &compression.khr_meshopt) {
        (Some(_), _) => "EXT_meshopt_compression",
        (_, Some(_)) => "KHR_meshopt_compression",
        _ => {
            let place = format!("/bufferViews/{index}/buffer");
            let found = format!("buffer {} without bytes", view.buffer.get());
            return Fault::new(place, found, "a buffer with a uri or a BIN chunk");
        }
    };
    Fault::new(
        format!("/bufferViews/{index}/extensions/{name}"),
        "compressed numbers that are needed here",
        "uncompressed ones: export without this extension, or decode the file first",
    )
}

/// Numbers from bytes, little-endian.
fn decode<const N: usize>(format: Format, elements: &Elements) -> Vec<[f32; N]> {
    // A value that stands for itself is divided by 1, which changes none.
    let over = |unit: f32| if format.normalized { unit } else { 1.0 };
    let least = if format.normalized { -1.0 } else { f32::MIN };
    match format.component {
        DataType::I8 => convert(elements, |b: [u8; 1]| {
            (f32::from(i8::from_le_bytes(b)) / over(127.0)).max(least)
        }),
        DataType::U8 => convert(elements, |b: [u8; 1]| f32::from(b[0]) / over(255.0)),
        DataType::I16 => convert(elements, |b| {
            (f32::from(i16::from_le_bytes(b)) / over(32767.0)).max(least)
        }),
        DataType::U16 => convert(elements, |b| {
            f32::from(u16::from_le_bytes(b)) / over(65535.0)
        }),
        // `format_of` lets no other type through.
        DataType::U32 | DataType::F32 => convert(elements, f32::from_le_bytes),
    }
}

fn convert<const N: usize, const S: usize>(
    elements: &Elements,
    number: impl Fn([u8; S]) -> f32,
) -> Vec<[f32; N]> {
    let chunks = elements.bytes.chunks(elements.stride).take(elements.count);
    chunks
        .map(|element| {
            let (components, _) = element.as_chunks::<S>();
            core::array::from_fn(|i| number(components[i]))
        })
        .collect()
}

#[cfg(test)]
mod tests;
