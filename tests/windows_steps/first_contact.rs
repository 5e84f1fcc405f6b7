//! The first contact: what makes a stock Windows quiet and reachable.
