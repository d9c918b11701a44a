//! Splicing: edits of a JSON text that leave every byte around them as it was.
//!
//! A round trip through a tree of values rewrites numbers, escapes and white space that nobody asked to change, and
//! loses members that appear twice. So the text is kept, its parts are slices of it, and an edit replaces a slice.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use serde::de::{Deserialize, Deserializer, Error as _, MapAccess, Visitor};
use serde_json::value::RawValue;

use crate::assets::container::Container;
use crate::assets::{Error, json};

/// The JSON text of a container with the edits that are to be made.
pub(super) struct Document<'a> {
    container: &'a Container,
    /// The members of the root object.
    pub(super) top: Object<'a>,
    /// The elements of the root object's arrays that were asked for: finding them means reading most of the text.
    lists: RefCell<BTreeMap<String, Vec<&'a str>>>,
    edits: Vec<Edit>,
}

/// Bytes `start..end` of the text become `with`.
struct Edit {
    start: usize,
    end: usize,
    with: String,
}

/// An object of the text.
pub(super) struct Object<'a> {
    text: &'a str,
    /// In file order, no key twice.
    pub(super) members: Vec<Member<'a>>,
}

/// A key and its value.
pub(super) struct Member<'a> {
    /// The key, unescaped.
    pub(super) key: String,
    /// From the key's quote to the end of the value.
    pub(super) source: &'a str,
    /// The value.
    pub(super) value: &'a str,
}

/// An array of the text.
pub(super) struct Array<'a> {
    text: &'a str,
    /// In file order.
    pub(super) elements: Vec<&'a str>,
}

impl<'a> Object<'a> {
    /// The value of `key`.
    pub(super) fn get(&self, key: &str) -> Option<&'a str> {
        let member = self.members.iter().find(|member| member.key == key);
        member.map(|member| member.value)
    }
}

impl<'a> Document<'a> {
    /// Finds the members of the root object.
    ///
    /// # Errors
    /// [`Error::Gltf`] when the text is not a JSON object, has a key twice, or has no members (`asset` is required).
    pub(super) fn open(container: &'a Container) -> Result<Self, Error> {
        let mut document = Self {
            container,
            top: Object {
                text: "",
                members: Vec::new(),
            },
            lists: RefCell::default(),
            edits: Vec::new(),
        };
        document.top = document.object("", container.json.trim())?;
        if document.top.members.is_empty() {
            return Err(document.fault("/", "an empty object", "a glTF with `asset`"));
        }
        Ok(document)
    }

    /// An [`Error::Gltf`] of this file.
    pub(super) fn fault(
        &self,
        place: impl Into<String>,
        found: impl Into<String>,
        expected: impl Into<String>,
    ) -> Error {
        Error::gltf(&self.container.file, place, found, expected)
    }

