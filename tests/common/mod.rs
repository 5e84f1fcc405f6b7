//! What the tests across modules share.

#![allow(
    clippy::unwrap_used,
    dead_code,
    unreachable_pub,
    reason = "each test file is a crate of its own that uses a part of this and may panic"
)]

pub mod kubernetes_tree;
#[cfg(unix)]
pub mod scripted;
pub mod shown;
pub mod wrapped;

use std::io::Write as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// The path of the program `tool`, or nothing when the machine does not have it. Then the test that
/// asked returns; what it needed is on stderr, and with `WDEV_TEST_STRICT=1` it fails.
pub fn need(tool: &str) -> Option<PathBuf> {
    let found = which::which(tool).ok();
    if found.is_none() {
        skip(&format!("the program `{tool}`"));
    }
    found
}

/// The program PowerShell: the one that `WDEV_PWSH` names, the one in the folder `WDEV_TEST_PWSH`, or the
/// one on `PATH`. Where there is none, says so and returns nothing.
pub fn pwsh() -> Option<PathBuf> {
    let in_folder =
        std::env::var_os("WDEV_TEST_PWSH").map(|folder| PathBuf::from(folder).join("pwsh"));
    let found = std::env::var_os("WDEV_PWSH")
        .map(PathBuf::from)
        .or(in_folder)
        .or_else(|| which::which("pwsh").ok());
    if found.is_none() {
        skip_without_material("PowerShell: the program `pwsh`, or its path in WDEV_PWSH");
    }
    found
}

/// A file or folder of the extra test material, whose folder `WDEV_SHARED` names (`../shared` otherwise).
/// Where it is not, says so and returns nothing.
pub fn shared(path: &str) -> Option<PathBuf> {
    let found = Some(material().join(path)).filter(|found| found.exists());
    if found.is_none() {
        skip_without_material(&format!(
            "the extra test material `{path}`, see WDEV_SHARED"
        ));
    }
    found
}

/// The folder of the extra test material, which need not exist.
pub fn material() -> PathBuf {
    std::env::var_os("WDEV_SHARED").map_or_else(
        || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../shared"),
        PathBuf::from,
    )
}

/// A machine with the extra material lacks nothing of it; no machine is promised to have the material.
pub fn skip_without_material(what: &str) {
    if material().is_dir() {
        skip(what);
    } else {
        allowed_skip(what);
    }
}

/// Says on stderr that the running test is skipped for want of `what`; fails it when skipping is not
/// allowed.
pub fn skip(what: &str) {
    let test = test_name();
    assert!(
        std::env::var("WDEV_TEST_STRICT").as_deref() != Ok("1"),
        "{test} needs {what}, and WDEV_TEST_STRICT=1 allows no skipped test"
    );
    allowed_skip(what);
}

/// Says on stderr that a part of the running test is skipped, also where skipping is not allowed: for
/// programs that no test machine is promised to have.
pub fn allowed_skip(what: &str) {
    // Not `eprintln!`: that is captured, and this must be seen.
    let _ = writeln!(std::io::stderr(), "skipped: {}: needs {what}", test_name());
}

/// Whether full counts are asked for (`WDEV_TEST_SOAK=1`).
pub fn is_soak() -> bool {
    std::env::var("WDEV_TEST_SOAK").as_deref() == Ok("1")
}

/// `soak` in a soak, else `once`.
pub fn count(once: u32, soak: u32) -> u32 {
    if is_soak() { soak } else { once }
}

/// Says something on stderr that whoever runs the tests is to see.
pub fn say(text: &str) {
    // Not `eprintln!`: that is captured.
    let _ = writeln!(std::io::stderr(), "{text}");
}

/// The SHA-256 of the bytes, hexadecimal in lower case.
pub fn sha256(bytes: &[u8]) -> String {
    use sha2::Digest as _;
    use std::fmt::Write as _;
    let digest = sha2::Sha256::digest(bytes);
    digest.iter().fold(String::new(), |mut hex, byte| {
        let _ = write!(hex, "{byte:02x}");
        hex
    })
}

