//! Promise 6: any string, rendered and evaluated by the real interpreter, comes back as the same string,
//! and nothing in it is executed.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use common::{allowed_skip, hostile_texts, need, run};
use proptest::prelude::*;
use tempfile::TempDir;
use wdev::config::model::ProviderName;
use wdev::render::linux::{self, KernelModule, KernelSettings};
use wdev::render::quote::{Language, POWERSHELL, RUBY, SH, TOML, YAML};
use wdev::render::windows::literal;
use wdev::render::{MachineModel, StepModel, VagrantfileModel, vagrantfile};

/// Calls `check` with batches of strings: those that are known to be nasty, then random ones, which are
/// made smaller when they fail.
fn for_hostile_texts(check: impl Fn(&[String])) {
    check(&common::nasty_texts());
    let config = ProptestConfig {
        cases: 8,
        failure_persistence: None,
        max_shrink_iters: 400,
        ..ProptestConfig::default()
    };
    proptest!(config, |(texts in hostile_texts(150))| check(&texts));
}

/// A folder in which nothing may appear but the script.
struct Scene {
    dir: TempDir,
}

impl Scene {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        Self { dir }
    }

    /// Runs the interpreter on `script` in the folder and returns what it prints.
    fn run(&self, program: &Path, args: &[&str], script: &str) -> Vec<u8> {
        let name = "script.ps1";
        std::fs::write(self.dir.path().join(name), script).unwrap();
        let printed = run(
            Command::new(program)
                .args(args)
                .arg(name)
                .current_dir(self.dir.path()),
            b"",
        );
        let there: Vec<_> = std::fs::read_dir(self.dir.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name())
            .collect();
        assert_eq!(there, [name], "a value was executed");
        printed
    }
}

fn literals(language: &Language, texts: &[String], separator: &str) -> String {
    let literals: Vec<_> = texts
        .iter()
        .map(|text| language.quote(text).unwrap())
        .collect();
    literals.join(separator)
}

fn split_at_nul(bytes: &[u8]) -> Vec<String> {
    let mut texts: Vec<_> = bytes
        .split(|byte| *byte == 0)
        .map(|text| String::from_utf8(text.to_vec()).unwrap())
        .collect();
    assert_eq!(texts.pop().as_deref(), Some(""));
    texts
}

fn from_json(bytes: &[u8]) -> Vec<String> {
    serde_json::from_slice(bytes).unwrap()
}

#[test]
fn bash_gives_every_word_back() {
    let Some(bash) = need("bash") else { return };
    for_hostile_texts(|texts| {
        let script = format!("printf '%s\\0' {}\n", literals(&SH, texts, " "));
        assert_eq!(split_at_nul(&Scene::new().run(&bash, &[], &script)), texts);
    });
}

#[test]
fn bash_gives_every_hook_and_kernel_setting_back() {
    let Some(bash) = need("bash") else { return };
    for_hostile_texts(|texts| {
        let mut script = String::from("set -euo pipefail\n");
        for text in texts {
            script += &linux::hook(text).unwrap();
            script += "\nprintf '%s\\0' \"$wdev_hook\"\n";
        }
        let module = |text: &String| KernelModule {
            name: text.clone(),
            proof: text.clone(),
        };
        let settings = KernelSettings {
            modules: texts.iter().map(module).collect(),
            sysctls: texts
                .iter()
                .map(|text| (text.clone(), text.clone()))
                .collect(),
        };
        script += &linux::kernel(&settings).unwrap();
        script += "for array in modules proofs sysctls values; do\n";
        script += "declare -n a=wdev_$array; printf '%s\\0' \"${a[@]}\"; done\n";
        // Line ends of a hook are made uniform on purpose; nothing else about it changes.
        let mut expected: Vec<_> = texts
            .iter()
            .map(|text| text.replace("\r\n", "\n"))
            .collect();
        expected.extend(texts.iter().chain(texts).cloned());
        for _ in 0..2 {
            expected.extend(settings.sysctls.keys().cloned());
        }
        assert_eq!(
            split_at_nul(&Scene::new().run(&bash, &[], &script)),
            expected
        );
    });
}

