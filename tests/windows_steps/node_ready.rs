//! A Windows worker is Ready, or says what keeps it.
