//! The deployment template, read and judged.
//!
//! [`Template`] reads `infra/template.yaml` and resolves it under every sensible
//! set of parameters, as CloudFormation would, into plain values: a queue's
//! address, a role's actions on ARNs. [`checks`] are functions from a template
//! to what is wrong with it, so that a test can show them a template with
//! something taken away and see that it is missed. [`used`] is the code's side:
//! the requests that each function makes, recorded while it makes them.
//!
//! It promises that nothing is compared with a copy: the table is compared with
//! the request that makes the local one, the environment with what the
//! configuration asks for, the permissions with what was recorded.
//!
//! It deliberately is no linter: whether CloudFormation takes the template is
//! for `cfn-lint` and `sam validate` to say (`.ci/template`), and whether AWS
//! does what its documentation says can't be seen here.
//!
//! It fails with [`Finding`]s, each of which names the place. An intrinsic
//! function or a kind of resource that it does not know is a finding, not a
//! silence.

pub mod checks;
mod document;
pub mod parameters;
mod resolve;
pub mod spoil;
mod stack;
mod template;
pub mod used;

pub use document::{in_repository, of_the_repository, read_yaml};
pub use stack::{Grant, Resource, Stack};
pub use template::Template;

/// Something that is wrong with a template.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Finding {
    /// Where: a resource, a parameter, or a set of parameters.
    pub at: String,
    /// What.
    pub what: String,
}

impl Finding {
    /// A finding at a place.
    pub fn new(at: impl Into<String>, what: impl Into<String>) -> Self {
        Self { at: at.into(), what: what.into() }
    }
}

impl std::fmt::Display for Finding {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.at, self.what)
    }
}
