//! Brings the cluster's kubeconfig to the host.

use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::time::Duration;

use async_trait::async_trait;

use super::Build;
use super::guest::{GuestStep, inputs, limits};
use crate::channel::{Effect, Mode, Os, Report, Script};
use crate::config::model::ProviderName;
use crate::engine::step::{Context, Done, OnChange, Probe, Step};
use crate::error::{Failure, Kind, Result};
use crate::home::{SandboxFolder, write_whole};
use crate::kubeconfig::access::hash;
use crate::kubeconfig::{Access, file};

/// The step's id.
pub const ID: &str = "kubeconfig";
/// How long a connection to the API server may take.
const CONNECT: Duration = Duration::from_secs(10);
const SECRET: &str = "kubeconfig";

/// Brings the cluster's kubeconfig to the sandbox's folder. On the node it is only read, by a probe: no
/// copy of it is left there, and none but the owner's in the sandbox's folder on the host.
pub struct Kubeconfig {
    /// Asks the node for the hashes of the certificates.
    script: GuestStep,
    /// Asks it for the file itself.
    fetch: String,
    folder: SandboxFolder,
    /// The name of cluster, user and context.
    name: String,
    address: Ipv4Addr,
    simulated: bool,
}

/// Brings the kubeconfig of the cluster that this control plane serves.
///
/// # Errors
/// When a script cannot be rendered.
pub fn step(build: &Build) -> Result<Kubeconfig> {
    let address = build.node.address;
    let name = name(&build.config.sandbox);
    let script = GuestStep {
        id: ID.to_owned(),
        title: "bring the kubeconfig to this machine".to_owned(),
        purpose: "kubectl on the host needs it".to_owned(),
        phase: "cluster",
        inputs: inputs([("address", address.to_string()), ("name", name.clone())]),
        limits: limits(&build.config.timeouts, Duration::from_secs(2)),
        os: Os::Linux,
        // No other step needs the file.
        on_change: OnChange::Alone,
        text: Some(crate::render::linux::kubeconfig(false)?),
        effects: vec![Effect::Takes(500)],
    };
    Ok(Kubeconfig {
        script,
        fetch: crate::render::linux::kubeconfig(true)?,
        folder: build.folder.clone(),
        name,
        address,
        simulated: build.provider == ProviderName::Sim,
    })
}

/// The name of cluster, user and context in a sandbox's own kubeconfig.
#[must_use]
pub fn name(sandbox: &str) -> String {
    format!("wdev-{sandbox}")
}

impl Kubeconfig {
    /// Asks the node with this text.
    async fn ask(&self, text: &str, cx: &Context) -> Result<Report> {
        let script = Script {
            text: Some(text.to_owned()),
            ..self.script.script_for(Mode::Probe)
        };
        cx.channel().run(&script, &cx.io).await
    }

    async fn fetched(&self, cx: &Context) -> Result<Access> {
        if self.simulated {
            return Ok(self.invented(cx));
        }
        let report = self.ask(&self.fetch, cx).await?;
        let Some(text) = report.secrets.get(SECRET) else {
            let why = report.why.unwrap_or_else(|| "it reported none".to_owned());
            return Err(Box::new(
                Failure::new(Kind::Step, format!("`{}` has no kubeconfig", cx.lane)).because(why),
            ));
        };
        let access = Access::parse(text.reveal()).filter(|access| access.key.is_some());
        let access = access.ok_or_else(|| {
            Failure::new(
                Kind::Step,
                format!(
                    "`/etc/kubernetes/admin.conf` on `{}` is not what kubeadm writes",
                    cx.lane
                ),
            )
            .because("it does not hold one cluster and one user with a certificate and its key")
        })?;
        if access.leads_to(self.address) {
            return Ok(access);
        }
        Err(Box::new(
            Failure::new(
                Kind::Step,
                format!("the cluster of `{}` has the wrong address", cx.lane),
            )
            .because(format!(
                "its API server is at `{}`, and this host reaches the node at {}",
                access.server, self.address
            ))
            .advise("make it anew with `wdev destroy` and `wdev up`")
            .permanent(),
        ))
    }

    /// What leads to a simulated cluster: nothing in it is a certificate, and there is no key. It changes
    /// with the machine, as the real one does.
    fn invented(&self, cx: &Context) -> Access {
        use base64::Engine as _;
        let machine = cx.machine.as_deref().unwrap_or_default();
        let text = format!("simulated, for the machine {machine}");
        let text = base64::engine::general_purpose::STANDARD.encode(text);
        Access {
            server: format!("https://{}:6443", self.address),
            authority: text.clone(),
            certificate: text,
            key: None,
        }
    }

