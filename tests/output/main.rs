//! What users and programs read of a run: lines, the live display, JSON, logs, reports.

mod environment;
mod files;
mod format;
mod plain;
mod report;
mod sample;
mod terminal;