fn test_name() -> String {
    let thread = std::thread::current();
    thread.name().unwrap_or("a test").to_owned()
}

/// Runs a program to its end with `input` on its stdin, and returns its stdout.
///
/// # Panics
/// When it cannot be started or fails.
pub fn run(command: &mut Command, input: &[u8]) -> Vec<u8> {
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let mut stdin = child.stdin.take().expect("stdin is a pipe");
    let input = input.to_vec();
    // A child that does not read its input must not block the test.
    let feeder = std::thread::spawn(move || stdin.write_all(&input));
    let output = child
        .wait_with_output()
        .expect("the child can be waited for");
    let _ = feeder.join();
    assert!(
        output.status.success(),
        "{command:?}: {}\n{}\n{}",
        output.status,
        String::from_utf8_lossy(&output.stderr),
        String::from_utf8_lossy(&output.stdout)
    );
    output.stdout
}

/// Texts that have broken quoting before, or would execute if it were broken.
#[must_use]
pub fn nasty_texts() -> Vec<String> {
    let mut texts: Vec<String> = [
        "",
        " ",
        "plain",
        "it's",
        "\"quoted\"",
        "$(touch canary)",
        "`touch canary`",
        "'; touch canary; '",
        "\"; touch canary; \"",
        "'$(touch canary)'",
        "\\'; touch canary #",
        "\\",
        "\\\\'",
        "a\\",
        "'",
        "''",
        "\"",
        "#{File.write('canary', '')}",
        "' + File.write('canary', '') + '",
        "#$0 #@x",
        "'\nFile.write('canary', '')\n'",
        "\n__END__\n",
        "\n=begin\n",
        "\nEOF\ntouch canary\n",
        "'@\nNew-Item canary\n@'",
        "'; New-Item canary; '",
        "‘; New-Item canary; ’‚‛“”„",
        "$env:PATH `n $($null = New-Item canary)",
        "-n",
        "--help",
        "-e\\n",
        "%s%n",
        "~",
        "*",
        "!!",
        "!ruby/object:Object {}",
        "!!python/object/apply:os.system ['touch canary']",
        "yes",
        "null",
        "1.30",
        "0x10",
        "2001-01-01",
        "a: b",
        "- a",
        "a #b",
        "&a *a",
        "{a: b}",
        "%YAML 1.1",
        "---",
        "...",
        "a\rb",
        "a\r\nb\r\n",
        "\n\n",
        "trailing \n",
        "\tx\t",
        "\u{1}\u{2}\u{7f}",
        "\u{1b}[31mred",
        "\u{8}\u{c}\u{b}",
        "\u{85}\u{2028}\u{2029}",
        "\u{feff}bom",
        "\u{202e}txet",
        "\u{fffd}\u{fffe}\u{ffff}",
        "\u{10ffff}\u{1fffe}",
        "é ü 漢字 ひ א",
        "🦀👩‍👩‍👧",
        "e\u{301}",
        "{{ value }} {% raw %} {# x #}",
        "C:\\Users\\a b\\%PATH%\\$x",
        "\u{80}\u{9f}\u{a0}",
    ]
    .map(str::to_owned)
    .to_vec();
    // Every character that some language may act on, alone and doubled.
    texts.extend(
        (1..=0x2ff)
            .filter_map(char::from_u32)
            .map(|c| format!("{c}a{c}{c}")),
    );
    texts
}

