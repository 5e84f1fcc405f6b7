//! Removes from the cache what nobody needs.
