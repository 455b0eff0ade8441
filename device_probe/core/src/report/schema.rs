//! The JSON Schema of a report, generated from its types.

use schemars::generate::SchemaSettings;
use serde_json::Value;

use super::Report;

/// The schema (draft 2020-12), as it is committed in `device_probe/report.schema.json`.
pub fn schema() -> Value {
    SchemaSettings::draft2020_12()
        .into_generator()
        .into_root_schema_for::<Report>()
        .to_value()
}
