//! The types of JSON values that documents are made of: strict about kinds, open about spelling.
//!
//! A number that is whole may be spelt `1`, `1.0` or `1e0`. `null` is never taken for an absent member, nor an array
//! for an object.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;
use std::ops::Deref;

use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserialize, Deserializer, Error as _, MapAccess, SeqAccess, Unexpected, Visitor};

/// The largest whole number whose neighbours an f64 can tell apart: 2^53.
const MAX_WHOLE: u64 = 1 << 53;

/// An object, read by the names of its members; serde's own structs would take an array for one as well.
#[derive(Debug)]
pub(crate) struct Object<T>(pub(crate) T);

impl<T> Deref for Object<T> {
    type Target = T;
    fn deref(&self) -> &T {
        &self.0
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Object<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Members<T>(PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for Members<T> {
            type Value = Object<T>;
            fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
                f.write_str("an object")
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Object<T>, A::Error> {
                T::deserialize(MapAccessDeserializer::new(map)).map(Object)
            }
        }
        deserializer.deserialize_map(Members(PhantomData))
    }
}

/// For optional members: `null` is a value of the wrong type, not an absent member.
pub(crate) fn present<'de, D, T>(deserializer: D) -> Result<Option<T>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    T::deserialize(deserializer).map(Some)
}

/// A string, borrowed from the text where it has no escapes.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Text<'a>(pub(crate) Cow<'a, str>);

impl Deref for Text<'_> {
    type Target = str;
    fn deref(&self) -> &str {
        &self.0
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Text<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct AnyText;
        impl<'de> Visitor<'de> for AnyText {
            type Value = Text<'de>;
            fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
                f.write_str("a string")
            }
            fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Text<'de>, E> {
                Ok(Text(Cow::Borrowed(text)))
            }
            fn visit_str<E>(self, text: &str) -> Result<Text<'de>, E> {
                Ok(Text(Cow::Owned(text.to_owned())))
            }
        }
        deserializer.deserialize_str(AnyText)
    }
}

/// A whole number from 0 to the visitor's limit, however it is spelt.
struct Whole(u64);

impl Visitor<'_> for Whole {
    type Value = u64;
    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "a whole number from 0 to {}", self.0)
    }
    fn visit_u64<E: serde::de::Error>(self, number: u64) -> Result<u64, E> {
        if number <= self.0 {
            Ok(number)
        } else {
            Err(E::invalid_value(Unexpected::Unsigned(number), &self))
        }
    }
    fn visit_i64<E: serde::de::Error>(self, number: i64) -> Result<u64, E> {
        match u64::try_from(number) {
            Ok(number) => self.visit_u64(number),
            Err(_) => Err(E::invalid_value(Unexpected::Signed(number), &self)),
        }
    }
    fn visit_f64<E: serde::de::Error>(self, number: f64) -> Result<u64, E> {
        if number.fract() == 0.0 && (0.0..=self.0 as f64).contains(&number) {
            Ok(number as u64)
        } else {
            Err(E::invalid_value(Unexpected::Float(number), &self))
        }
    }
}

/// An index into an array of the file.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Index(u32);

impl Index {
    /// For indexing.
    pub(crate) fn get(self) -> usize {
        self.0 as usize
    }
}

impl<'de> Deserialize<'de> for Index {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let number = deserializer.deserialize_u64(Whole(u32::MAX.into()))?;
        u32::try_from(number).map(Self).map_err(D::Error::custom)
    }
}

/// A count, offset, length or stride.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Size(pub(crate) u64);

impl<'de> Deserialize<'de> for Size {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_u64(Whole(MAX_WHOLE)).map(Self)
    }
}

/// A number that is finite as f32.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Number(pub(crate) f32);

impl<'de> Deserialize<'de> for Number {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct AnyNumber;
        impl Visitor<'_> for AnyNumber {
            type Value = Number;
            fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
                f.write_str("a number that an f32 can hold")
            }
            fn visit_u64<E>(self, number: u64) -> Result<Number, E> {
                Ok(Number(number as f32))
            }
            fn visit_i64<E>(self, number: i64) -> Result<Number, E> {
                Ok(Number(number as f32))
            }
            fn visit_f64<E: serde::de::Error>(self, number: f64) -> Result<Number, E> {
                let narrow = number as f32;
                if narrow.is_finite() {
                    Ok(Number(narrow))
                } else {
                    Err(E::invalid_value(Unexpected::Float(number), &self))
                }
            }
        }
        deserializer.deserialize_f32(AnyNumber)
    }
}

/// An array of exactly `N` numbers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Numbers<const N: usize>(pub(crate) [f32; N]);

impl<'de, const N: usize> Deserialize<'de> for Numbers<N> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Exactly<const N: usize>;
        impl<'de, const N: usize> Visitor<'de> for Exactly<N> {
            type Value = Numbers<N>;
            fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
                write!(f, "an array of {N} numbers")
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Numbers<N>, A::Error> {
                let mut numbers = [0.0; N];
                let mut length = 0;
                while let Some(Number(number)) = seq.next_element()? {
                    if let Some(place) = numbers.get_mut(length) {
                        *place = number;
                    }
                    length += 1;
                }
                if length == N {
                    Ok(Numbers(numbers))
                } else {
                    Err(A::Error::invalid_length(length, &self))
                }
            }
        }
        deserializer.deserialize_seq(Exactly)
    }
}
