//! YAML: as much of it as a job template needs. *YAML 1.2.2*
//!
//! Mappings and lists are blocks, texts of several lines are literal blocks, every other text is in double quotes with
//! JSON's escapes, which are YAML's too: nothing is left for a reader to take for a number or a boolean.

use serde_json::Value;

/// `root`, a mapping, as a YAML document.
pub(super) fn to_text(root: &Value) -> String {
    let mut text = String::new();
    push_block(&mut text, root, 0);
    text
}

/// Whether `value` begins on a line of its own.
fn is_block(value: &Value) -> bool {
    match value {
        Value::Object(members) => !members.is_empty(),
        Value::Array(elements) => !elements.is_empty(),
        _ => false,
    }
}

/// The members or elements of `value`, each on lines of its own.
fn push_block(text: &mut String, value: &Value, indent: usize) {
    let margin = " ".repeat(indent);
    match value {
        Value::Object(members) => {
            for (key, value) in members {
                text.push_str(&format!("{margin}{key}:"));
                if is_block(value) {
                    text.push('\n');
                    push_block(text, value, indent + 2);
                } else {
                    push_scalar(text, value, indent + 2);
                }
            }
        }
        Value::Array(elements) => {
            for element in elements {
                if is_block(element) {
                    // The first line of the element takes the place behind the dash.
                    let mut inner = String::new();
                    push_block(&mut inner, element, indent + 2);
                    text.push_str(&format!("{margin}- {}", inner.trim_start_matches(' ')));
                } else {
                    text.push_str(&format!("{margin}-"));
                    push_scalar(text, element, indent + 2);
                }
            }
        }
        _ => push_scalar(text, value, indent),
    }
}

/// The rest of a line behind a key or a dash, and the lines of a literal block.
fn push_scalar(text: &mut String, value: &Value, indent: usize) {
    match value {
        Value::String(lines) if is_literal(lines) => {
            text.push_str(" |\n");
            for line in lines.lines() {
                let margin = if line.is_empty() { 0 } else { indent };
                text.push_str(&format!("{:margin$}{line}\n", ""));
            }
        }
        value => text.push_str(&format!(" {value}\n")),
    }
}

/// Whether a literal block reads back as this text: it ends in one line break, and its first line has no margin that
/// would be taken for the block's.
fn is_literal(text: &str) -> bool {
    let printable = |c: char| c == '\n' || !c.is_control();
    text.ends_with('\n')
        && !text.ends_with("\n\n")
        && !text.starts_with([' ', '\n'])
        && text.chars().all(printable)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn blocks_are_indented_and_texts_are_quoted() {
        let value = json!({
            "a": "yes",
            "list": ["1", {"b": 2, "c": [true, []]}],
            "script": "set -e\n\nif x; then\n    y\nfi\n",
            "none": {},
        });
        let expected = r#"a: "yes"
list:
  - "1"
  - b: 2
    c:
      - true
      - []
script: |
  set -e

  if x; then
      y
  fi
none: {}
"#;
        assert_eq!(to_text(&value), expected);
    }

    #[test]
    fn a_text_that_a_block_would_change_is_quoted() {
        for text in ["  x\n", "x\n\n", "x\ny", "x\ty\n", ""] {
            let yaml = to_text(&json!({ "a": text }));
            assert_eq!(yaml, format!("a: {}\n", json!(text)));
        }
    }
}