    /// Why the file in the sandbox's folder is not the one of the cluster with these hashes.
    fn lacks(&self, authority: Option<&str>, certificate: Option<&str>) -> Option<String> {
        let path = self.folder.kubeconfig();
        let Ok(Some(text)) = file::read(&path) else {
            return Some("there is no kubeconfig in the sandbox's folder".to_owned());
        };
        let Some(access) = Access::parse(&text) else {
            return Some("the kubeconfig in the sandbox's folder is damaged".to_owned());
        };
        if file::is_open(&path) {
            return Some("others may read the kubeconfig in the sandbox's folder".to_owned());
        }
        let same = authority == Some(&hash(&access.authority))
            && certificate == Some(&hash(&access.certificate))
            && access.leads_to(self.address);
        (!same).then(|| "the kubeconfig in the sandbox's folder is for another cluster".to_owned())
    }
}

#[async_trait]
impl Step for Kubeconfig {
    told_by!(script);

    fn on_change(&self, changed: &[String]) -> OnChange {
        self.script.on_change(changed)
    }

    async fn probe(&self, cx: &Context) -> Result<Probe> {
        let report = self
            .ask(self.script.text.as_deref().unwrap_or_default(), cx)
            .await?;
        let (authority, certificate) = if self.simulated {
            let access = self.invented(cx);
            (
                Some(hash(&access.authority)),
                Some(hash(&access.certificate)),
            )
        } else {
            let fact = |name: &str| report.facts.get(name).cloned();
            (fact("authority"), fact("certificate"))
        };
        let lacks = report
            .why
            .or_else(|| self.lacks(authority.as_deref(), certificate.as_deref()));
        Ok(lacks.map_or(Probe::InPlace, Probe::Missing))
    }

    async fn run(&self, cx: &Context) -> Result<Done> {
        let access = self.fetched(cx).await?;
        let remark = if self.simulated {
            "SIMULATION: there is no such cluster. Written by wdev."
        } else {
            "Written by wdev. Whoever has this file rules the cluster."
        };
        let text = access.render(&self.name, remark)?;
        write_whole(&self.folder.kubeconfig(), text.as_bytes())?;
        Ok(Done {
            facts: inputs([("server", access.server)]),
            ..Done::default()
        })
    }

    async fn verify(&self, cx: &Context, done: &Done) -> Result<()> {
        if let Probe::Missing(why) = self.probe(cx).await? {
            let what = "the kubeconfig was written, but it is not in place";
            return Err(Box::new(Failure::new(Kind::Step, what).because(why)));
        }
        if self.simulated {
            return Ok(());
        }
        let port = done.facts.get("server").and_then(|server| {
            let (_, port) = server.trim_end_matches('/').rsplit_once(':')?;
            port.parse().ok()
        });
        reach(SocketAddr::from((self.address, port.unwrap_or(443)))).await
    }
}

