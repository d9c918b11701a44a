//! Additions: bytes, buffer views and accessors behind those that a file has.

use crate::assets::Error;
use crate::assets::patch::output::Home;
use crate::assets::patch::splice::Document;

/// Component type of f32. *glTF 2.0 §3.6.2.2*
pub(super) const FLOAT: u32 = 5126;
/// Component type of u8.
pub(super) const UNSIGNED_BYTE: u32 = 5121;
/// Component type of i16.
pub(super) const SHORT: u32 = 5122;
/// Component type of u16.
pub(super) const UNSIGNED_SHORT: u32 = 5123;

/// What is appended to a file.
pub(super) struct Additions {
    bytes: Vec<u8>,
    /// JSON.
    views: Vec<String>,
    /// JSON.
    accessors: Vec<String>,
    first_view: usize,
    first_accessor: usize,
    /// The buffer that takes the bytes, and where in it they begin.
    buffer: usize,
    home_start: usize,
}

impl Additions {
    /// Nothing yet, to go to `home`.
    pub(super) fn new(document: &Document<'_>, home: &Home) -> Result<Self, Error> {
        Ok(Self {
            bytes: Vec::new(),
            views: Vec::new(),
            accessors: Vec::new(),
            first_view: document.top_count("bufferViews")?,
            first_accessor: document.top_count("accessors")?,
            buffer: home.buffer(),
            home_start: home.start(),
        })
    }

    /// Begins a view; accessors from here to [`Self::end_view`] lie in it. Where it begins in the new bytes.
    pub(super) fn start_view(&self) -> usize {
        debug_assert!(
            self.bytes.len().is_multiple_of(4),
            "views start at multiples of 4"
        );
        self.bytes.len()
    }

    /// Appends `bytes`, a multiple of 4, and an accessor over them in the view that began at `start`; its index.
    ///
    /// `rest` are the JSON members behind `componentType`.
    pub(super) fn accessor(
        &mut self,
        start: usize,
        bytes: impl IntoIterator<Item = u8>,
        component: u32,
        rest: &str,
    ) -> usize {
        let offset = self.bytes.len() - start;
        self.bytes.extend(bytes);
        self.accessors.push(format!(
            "{{\"bufferView\":{},\"byteOffset\":{offset},\"componentType\":{component},{rest}}}",
            self.first_view + self.views.len()
        ));
        self.first_accessor + self.accessors.len() - 1
    }

    /// Ends the view that began at `start`; `rest` are further JSON members, each with a comma before it.
    pub(super) fn end_view(&mut self, start: usize, rest: &str) {
        self.views.push(format!(
            "{{\"buffer\":{},\"byteOffset\":{},\"byteLength\":{}{rest}}}",
            self.buffer,
            self.home_start + start,
            self.bytes.len() - start
        ));
    }

    /// Puts views and accessors into the document; the bytes for [`super::output::assemble`].
    pub(super) fn add_to(self, document: &mut Document<'_>) -> Result<Vec<u8>, Error> {
        document.push_top("bufferViews", &self.views)?;
        document.push_top("accessors", &self.accessors)?;
        Ok(self.bytes)
    }
}