#[test]
fn ruby_gives_every_string_back() {
    let Some(ruby) = need("ruby") else { return };
    for_hostile_texts(|texts| {
        let list = literals(&RUBY, texts, ",\n");
        let script = format!("require 'json'\nputs JSON.generate([{list}])\n");
        assert_eq!(from_json(&Scene::new().run(&ruby, &[], &script)), texts);
    });
}

#[test]
fn ruby_gives_every_value_of_the_vagrantfile_back() {
    let Some(ruby) = need("ruby") else { return };
    for_hostile_texts(|texts| {
        let machines: Vec<_> = texts.chunks_exact(5).map(hostile_machine).collect();
        let model = VagrantfileModel {
            sandbox: texts[0].clone(),
            wdev_version: texts[1].clone(),
            machines,
            ..common::model()
        };
        let text = vagrantfile(&model).unwrap();
        let mut expected: BTreeMap<&str, Vec<String>> = BTreeMap::new();
        for machine in &model.machines {
            let mut expect = |call, text: &str| {
                expected.entry(call).or_default().push(text.to_owned());
            };
            expect("config.vm.define", &machine.name);
            expect("config.vm.define.vm.hostname=", &machine.hostname);
            expect("config.vm.define.vm.provider.name=", &machine.unique_name);
            expect("config.vm.define.vm.provider.image=", &machine.r#box);
            expect(
                "config.vm.define.vm.provision.path=",
                machine.steps[0].path.as_deref().unwrap(),
            );
            expect("config.vm.define.vm.provision.path=", &machine.probe);
        }
        let recorded = Scene::new().run(&ruby, &["-w"], &common::recorder(&text));
        let calls: Vec<(String, Vec<serde_json::Value>)> =
            serde_json::from_slice(&recorded).unwrap();
        for (call, texts) in expected {
            let of_call = calls.iter().filter(|(name, _)| name == call);
            let values: Vec<_> = of_call.map(|(_, args)| args[0].as_str().unwrap()).collect();
            assert_eq!(values, texts, "{call}");
        }
    });
}

#[test]
fn ruby_gives_back_what_hypervisors_are_told() {
    let Some(ruby) = need("ruby") else { return };
    for_hostile_texts(|texts| {
        let [bus, nic, url, version, names @ ..] = texts else {
            return;
        };
        for provider in [
            ProviderName::Virtualbox,
            ProviderName::Hyperv,
            ProviderName::VmwareDesktop,
            ProviderName::Libvirt,
        ] {
            let machines = names.iter().map(|text| MachineModel {
                disk_bus: bus.clone(),
                nic: nic.clone(),
                box_url: format!("file:{url}"),
                box_version: version.clone(),
                unique_name: format!("{text}-cp"),
                r#box: text.clone(),
                ..common::machine("cp", 10)
            });
            let model = VagrantfileModel {
                provider,
                network: url.clone(),
                hyperv_switch: format!("a{url}"),
                cpu_model: version.clone(),
                machines: machines.collect(),
                ..common::model()
            };
            let text = vagrantfile(&model).unwrap();
            let recorded = Scene::new().run(&ruby, &["-w"], &common::recorder(&text));
            let calls: serde_json::Value = serde_json::from_slice(&recorded).unwrap();
            let mut said = BTreeSet::new();
            strings(&calls, &mut said);
            let mut expected = vec![version.clone(), format!("file:{url}")];
            match provider {
                ProviderName::Hyperv => expected.push(format!("a{url}")),
                ProviderName::VmwareDesktop => expected.push(nic.clone()),
                ProviderName::Libvirt => expected.extend([bus, nic, url].map(String::clone)),
                _ => {}
            }
            for name in names {
                expected.push(name.clone());
                expected.push(match provider {
                    // It puts the machine's name behind this.
                    ProviderName::Libvirt => format!("{name}-"),
                    _ => format!("{name}-cp"),
                });
            }
            // An empty text is left out.
            for text in expected.iter().filter(|text| !text.is_empty()) {
                assert!(said.contains(text.as_str()), "{provider}: {text:?}");
            }
        }
    });
}

/// Every text in a JSON value.
fn strings<'a>(value: &'a serde_json::Value, found: &mut BTreeSet<&'a str>) {
    match value {
        serde_json::Value::String(text) => {
            found.insert(text);
        }
        serde_json::Value::Array(items) => items.iter().for_each(|item| strings(item, found)),
        serde_json::Value::Object(fields) => {
            fields.values().for_each(|item| strings(item, found));
        }
        _ => {}
    }
}

