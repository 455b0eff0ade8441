//! The committed schema is the one that the types give.
//!
//! `PROBE_REWRITE=1 cargo test -p pocketsim-probe-core --test computing schema` writes it anew.

use std::fs;
use std::path::PathBuf;

use pocketsim_probe_core::report::schema::schema;
use serde_json::Value;

#[test]
fn the_committed_schema_is_up_to_date() {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../report.schema.json");
    let text = serde_json::to_string_pretty(&schema()).unwrap() + "\n";
    if std::env::var_os("PROBE_REWRITE").is_some() {
        fs::write(&path, &text).unwrap();
    }
    let committed = fs::read_to_string(&path).unwrap_or_default();
    assert!(
        committed == text,
        "the schema changed: PROBE_REWRITE=1 writes it"
    );
}

#[test]
fn the_schema_says_which_draft_it_is() {
    let draft = "https://json-schema.org/draft/2020-12/schema";
    assert_eq!(schema()["$schema"], draft);
}

#[test]
fn every_field_is_described_and_no_object_is_open() {
    let schema = schema();
    let mut objects = vec![("Report", &schema)];
    for (name, definition) in schema["$defs"].as_object().unwrap() {
        if definition["type"] == "object" {
            objects.push((name, definition));
        }
    }
    assert!(objects.len() > 10);
    for (name, object) in objects {
        assert_eq!(object["additionalProperties"], Value::Bool(false), "{name}");
        for (field, property) in object["properties"].as_object().unwrap() {
            assert!(property["description"].is_string(), "{name}.{field}");
        }
    }
}

#[test]
fn enums_list_their_names() {
    let conditions = &schema()["$defs"]["Condition"]["enum"];
    let names: Vec<_> = conditions.as_array().unwrap().iter().collect();
    assert!(names.contains(&&Value::from("low_battery")));
}
