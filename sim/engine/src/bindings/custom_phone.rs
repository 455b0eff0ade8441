//! The phone that a machine of somebody's own is made for, and the options that the scenario gives
//! it.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use pocketsim_protocols::contract::NodeId;
#[cfg(feature = "python")]
use pyo3::FromPyObject;

use crate::base::rng::Stream;

/// `[protocol.options]` of the scenario; [`Phone`] reads them.
#[derive(Debug, Default)]
#[cfg_attr(feature = "python", derive(FromPyObject), pyo3(transparent))]
pub struct Options(pub BTreeMap<String, Value>);

/// What an option may be.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "python", derive(FromPyObject))]
pub enum Value {
    /// True or false.
    Flag(bool),
    /// A whole number.
    Whole(i64),
    /// Another number.
    Number(f64),
    /// Text.
    Text(String),
    /// A list of those.
    List(Vec<Value>),
}

/// The phone that a machine is made for.
#[derive(Debug)]
pub struct Phone<'a> {
    /// Its number.
    pub node: NodeId,
    /// How many there are.
    pub phones: u32,
    pub(crate) seed: u64,
    pub(crate) operations: &'a [String],
    pub(crate) options: &'a Options,
    /// Names of options that somebody asked for.
    pub(crate) asked: &'a RefCell<BTreeSet<String>>,
}

impl Phone<'_> {
    /// Random numbers of its own, from a named stream of the run's seed.
    pub fn chance(&self) -> Stream {
        Stream::new(self.seed, "own protocol", self.node.0)
    }

    /// The number that [`Output::OwnWork`] has for an operation of the scenario's `[operations]`.
    ///
    /// # Errors
    /// When there is none of that name.
    pub fn operation(&self, name: &str) -> Result<u32, String> {
        let found = self.operations.iter().position(|known| known == name);
        let missing = || format!("the scenario has no [operations.{name}]");
        found.map(|number| number as u32).ok_or_else(missing)
    }

    /// An option as it stands.
    pub fn option(&self, name: &str) -> Option<&Value> {
        self.asked.borrow_mut().insert(name.to_owned());
        self.options.0.get(name)
    }

    /// A number among the options, or `absent` without it.
    ///
    /// # Errors
    /// When it is no number; so below.
    pub fn number(&self, name: &str, absent: f64) -> Result<f64, String> {
        match self.option(name) {
            None => Ok(absent),
            Some(&Value::Whole(number)) => Ok(number as f64),
            Some(&Value::Number(number)) => Ok(number),
            Some(other) => Err(wrong(name, "a number", other)),
        }
    }

    /// A whole number among the options.
    ///
    /// # Errors
    /// When it is none from 0 to 2^32 - 1.
    pub fn whole(&self, name: &str, absent: u32) -> Result<u32, String> {
        let Some(given) = self.option(name) else {
            return Ok(absent);
        };
        let number = match given {
            &Value::Whole(number) => u32::try_from(number).ok(),
            _ => None,
        };
        number.ok_or_else(|| wrong(name, "a whole number below 2^32", given))
    }

    /// A truth among the options.
    ///
    /// # Errors
    /// When it is none.
    pub fn flag(&self, name: &str, absent: bool) -> Result<bool, String> {
        match self.option(name) {
            None => Ok(absent),
            Some(&Value::Flag(flag)) => Ok(flag),
            Some(other) => Err(wrong(name, "true or false", other)),
        }
    }

    /// Text among the options.
    ///
    /// # Errors
    /// When it is none.
    pub fn text(&self, name: &str, absent: &str) -> Result<String, String> {
        match self.option(name) {
            None => Ok(absent.to_owned()),
            Some(Value::Text(text)) => Ok(text.clone()),
            Some(other) => Err(wrong(name, "text", other)),
        }
    }
}

fn wrong(name: &str, expected: &str, given: &Value) -> String {
    let given = match given {
        Value::Flag(flag) => flag.to_string(),
        Value::Whole(number) => number.to_string(),
        Value::Number(number) => number.to_string(),
        Value::Text(text) => format!("{text:?}"),
        Value::List(_) => "a list".to_owned(),
    };
    format!("protocol.options.{name}: {expected}, not {given}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_what_they_are_asked_for_as_or_refused() {
        let given = [
            ("flag", Value::Flag(true)),
            ("whole", Value::Whole(3)),
            ("number", Value::Number(0.5)),
            ("text", Value::Text("fast".to_owned())),
            ("large", Value::Whole(1 << 32)),
        ];
        let options = Options(given.map(|(name, value)| (name.to_owned(), value)).into());
        let (operations, asked) = (["hash".to_owned(), "ponder".to_owned()], RefCell::default());
        let phone = phone(&options, &operations, &asked);
        assert_eq!(phone.flag("flag", false), Ok(true));
        assert_eq!(phone.whole("whole", 1), Ok(3));
        assert_eq!(phone.number("whole", 1.0), Ok(3.0));
        assert_eq!(phone.number("number", 1.0), Ok(0.5));
        assert_eq!(phone.text("text", "slow"), Ok("fast".to_owned()));
        assert_eq!(phone.number("absent", 7.0), Ok(7.0));
        assert_eq!(phone.operation("ponder"), Ok(1));
        let wrong = [
            phone.flag("whole", false).map(drop),
            phone.whole("number", 1).map(drop),
            phone.whole("large", 1).map(drop),
            phone.number("flag", 1.0).map(drop),
            phone.text("flag", "").map(drop),
            phone.operation("pnder").map(drop),
        ];
        assert!(wrong.iter().all(Result::is_err), "{wrong:?}");
        assert_eq!(
            wrong[1],
            Err("protocol.options.number: a whole number below 2^32, not 0.5".to_owned())
        );
        assert_eq!(asked.borrow().len(), 6);
    }

    #[test]
    fn each_phone_has_random_numbers_of_its_own() {
        let (options, asked) = (Options::default(), RefCell::default());
        let one = phone(&options, &[], &asked);
        let words = |phone: &Phone<'_>| {
            let mut chance = phone.chance();
            [chance.word(), chance.word()]
        };
        let other = Phone {
            node: NodeId(1),
            ..one
        };
        assert_eq!(words(&one), words(&one));
        assert_ne!(words(&one), words(&other));
    }

    fn phone<'a>(
        options: &'a Options,
        operations: &'a [String],
        asked: &'a RefCell<BTreeSet<String>>,
    ) -> Phone<'a> {
        Phone {
            node: NodeId(0),
            phones: 2,
            seed: 5,
            operations,
            options,
            asked,
        }
    }
}