fn hostile_machine(texts: &[String]) -> MachineModel {
    MachineModel {
        name: texts[0].clone(),
        unique_name: texts[1].clone(),
        hostname: texts[2].clone(),
        r#box: texts[3].clone(),
        steps: vec![StepModel {
            name: "kernel".to_owned(),
            path: Some(texts[4].clone()),
        }],
        ..common::machine("cp", 10)
    }
}

/// A document with the texts as a block sequence, a flow sequence and the keys of a mapping.
fn yaml_document(texts: &[String]) -> String {
    let item = |text: &String| format!("  - {}", YAML.quote(text).unwrap());
    let entry = |(n, text): (usize, &String)| {
        format!("  {}: {n}", YAML.quote(&format!("{n}{text}")).unwrap())
    };
    let block = texts.iter().map(item).collect::<Vec<_>>().join("\n");
    let flow = literals(&YAML, texts, ", ");
    let mapping = texts
        .iter()
        .enumerate()
        .map(entry)
        .collect::<Vec<_>>()
        .join("\n");
    format!("block:\n{block}\nflow: [{flow}]\nkeys:\n{mapping}\n")
}

#[derive(serde::Deserialize)]
struct YamlDocument {
    block: Vec<String>,
    flow: Vec<String>,
    keys: BTreeMap<String, usize>,
}

impl YamlDocument {
    fn check(&self, texts: &[String]) {
        assert_eq!(self.block, texts);
        assert_eq!(self.flow, texts);
        for (n, text) in texts.iter().enumerate() {
            assert_eq!(self.keys.get(&format!("{n}{text}")), Some(&n), "{text:?}");
        }
    }
}

#[test]
fn our_yaml_parser_gives_every_string_back() {
    for_hostile_texts(|texts| {
        let document: YamlDocument = serde_saphyr::from_str(&yaml_document(texts)).unwrap();
        document.check(texts);
    });
}

#[test]
fn rubys_yaml_parser_gives_every_string_back() {
    let Some(ruby) = need("ruby") else { return };
    foreign_yaml(&ruby, |text| {
        format!(
            "require 'json'\nrequire 'yaml'\nputs JSON.generate(YAML.load({}))\n",
            { RUBY.quote(text).unwrap() }
        )
    });
}

#[test]
fn pythons_yaml_parser_gives_every_string_back() {
    let has_yaml = |python: &PathBuf| {
        let import = Command::new(python).args(["-c", "import yaml"]).output();
        import.is_ok_and(|output| output.status.success())
    };
    let Some(python) = which::which("python3").ok().filter(has_yaml) else {
        return allowed_skip("the program `python3` with its module `yaml`");
    };
    foreign_yaml(&python, |text| {
        // A JSON string is a Python string as well: ASCII only, escapes of UTF-16 units aside.
        format!(
            "import json, sys, yaml\nd = json.loads(r'''{}''')\njson.dump(yaml.safe_load(d), sys.stdout)\n",
            {
                serde_json::to_string(text)
                    .unwrap()
                    .replace('\'', "\\u0027")
            }
        )
    });
}

