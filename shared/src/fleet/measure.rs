//! An invocation in numbers: what the functions print when it is over.
//!
//! It promises that whatever became of the invocation is counted, its failure
//! and a panic included. It deliberately prints nothing: the caller knows where
//! the lines belong. It fails as the invocation does.

use serde_json::Value;

use super::lambda::InvocationError;
use super::{Fleet, Function};
use crate::telemetry::emf::{self, Scope};
use crate::telemetry::{Numbers, Tally};

/// One invocation that is counted.
#[derive(Debug)]
pub struct Measured {
    fleet: Fleet,
    function: Function,
    write_units: f64,
    read_units: f64,
}

impl Fleet {
    /// The same instance, for one invocation of `function` that is counted.
    ///
    /// The invocations of an instance come one after another, as Lambda's do:
    /// units consumed by one beside it would be counted here too.
    #[must_use]
    pub fn measured(&self, function: Function) -> Measured {
        let tally = Tally::counting();
        let fleet =
            Self { journal: self.journal.clone().counted(tally.clone()), tally, ..self.clone() };
        let meter = fleet.journal.meter();
        let (write_units, read_units) = (meter.write_units(), meter.read_units());
        Measured { fleet, function, write_units, read_units }
    }
}

impl Measured {
    /// As [`Fleet::invoke`].
    ///
    /// # Errors
    /// As [`Fleet::invoke`].
    pub async fn invoke(&self, event: Value) -> Result<Value, InvocationError> {
        let result = self.fleet.invoke(self.function, event).await;
        if let Err(InvocationError::GivenBack(why)) = &result {
            self.fleet.tally.given_back(why.name(), 1);
        }
        result
    }

    /// What it came to so far.
    #[must_use]
    pub fn numbers(&self) -> Numbers {
        let meter = self.fleet.journal.meter();
        let mut numbers = self.fleet.tally.numbers();
        numbers.write_units = meter.write_units() - self.write_units;
        numbers.read_units = meter.read_units() - self.read_units;
        numbers
    }

    /// The same as lines for CloudWatch, for the deployment of that name.
    #[must_use]
    pub fn lines(&self, fleet: &str) -> Vec<String> {
        let scope = Scope { fleet, function: self.function.name() };
        emf::lines(&self.numbers(), scope, self.fleet.clock.now())
    }
}
