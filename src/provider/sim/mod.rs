//! A seeded world of machines without any machine.
