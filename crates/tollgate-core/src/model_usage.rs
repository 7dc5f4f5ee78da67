//! Use of models: what is counted (requests, tokens, money), prices, and limits on all of it.
//!
//! Pure: the engine keeps the state, and passes the time. Called for every request to a model.

mod cost;
mod day;
mod limit;
mod meter;
mod price;
mod scope;
mod speech;
mod totals;

pub use cost::Cost;
pub use day::UsageDay;
pub use limit::{LimitPeriod, LimitedUnit, ModelLimit};
pub use meter::{
    MeterTime, ModelLimitExceededError, ScopeLimits, ScopeMeter, admit, check_exhausted,
};
pub use price::{ModelPrice, PriceList, SpeechPrice};
pub use scope::UsageScope;
pub use speech::SpeechTotals;
pub use totals::{UsageEstimate, UsageTotals};