/// Proves that the API server can be reached from this host.
async fn reach(server: SocketAddr) -> Result<()> {
    let connect = move || TcpStream::connect_timeout(&server, CONNECT).map(drop);
    let connected = tokio::task::spawn_blocking(connect).await;
    let why = match connected {
        Ok(Ok(())) => return Ok(()),
        Ok(Err(error)) => error.to_string(),
        Err(error) => error.to_string(),
    };
    Err(Box::new(
        Failure::new(
            Kind::Step,
            format!("this host does not reach the API server at {server}"),
        )
        .because(why)
        .advise("see whether a firewall or a VPN of this host takes the nodes' network"),
    ))
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use super::*;
    use crate::channel::{Io, Secret};
    use crate::clock::Clock;
    use crate::engine::recorder::Recorder;
    use crate::engine::step::{Known, Limits};
    use crate::names::LaneName;
    use crate::provider::double::{Acts, Double};
    use crate::stop::Stop;

    /// A control plane with this `admin.conf`.
    struct Node(Mutex<Access>);

    impl Acts for Node {
        fn run(&self, script: &Script) -> Result<Report> {
            assert_eq!(script.mode, Mode::Probe, "nothing is left on the node");
            let access = self.0.lock().unwrap();
            let mut report = Report {
                in_place: true,
                ..Report::default()
            };
            if script
                .text
                .as_ref()
                .is_some_and(|text| text.contains("wdev_secret"))
            {
                let text = access.render("kubernetes", "kubeadm").unwrap();
                report.secrets.insert(SECRET.to_owned(), Secret::new(text));
            } else {
                report.facts = inputs([
                    ("authority", hash(&access.authority)),
                    ("certificate", hash(&access.certificate)),
                ]);
            }
            Ok(report)
        }
    }

    fn access(server: &str) -> Access {
        Access {
            server: server.to_owned(),
            authority: "Q0E=".to_owned(),
            certificate: "Q0VSVA==".to_owned(),
            key: Some(Secret::new("S0VZ")),
        }
    }

    struct World {
        folder: SandboxFolder,
        node: Arc<Node>,
        step: Kubeconfig,
        cx: Context,
        _dir: tempfile::TempDir,
    }

    impl World {
        fn new(server: &str, simulated: bool) -> Self {
            let dir = tempfile::tempdir().unwrap();
            let folder = SandboxFolder::at(dir.path().to_owned());
            let text = |fetch| crate::render::linux::kubeconfig(fetch).unwrap();
            let step = Kubeconfig {
                script: GuestStep {
                    id: ID.to_owned(),
                    title: String::new(),
                    purpose: String::new(),
                    phase: "cluster",
                    inputs: inputs([]),
                    limits: Limits {
                        expected: Duration::ZERO,
                        deadline: Duration::from_mins(1),
                        attempts: 1,
                        pause: Duration::ZERO,
                    },
                    os: Os::Linux,
                    on_change: OnChange::Alone,
                    text: Some(text(false)),
                    effects: Vec::new(),
                },
                fetch: text(true),
                folder: folder.clone(),
                name: name("default"),
                address: Ipv4Addr::LOCALHOST,
                simulated,
            };
            let node = Arc::new(Node(Mutex::new(access(server))));
            let cx = Context {
                lane: LaneName::new("cp"),
                provider: Arc::new(Double(Arc::clone(&node))),
                io: Io {
                    output: Arc::new(|line| panic!("said: {line:?}")),
                    stop: Stop::never(),
                },
                clock: Clock::new(),
                recorder: Recorder::new().0,
                known: Known::default(),
                machine: Some("1".to_owned()),
                changed: false,
            };
            Self {
                folder,
                node,
                step,
                cx,
                _dir: dir,
            }
        }

        fn written(&self) -> Option<Access> {
            Access::parse(&file::read(&self.folder.kubeconfig()).unwrap()?)
        }
    }

    #[tokio::test]
    async fn the_file_is_the_owners_alone_and_belongs_to_the_cluster_that_is_there_now() {
        let api = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let server = format!("https://{}", api.local_addr().unwrap());
        let world = World::new(&server, false);
        let (step, cx, path) = (&world.step, &world.cx, world.folder.kubeconfig());
        assert!(matches!(step.probe(cx).await.unwrap(), Probe::Missing(_)));
        let done = step.run(cx).await.unwrap();
        step.verify(cx, &done).await.unwrap();
        assert!(!format!("{done:?}").contains("S0VZ"));
        assert_eq!(world.written(), Some(access(&server)));
        assert!(!file::is_open(&path));
        assert_eq!(step.probe(cx).await.unwrap(), Probe::InPlace);
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            let open = std::fs::Permissions::from_mode(0o644);
            std::fs::set_permissions(&path, open).unwrap();
            assert!(matches!(step.probe(cx).await.unwrap(), Probe::Missing(_)));
            step.run(cx).await.unwrap();
            assert!(!file::is_open(&path));
        }
        // kubeadm renews the certificate, or the cluster is another one.
        for change in [
            |access: &mut Access| access.certificate = "TkVX".to_owned(),
            |access: &mut Access| access.authority = "TkVX".to_owned(),
        ] {
            change(&mut world.node.0.lock().unwrap());
            assert!(matches!(step.probe(cx).await.unwrap(), Probe::Missing(_)));
            step.run(cx).await.unwrap();
            assert_eq!(step.probe(cx).await.unwrap(), Probe::InPlace);
        }
        drop(api);
        let failure = step.verify(cx, &done).await.unwrap_err();
        assert!(failure.message.contains("does not reach"), "{failure}");
    }

    #[tokio::test]
    async fn the_nat_sides_address_is_refused() {
        let world = World::new("https://10.0.2.15:6443", false);
        let failure = world.step.run(&world.cx).await.unwrap_err();
        assert!(failure.permanent && failure.causes[0].contains("10.0.2.15"));
        assert_eq!(world.written(), None);
    }

    #[tokio::test]
    async fn a_simulated_cluster_has_a_kubeconfig_without_a_key() {
        let mut world = World::new("https://127.0.0.1:6443", true);
        let done = world.step.run(&world.cx).await.unwrap();
        world.step.verify(&world.cx, &done).await.unwrap();
        assert_eq!(world.written().unwrap().key, None);
        world.cx.machine = Some("2".to_owned());
        let again = world.step.probe(&world.cx).await.unwrap();
        assert!(matches!(again, Probe::Missing(_)));
    }
}