fn foreign_yaml(program: &Path, script: impl Fn(&str) -> String) {
    for_hostile_texts(|texts| {
        let printed = Scene::new().run(program, &[], &script(&yaml_document(texts)));
        let document: YamlDocument = serde_json::from_slice(&printed).unwrap();
        document.check(texts);
    });
}

#[test]
fn a_toml_parser_gives_every_string_back() {
    for_hostile_texts(|texts| {
        let document = format!("list = [{}]\n", literals(&TOML, texts, ", "));
        let parsed: BTreeMap<String, Vec<String>> = toml::from_str(&document).unwrap();
        assert_eq!(parsed["list"], texts);
    });
}

#[test]
fn powershell_gives_every_string_back() {
    let Some(pwsh) = common::pwsh() else { return };
    for_hostile_texts(|texts| {
        let list = literals(&POWERSHELL, texts, ",\n");
        // Each string twice: as a value, and as the argument of a command.
        let mut script = format!(
            "function Write-Units($s) {{ [BitConverter]::ToString([Text.Encoding]::Unicode.GetBytes($s)) }}\n\
             foreach ($s in @({list})) {{ Write-Units $s }}\n"
        );
        script.push_str("Write-Units ");
        script.push_str(&literals(&POWERSHELL, texts, "\nWrite-Units "));
        script.push('\n');
        let script = script.replace('\n', "\r\n");
        let args = ["-NoProfile", "-NonInteractive", "-File"];
        let printed = String::from_utf8(Scene::new().run(&pwsh, &args, &script)).unwrap();
        let units: Vec<_> = printed.lines().map(str::to_owned).collect();
        let expected: Vec<_> = texts
            .iter()
            .chain(texts)
            .map(|text| dotnet_hex(text))
            .collect();
        assert_eq!(units, expected);
    });
}

/// What a script for Windows is given: labels and such, in lists and objects. Readers of JSON would make dates of
/// some texts.
#[test]
fn powershell_gives_the_data_of_scripts_back() {
    let Some(pwsh) = common::pwsh() else { return };
    for_hostile_texts(|texts| {
        let dates = [
            "2026-01-01T00:00:00Z",
            "/Date(1)/",
            "\\/Date(1)\\/",
            "$true",
            "12",
        ];
        let texts: Vec<&str> = texts.iter().map(String::as_str).chain(dates).collect();
        let pairs: Vec<_> = texts
            .iter()
            .map(|text| serde_json::json!({"name": text, "value": [text, true, 7]}))
            .collect();
        let data = literal(&serde_json::json!({"deep": {"pairs": pairs}})).unwrap();
        let script = format!(
            "Set-StrictMode -Version Latest\n$WdevData = {data}\n\
             foreach ($p in $WdevData.deep.pairs) {{\n\
             foreach ($s in $p.name, $p.value[0]) {{ [BitConverter]::ToString([Text.Encoding]::Unicode.GetBytes($s)) }}\n\
             if ($p.value.Count -ne 3 -or $p.value[1] -ne $true -or $p.value[2] -ne 7) {{ 'changed' }} }}\n"
        );
        let script = script.replace('\n', "\r\n");
        let args = ["-NoProfile", "-NonInteractive", "-File"];
        let printed = String::from_utf8(Scene::new().run(&pwsh, &args, &script)).unwrap();
        let expected: Vec<_> = texts
            .iter()
            .flat_map(|text| [dotnet_hex(text), dotnet_hex(text)])
            .collect();
        assert_eq!(printed.lines().collect::<Vec<_>>(), expected);
    });
}

/// The bytes of the UTF-16 units, as .NET's `BitConverter` writes them.
fn dotnet_hex(text: &str) -> String {
    let bytes = text.encode_utf16().flat_map(u16::to_le_bytes);
    bytes
        .map(|byte| format!("{byte:02X}"))
        .collect::<Vec<_>>()
        .join("-")
}
