//! The one place where an argument with a unit becomes a number in SI units; units and spellings
//! are those of pocketsim's scenarios (`tests/vectors/quantities.json` holds both to it).
//!
//! A number without a unit is refused unless it is zero, because `5` hides whether somebody meant
//! ms or s. What does not live here: which values make sense together.

use std::time::Duration;

/// What a quantity measures: its units with their SI factors, and the absurd.
pub struct Dimension {
    name: &'static str,
    units: &'static [(&'static str, f64)],
    maximum: &'static str,
    example: &'static str,
}

impl Dimension {
    /// The value of `text` in SI units.
    ///
    /// # Errors
    /// Anything but a finite number from zero to the largest that makes sense, with a unit.
    pub fn parse(&self, text: &str) -> Result<f64, String> {
        let value = self.value(text)?;
        let maximum = self.value(self.maximum).expect("written as it is parsed");
        if value > maximum {
            let Self { name, maximum, .. } = self;
            return Err(format!(
                "{text:?} is more than the largest {name}, {maximum}"
            ));
        }
        Ok(value)
    }

    fn value(&self, text: &str) -> Result<f64, String> {
        let trimmed = text.trim();
        let (digits, unit) = trimmed.split_at(number_bytes(trimmed));
        let unit = unit.trim_start();
        let Ok(number) = digits.parse::<f64>() else {
            return Err(format!(
                "{text:?} is not a {}; write it as {:?}",
                self.name, self.example
            ));
        };
        if !number.is_finite() {
            return Err(format!("{text:?} is not finite"));
        }
        if number < 0.0 {
            return Err(format!("{text:?} is negative"));
        }
        if number == 0.0 && unit.is_empty() {
            return Ok(0.0);
        }
        let factor = self.factor(unit);
        let factor = factor.ok_or_else(|| self.wrong_unit(text, unit))?;
        Ok(number.abs() * factor)
    }

    fn factor(&self, unit: &str) -> Option<f64> {
        let micro = unit.strip_prefix(['\u{b5}', '\u{3bc}']);
        let unit = micro.map_or(unit.to_owned(), |rest| format!("u{rest}"));
        let known = self.units.iter().find(|(name, _)| *name == unit);
        known.map(|(_, factor)| *factor)
    }

    fn wrong_unit(&self, text: &str, unit: &str) -> String {
        let valid: Vec<_> = self.units.iter().map(|(name, _)| *name).collect();
        let reason = match unit {
            "" => "has no unit".to_owned(),
            _ => format!("has unknown unit {unit:?}"),
        };
        format!(
            "{text:?} {reason}; a {} takes {}",
            self.name,
            valid.join(" ")
        )
    }
}

/// How long the number is with which a text begins: a sign, digits with or without a point, and an
/// exponent of up to three digits (else it is the unit's, which is not known then).
fn number_bytes(text: &str) -> usize {
    let bytes = text.as_bytes();
    let digits = |from: usize| {
        let rest = bytes.iter().skip(from);
        from + rest.take_while(|byte| byte.is_ascii_digit()).count()
    };
    let is_sign = |at: usize| matches!(bytes.get(at), Some(b'+' | b'-'));
    let whole = digits(usize::from(is_sign(0)));
    let end = match bytes.get(whole) {
        Some(b'.') => digits(whole + 1),
        _ => whole,
    };
    if !matches!(bytes.get(end), Some(b'e' | b'E')) {
        return end;
    }
    let exponent = end + 1 + usize::from(is_sign(end + 1));
    match digits(exponent) - exponent {
        1..=3 => digits(exponent),
        _ => end,
    }
}

/// A value for each direction of a link: `20ms` for both, `20ms/40ms` for up and down.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct UpDown {
    /// From the clients to the server.
    pub up: f64,
    /// From the server to the clients.
    pub down: f64,
}

/// A duration for each direction, in seconds.
pub fn durations(text: &str) -> Result<UpDown, String> {
    up_down(|text| DURATION.parse(text), text)
}

/// A ratio for each direction.
pub fn ratios(text: &str) -> Result<UpDown, String> {
    up_down(|text| RATIO.parse(text), text)
}

/// A mean count for each direction: a plain number.
pub fn means(text: &str) -> Result<UpDown, String> {
    let number = |text: &str| {
        let found = text
            .trim()
            .parse::<f64>()
            .ok()
            .filter(|mean| mean.is_finite());
        found.ok_or_else(|| format!("{text:?} is not a mean; write it as \"8.5\""))
    };
    up_down(number, text)
}

/// A bandwidth for each direction, in bytes per second.
pub fn bandwidths(text: &str) -> Result<UpDown, String> {
    up_down(|text| BANDWIDTH.parse(text), text)
}

/// A size for each direction, in bytes.
pub fn sizes(text: &str) -> Result<UpDown, String> {
    up_down(|text| SIZE.parse(text), text)
}

/// How much of a disk, in bytes.
pub fn disk(text: &str) -> Result<f64, String> {
    DISK.parse(text)
}

/// A duration.
pub fn duration(text: &str) -> Result<Duration, String> {
    DURATION.parse(text).map(Duration::from_secs_f64)
}

