//! What a phone does with its cores, its threads and its timeouts, and when it goes off.

mod alarms;
mod battery;
mod churn;
mod computers;
mod failures;
mod lanes;
mod retries;
mod run_queue;
mod ticks;
mod turns;
