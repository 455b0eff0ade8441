//! Enums with names, in documents: the name stands for the variant, and the schema lists them all.

macro_rules! named_in_reports {
    ($name:ident) => {
        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.name())
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let name = <String as serde::Deserialize>::deserialize(deserializer)?;
                let found = $name::ALL.iter().find(|variant| variant.name() == name);
                found.copied().ok_or_else(|| {
                    let kind = stringify!($name);
                    serde::de::Error::custom(format!("`{name}` is no {kind}"))
                })
            }
        }

        impl schemars::JsonSchema for $name {
            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($name).into()
            }

            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                let names: Vec<_> = $name::ALL.iter().map(|variant| variant.name()).collect();
                schemars::json_schema!({"type": "string", "enum": names})
            }
        }
    };
}
