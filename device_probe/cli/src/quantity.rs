//! The one place where an argument with a unit becomes a number in SI units; the units are those
//! of pocketsim's scenarios.
//!
//! A number without a unit is refused unless it is zero, because `5` hides whether somebody meant
//! ms or s. What does not live here: which values make sense together.

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
        let end = text.find(|c: char| !c.is_ascii_digit() && c != '.');
        let (digits, unit) = text.split_at(end.unwrap_or(text.len()));
        let Ok(number) = digits.parse::<f64>() else {
            return Err(format!(
                "{text:?} is not a {}; write it as {:?}",
                self.name, self.example
            ));
        };
        if number == 0.0 && unit.is_empty() {
            return Ok(0.0);
        }
        let known = self.units.iter().find(|(name, _)| *name == unit);
        known
            .map(|(_, factor)| number * factor)
            .ok_or_else(|| self.wrong_unit(text, unit))
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
    up_down(&DURATION, text)
}

/// A ratio for each direction.
pub fn ratios(text: &str) -> Result<UpDown, String> {
    up_down(&RATIO, text)
}

/// A bandwidth for each direction, in bytes per second.
pub fn bandwidths(text: &str) -> Result<UpDown, String> {
    up_down(&BANDWIDTH, text)
}

/// A size for each direction, in bytes.
pub fn sizes(text: &str) -> Result<UpDown, String> {
    up_down(&SIZE, text)
}

/// How much of a disk, in bytes.
pub fn disk(text: &str) -> Result<f64, String> {
    DISK.parse(text)
}

/// A duration in seconds.
pub fn duration(text: &str) -> Result<f64, String> {
    DURATION.parse(text)
}

fn up_down(dimension: &Dimension, text: &str) -> Result<UpDown, String> {
    let (up, down) = text.split_once('/').unwrap_or((text, text));
    Ok(UpDown {
        up: dimension.parse(up)?,
        down: dimension.parse(down)?,
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
        assert_eq!(duration("20ms"), Ok(0.02));
        assert_eq!(duration("1.5min"), Ok(90.0));
        assert_eq!(duration("0"), Ok(0.0));
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
            "\"20\" has no unit; a duration takes ns us ms s min h"
        );
        assert!(reason("20Mbps").contains("unknown unit \"Mbps\""));
        assert!(reason("soon").contains("is not a duration; write it as \"20ms\""));
        assert!(reason("25h").contains("more than the largest duration, 24h"));
        assert!(reason("20ms/").contains("is not a duration"));
        assert!(reason("20ms/4").contains("no unit"));
        assert!(reason("1.2.3ms").contains("is not a duration"));
    }

    #[test]
    fn nothing_that_is_not_a_plain_number_passes() {
        for text in [
            "-1ms", "+1ms", "nan", "inf", "infs", "1e3s", " 1s", "1 s", "", ".", "ms", "/",
        ] {
            assert!(durations(text).is_err(), "{text:?}");
        }
        assert!(ratios("101%").is_err());
        assert!(ratios("0.5").is_err());
    }
}
