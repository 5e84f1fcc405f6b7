//! Child processes: started in a group of their own, watched, stopped with their whole tree.