/// Lists of `count` texts, each of any characters but NUL, or of pieces that languages act on.
pub fn hostile_texts(count: usize) -> impl proptest::strategy::Strategy<Value = Vec<String>> {
    use proptest::collection::vec;
    use proptest::prelude::*;
    const PIECES: &[&str] = &[
        "'",
        "\"",
        "`",
        "\\",
        "$",
        "#",
        "{",
        "}",
        "(",
        ")",
        "$(",
        "#{",
        "${",
        "\n",
        "\r",
        "\r\n",
        "\t",
        " ",
        ";",
        "|",
        "&",
        "<",
        ">",
        "*",
        "?",
        "~",
        "!",
        "-",
        "%",
        "@",
        ":",
        ", ",
        "[",
        "]",
        "touch canary",
        "File.write('canary','')",
        "New-Item canary",
        "EOF",
        "é",
        "🦀",
        "‘",
        "’",
        "\u{2028}",
        "\u{feff}",
        "\u{1}",
        "\u{7f}",
        "x",
        "0",
        "'@",
        "@\"",
        "=begin",
        "__END__",
    ];
    let any_text = vec(any::<char>().prop_filter("not NUL", |c| *c != '\0'), 0..40)
        .prop_map(String::from_iter);
    let of_pieces = vec(proptest::sample::select(PIECES), 0..14).prop_map(|parts| parts.concat());
    vec(prop_oneof![any_text, of_pieces], count)
}

/// A sandbox without machines on the docker provider.
#[must_use]
pub fn model() -> wdev::render::VagrantfileModel {
    wdev::render::VagrantfileModel {
        sandbox: "default".to_owned(),
        wdev_version: "0.0.0".to_owned(),
        provider: wdev::config::model::ProviderName::Docker,
        provider_extra: String::new(),
        network: "wdev-default-1a2b3c".to_owned(),
        subnet: "192.168.56.0/24".parse().unwrap(),
        hyperv_switch: String::new(),
        emulated: false,
        cpu_model: String::new(),
        unsigned_drivers: false,
        machines: Vec::new(),
    }
}

/// A Linux machine with the last byte of its address, and no steps.
#[must_use]
pub fn machine(name: &str, address: u8) -> wdev::render::MachineModel {
    wdev::render::MachineModel {
        name: name.to_owned(),
        unique_name: format!("wdev-default-1a2b3c-{name}"),
        hostname: name.to_owned(),
        os: wdev::channel::Os::Linux,
        r#box: "image:1".to_owned(),
        box_version: String::new(),
        box_url: String::new(),
        box_checksum: String::new(),
        communicator: wdev::config::model::Communicator::Ssh,
        disk_bus: String::new(),
        nic: String::new(),
        cpus: 2,
        memory_mib: 1024,
        nested_virtualization: false,
        address: [192, 168, 56, address].into(),
        boot_timeout_s: 900,
        halt_timeout_s: 300,
        extra: String::new(),
        steps: Vec::new(),
        probe: format!("steps/{name}/probe.sh"),
    }
}

/// A Ruby script that evaluates a Vagrantfile with a stand-in for Vagrant, and prints every call as
/// JSON: a list of pairs of a name and the arguments. What a block is given has the name of the call that
/// it belongs to: `p.image =` is `config.vm.define.vm.provider.image=`.
#[must_use]
pub fn recorder(vagrantfile: &str) -> String {
    format!(
        r##"# encoding: utf-8
require "json"
$calls = []
class Recorder < BasicObject
  def initialize(path)
    @path = path
    @set = {{}}
  end
  def method_missing(name, *args, **named, &block)
    return @set[name] if @set.key?(name)
    @set[name[0..-2].to_sym] = args[0] if name.end_with?("=")
    values = named.empty? ? args : args + [named]
    path = "#{{@path}}.#{{name}}"
    $calls << [path, values] unless values.empty?
    block.call(::Recorder.new(path)) if block
    ::Recorder.new(path)
  end
end
module Vagrant
  def self.configure(_version)
    yield Recorder.new("config")
  end
end
{vagrantfile}
puts JSON.generate($calls)
"##
    )
}

/// Every call that a Vagrantfile makes, by [`recorder`]; nothing when there is no Ruby.
pub fn calls(vagrantfile: &str) -> Option<Vec<(String, serde_json::Value)>> {
    let ruby = need("ruby")?;
    let script = recorder(vagrantfile);
    let printed = run(&mut Command::new(ruby), script.as_bytes());
    Some(serde_json::from_slice(&printed).expect("the recorder prints JSON"))
}
