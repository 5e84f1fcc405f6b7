//! A Windows worker joins the cluster.