fn up_down(parse: impl Fn(&str) -> Result<f64, String>, text: &str) -> Result<UpDown, String> {
    let (up, down) = text.split_once('/').unwrap_or((text, text));
    Ok(UpDown {
        up: parse(up)?,
        down: parse(down)?,
    })
}

const DURATION: Dimension = Dimension {
    name: "duration",
    units: &[
        ("ns", 1e-9),
        ("us", 1e-6),
        ("ms", 1e-3),
        ("s", 1.0),
        ("min", 60.0),
        ("h", 3600.0),
        ("d", 86_400.0),
    ],
    maximum: "24h", // a day is more than any experiment here waits
    example: "20ms",
};
const RATIO: Dimension = Dimension {
    name: "ratio",
    units: &[("%", 0.01)],
    maximum: "100%",
    example: "1%",
};
const BANDWIDTH: Dimension = Dimension {
    name: "bandwidth",
    units: &[
        ("bps", 0.125),
        ("kbps", 125.0),
        ("Mbps", 125e3),
        ("Gbps", 125e6),
        ("Bps", 1.0),
        ("kBps", 1e3),
        ("MBps", 1e6),
        ("GBps", 1e9),
    ],
    maximum: "1000Gbps", // as in scenarios
    example: "10Mbps",
};
const SIZE: Dimension = Dimension {
    name: "size",
    units: &[
        ("B", 1.0),
        ("kB", 1e3),
        ("MB", 1e6),
        ("KiB", 1024.0),
        ("MiB", 1_048_576.0),
    ],
    maximum: "1024MiB", // as in scenarios: larger than any buffer of a phone
    example: "64kB",
};
const DISK: Dimension = Dimension {
    name: "size on a disk",
    units: &[
        ("B", 1.0),
        ("kB", 1e3),
        ("MB", 1e6),
        ("GB", 1e9),
        ("KiB", 1024.0),
        ("MiB", 1_048_576.0),
        ("GiB", 1_073_741_824.0),
    ],
    maximum: "1000GB", // more than a phone has
    example: "1GB",
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_become_si() {
        assert_eq!(duration("20ms"), Ok(Duration::from_millis(20)));
        assert_eq!(duration("1.5min"), Ok(Duration::from_secs(90)));
        assert_eq!(duration("0"), Ok(Duration::ZERO));
        assert_eq!(DURATION.parse("24h"), Ok(86_400.0));
        assert_eq!(BANDWIDTH.parse("10Mbps"), Ok(1.25e6));
        assert_eq!(SIZE.parse("64KiB"), Ok(65_536.0));
        assert_eq!(disk("2GB"), Ok(2e9));
        assert_eq!(RATIO.parse("0.1%"), Ok(0.001));
    }

    #[test]
    fn one_value_is_for_both_directions() {
        let both = UpDown {
            up: 0.02,
            down: 0.02,
        };
        assert_eq!(durations("20ms"), Ok(both));
        let pair = UpDown {
            up: 0.02,
            down: 1.0,
        };
        assert_eq!(durations("20ms/1s"), Ok(pair));
    }

    #[test]
    fn what_is_wrong_is_said() {
        let reason = |text| durations(text).unwrap_err();
        assert_eq!(
            reason("20"),
            "\"20\" has no unit; a duration takes ns us ms s min h d"
        );
        assert!(reason("20Mbps").contains("unknown unit \"Mbps\""));
        assert!(reason("soon").contains("is not a duration; write it as \"20ms\""));
        assert!(reason("25h").contains("more than the largest duration, 24h"));
        assert!(reason("20ms/").contains("is not a duration"));
        assert!(reason("20ms/4").contains("no unit"));
        assert!(reason("1.2.3ms").contains("unknown unit \".3ms\""));
        assert!(reason("-1ms").contains("is negative"));
        assert!(reason("1e999ms").contains("is not finite"));
    }

    #[test]
    fn spellings_mean_what_they_mean_in_a_scenario() {
        let vectors = include_str!("../../../tests/vectors/quantities.json");
        let vectors: serde_json::Value = serde_json::from_str(vectors).expect("JSON");
        let rows = vectors["rows"].as_array().expect("rows");
        for row in rows {
            let [name, text] = [0, 1].map(|at| row[at].as_str().expect("text"));
            let dimensions = [DURATION, SIZE, BANDWIDTH];
            let dimension = dimensions.into_iter().find(|of| of.name == name);
            let dimension = dimension.expect(name);
            let Some(expected) = row[2].as_f64() else {
                assert!(dimension.parse(text).is_err(), "{row}");
                continue;
            };
            let value = dimension.value(text).expect(text);
            assert!((value - expected).abs() <= 1e-15 * expected, "{row}");
            let maximum = dimension.value(dimension.maximum).expect("as written");
            assert_eq!(dimension.parse(text).is_ok(), value <= maximum, "{row}");
        }
        assert!(rows.len() > 100);
    }

    #[test]
    fn ratios_are_spelled_alike() {
        assert_eq!(
            ratios("5 %/1e-1%"),
            Ok(UpDown {
                up: 0.05,
                down: 0.001
            })
        );
        for text in ["101%", "0.5", "1", "-1%", "5%%", "/"] {
            assert!(ratios(text).is_err(), "{text:?}");
        }
    }
}