    /// The value of `text`, which is a slice of the file's JSON.
    ///
    /// # Errors
    /// [`Error::Gltf`] with a pointer below `place`.
    pub(super) fn typed<T: Deserialize<'a>>(&self, place: &str, text: &'a str) -> Result<T, Error> {
        json::parse(text).map_err(|fault| {
            let below = if fault.place == "/" { "" } else { &fault.place };
            self.fault(format!("{place}{below}"), fault.found, fault.expected)
        })
    }

    /// The members of the object `text`, which is a slice of the file's JSON.
    ///
    /// # Errors
    /// [`Error::Gltf`] naming `place` when it is not an object or has a key twice.
    pub(super) fn object(&self, place: &str, text: &'a str) -> Result<Object<'a>, Error> {
        let Members(raw) = self.typed(place, text)?;
        let members = raw.into_iter().map(|(key, raw_key, value)| {
            let start = offset(text, raw_key);
            let end = offset(text, value) + value.len();
            Member {
                key,
                source: &text[start..end],
                value,
            }
        });
        Ok(Object {
            text,
            members: members.collect(),
        })
    }

    /// The elements of the array `text`, which is a slice of the file's JSON.
    ///
    /// # Errors
    /// [`Error::Gltf`] naming `place` when it is not an array.
    pub(super) fn array(&self, place: &str, text: &'a str) -> Result<Array<'a>, Error> {
        let raw: Vec<&'a RawValue> = self.typed(place, text)?;
        let elements = raw.into_iter().map(RawValue::get).collect();
        Ok(Array { text, elements })
    }

    /// The array `key` of the root object; `None` when it has none.
    pub(super) fn top_array(&self, key: &str) -> Result<Option<Array<'a>>, Error> {
        let Some(text) = self.top.get(key) else {
            return Ok(None);
        };
        if let Some(elements) = self.lists.borrow().get(key) {
            let elements = elements.clone();
            return Ok(Some(Array { text, elements }));
        }
        let array = self.array(&format!("/{key}"), text)?;
        let mut lists = self.lists.borrow_mut();
        lists.insert(key.to_owned(), array.elements.clone());
        Ok(Some(array))
    }

    /// Replaces `part`, a slice of the file's JSON.
    pub(super) fn replace(&mut self, part: &str, with: String) {
        let start = offset(&self.container.json, part);
        self.edits.push(Edit {
            start,
            end: start + part.len(),
            with,
        });
    }

    /// Inserts behind `part`, a slice of the file's JSON; insertions at one place keep their order.
    fn insert_behind(&mut self, part: &str, with: String) {
        let end = offset(&self.container.json, part) + part.len();
        self.edits.push(Edit {
            start: end,
            end,
            with,
        });
    }

    /// Gives member `key` of `object` the value `with`; a new member comes last.
    ///
    /// An object that is empty in the file takes one new member only.
    pub(super) fn set(&mut self, object: &Object<'_>, key: &str, with: &str) {
        if let Some(value) = object.get(key) {
            self.replace(value, with.to_owned());
        } else if let Some(last) = object.members.last() {
            self.insert_behind(last.value, format!(",\"{key}\":{with}"));
        } else {
            self.replace(object.text, format!("{{\"{key}\":{with}}}"));
        }
    }

    /// Adds `new` behind the elements of `array`.
    pub(super) fn push(&mut self, array: &Array<'_>, new: &[String]) {
        if new.is_empty() {
            return;
        }
        let list = new.join(",");
        match array.elements.last() {
            Some(last) => self.insert_behind(last, format!(",{list}")),
            None => self.replace(array.text, format!("[{list}]")),
        }
    }

    /// Adds `new` behind the elements of the root object's array `key`, which is made when there is none.
    pub(super) fn push_top(&mut self, key: &str, new: &[String]) -> Result<(), Error> {
        if new.is_empty() {
            return Ok(());
        }
        match self.top_array(key)? {
            Some(array) => self.push(&array, new),
            None => {
                let last = self
                    .top
                    .members
                    .last()
                    .map_or(self.top.text, |last| last.value);
                self.insert_behind(last, format!(",\"{key}\":[{}]", new.join(",")));
            }
        }
        Ok(())
    }

    /// The elements in the root object's array `key`.
    pub(super) fn top_count(&self, key: &str) -> Result<usize, Error> {
        Ok(self.top_array(key)?.map_or(0, |array| array.elements.len()))
    }

    /// Takes the members of `object` out for whose key `gone` says so, each with one comma.
    pub(super) fn remove(&mut self, object: &Object<'_>, gone: impl Fn(&str) -> bool) {
        let edits = removals(&self.container.json, object, gone);
        self.edits.extend(edits);
    }

    /// As [`Self::remove`], for the root object.
    pub(super) fn remove_top(&mut self, gone: impl Fn(&str) -> bool) {
        let edits = removals(&self.container.json, &self.top, gone);
        self.edits.extend(edits);
    }

    /// The edited text.
    pub(super) fn finish(mut self) -> String {
        let text = &self.container.json;
        self.edits.sort_by_key(|edit| (edit.start, edit.end));
        let added: usize = self.edits.iter().map(|edit| edit.with.len()).sum();
        let mut out = String::with_capacity(text.len() + added);
        let mut done = 0;
        for edit in &self.edits {
            debug_assert!(done <= edit.start, "edits do not overlap");
            out.push_str(&text[done..edit.start]);
            out.push_str(&edit.with);
            done = edit.end;
        }
        out.push_str(&text[done..]);
        out
    }
}

/// Edits of `text` that take members of `object` out, each with one comma.
fn removals(text: &str, object: &Object<'_>, gone: impl Fn(&str) -> bool) -> Vec<Edit> {
    let spans: Vec<(bool, usize, usize)> = object
        .members
        .iter()
        .map(|member| {
            let start = offset(text, member.source);
            (gone(&member.key), start, start + member.source.len())
        })
        .collect();
    let mut edits = Vec::new();
    let mut kept_before = false;
    for (i, &(gone, start, end)) in spans.iter().enumerate() {
        if !gone {
            kept_before = true;
            continue;
        }
        // The comma before it goes along, or, while nothing stands before, the comma behind it.
        let (start, end) = match spans.get(i + 1) {
            _ if kept_before => (spans[i - 1].2, end),
            Some(next) => (start, next.1),
            None => (start, end),
        };
        let with = String::new();
        edits.push(Edit { start, end, with });
    }
    edits
}

