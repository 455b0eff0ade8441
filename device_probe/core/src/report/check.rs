//! Whether a document is a report: its size, its JSON, its schema, then what must hold in it.

use jsonschema::error::ValidationErrorKind;
use jsonschema::ValidationError;
use serde::Serialize;
use serde_json::Value;

use super::schema::schema;
use super::semantics::contradictions;
use super::{Report, REPORT_BYTES_MAX};

/// What is wrong with a document.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// Where, as a JSON pointer (RFC 6901); empty for the document as a whole.
    pub path: String,
    /// Why it cannot be.
    pub reason: String,
    /// The valid choice that comes nearest, if there is one.
    pub nearest: Option<String>,
}

/// Read a report.
///
/// # Errors
/// Everything that is wrong with `text`, up to [`FINDINGS_MAX`].
pub fn parse(text: &str) -> Result<Report, Vec<Finding>> {
    if text.len() > REPORT_BYTES_MAX {
        let reason = format!("larger than {REPORT_BYTES_MAX} bytes, which no report is");
        return Err(vec![Finding::of_the_whole(reason)]);
    }
    let document: Value = serde_json::from_str(text)
        .map_err(|error| vec![Finding::of_the_whole(format!("no JSON: {error}"))])?;
    some(against_schema(&document))?;
    // What the schema lets through and the types do not would be a fault of ours; a test looks for it.
    let report = serde_json::from_value(document)
        .map_err(|error| vec![Finding::of_the_whole(error.to_string())])?;
    some(semantic(&report))?;
    Ok(report)
}

impl Finding {
    fn of_the_whole(reason: String) -> Self {
        Self {
            path: String::new(),
            reason,
            nearest: None,
        }
    }
}

fn some(findings: Vec<Finding>) -> Result<(), Vec<Finding>> {
    match findings.is_empty() {
        true => Ok(()),
        false => Err(findings),
    }
}

fn against_schema(document: &Value) -> Vec<Finding> {
    let schema = schema();
    let validator = jsonschema::validator_for(&schema).expect("a schema of our own");
    validator
        .iter_errors(document)
        .take(FINDINGS_MAX)
        .map(|error| finding(&error, &schema))
        .collect()
}

fn semantic(report: &Report) -> Vec<Finding> {
    let finding = |(path, reason)| Finding {
        path,
        reason,
        nearest: None,
    };
    let found = contradictions(report);
    found.into_iter().take(FINDINGS_MAX).map(finding).collect()
}

fn finding(error: &ValidationError<'_>, schema: &Value) -> Finding {
    Finding {
        path: error.instance_path().to_string(),
        reason: shortened(&error.masked().to_string(), error),
        nearest: nearest(error, schema),
    }
}

/// The masked message names no value; a scalar is worth seeing, a whole report is not.
fn shortened(masked: &str, error: &ValidationError<'_>) -> String {
    match error.instance().as_ref() {
        Value::Array(_) | Value::Object(_) => masked.to_owned(),
        scalar => masked.replacen("value", &scalar.to_string(), 1),
    }
}

/// The name that the user may have meant: an enum's variant, or a key that the object may have.
fn nearest(error: &ValidationError<'_>, schema: &Value) -> Option<String> {
    match error.kind() {
        ValidationErrorKind::Enum { options } => {
            let names = options.as_array()?.iter().filter_map(Value::as_str);
            closest(error.instance().as_str()?, names)
        }
        ValidationErrorKind::AdditionalProperties { unexpected } => {
            let place = error.schema_path().to_string();
            let object = place.strip_suffix("/additionalProperties")?;
            let keys = schema.pointer(object)?.get("properties")?.as_object()?;
            closest(unexpected.first()?, keys.keys().map(String::as_str))
        }
        _ => None,
    }
}

fn closest<'a>(name: &str, choices: impl Iterator<Item = &'a str>) -> Option<String> {
    choices
        .min_by_key(|choice| strsim::damerau_levenshtein(name, choice))
        .map(str::to_owned)
}

/// One wrong habit repeats in every measurement; nobody reads more than this.
pub const FINDINGS_MAX: usize = 20;