/// Where `part`, a slice of `text`, begins in it.
fn offset(text: &str, part: &str) -> usize {
    let offset = (part.as_ptr() as usize).wrapping_sub(text.as_ptr() as usize);
    debug_assert!(
        offset + part.len() <= text.len(),
        "parts are slices of the text"
    );
    offset
}

/// Key, key as written, value as written.
struct Members<'a>(Vec<(String, &'a str, &'a str)>);

impl<'de> Deserialize<'de> for Members<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(MembersVisitor)
    }
}

struct MembersVisitor;

impl<'de> Visitor<'de> for MembersVisitor {
    type Value = Members<'de>;

    fn expecting(&self, to: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        to.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut members: Vec<(String, &str, &str)> = Vec::new();
        let mut known = BTreeSet::new();
        while let Some((key, value)) = map.next_entry::<&RawValue, &RawValue>()? {
            let name: String = serde_json::from_str(key.get()).map_err(A::Error::custom)?;
            if !known.insert(name.clone()) {
                return Err(A::Error::custom(format!("{} twice", key.get())));
            }
            members.push((name, key.get(), value.get()));
        }
        Ok(Members(members))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::assets::container::Form;

    fn container(json: &str) -> Container {
        Container {
            file: "test.gltf".into(),
            form: Form::Gltf,
            json: json.to_owned(),
            buffers: Vec::new(),
        }
    }

    #[test]
    fn what_is_not_edited_keeps_every_byte() {
        let json = " {\"a\\u0062\" : 1e-07, \"big\":123456789012345678901234567890,\t\"z\":-0.0, \"é\\/\":[1.50 , 2E5]\n} ";
        let container = container(json);
        let mut document = Document::open(&container).unwrap();
        let array = document.top_array("é/").unwrap().unwrap();
        document.push(&array, &["3".into(), "4".into()]);
        document.push_top("new", &["{}".into()]).unwrap();
        document.push_top("new2", &["{}".into()]).unwrap();
        let top = document.object("/", container.json.trim()).unwrap();
        document.set(&top, "ab", "7");
        assert_eq!(
            document.finish(),
            " {\"a\\u0062\" : 7, \"big\":123456789012345678901234567890,\t\"z\":-0.0, \
             \"é\\/\":[1.50 , 2E5,3,4],\"new\":[{}],\"new2\":[{}]\n} "
        );
    }

    #[test]
    fn empty_lists_and_objects_take_their_first_entry() {
        let container = container(r#"{"list":[ ],"object":{ }}"#);
        let mut document = Document::open(&container).unwrap();
        document.push_top("list", &["1".into()]).unwrap();
        let object = document.top.get("object").unwrap();
        let object = document.object("/object", object).unwrap();
        document.set(&object, "key", "2");
        assert_eq!(document.finish(), r#"{"list":[1],"object":{"key":2}}"#);
    }

    #[test]
    fn members_are_taken_out_with_their_commas() {
        for (gone, expected) in [
            ("", r#"{"o":{ "x":1, "a":2 ,"y":3 }}"#),
            ("x", r#"{"o":{ "a":2 ,"y":3 }}"#),
            ("a", r#"{"o":{ "x":1 ,"y":3 }}"#),
            ("y", r#"{"o":{ "x":1, "a":2 }}"#),
            ("xa", r#"{"o":{ "y":3 }}"#),
            ("ay", r#"{"o":{ "x":1 }}"#),
            ("xy", r#"{"o":{ "a":2 }}"#),
            ("xay", r#"{"o":{  }}"#),
        ] {
            let container = container(r#"{"o":{ "x":1, "a":2 ,"y":3 }}"#);
            let mut document = Document::open(&container).unwrap();
            let object = document.top.get("o").unwrap();
            let object = document.object("/o", object).unwrap();
            document.remove(&object, |key| gone.contains(key));
            assert_eq!(document.finish(), expected, "without {gone}");
        }
    }

    #[test]
    fn a_key_that_appears_twice_is_refused() {
        let container = container(r#"{"nodes":[],"n\u006fdes":[]}"#);
        let error = Document::open(&container).err().unwrap().to_string();
        assert!(error.contains("twice"), "{error}");
    }

    #[test]
    fn text_that_is_no_object_is_refused() {
        for json in ["", "[]", "{", "{} {}", "{}"] {
            assert!(Document::open(&container(json)).is_err(), "{json}");
        }
    }
}
