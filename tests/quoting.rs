//! Promise 6: no value reaches another language except through that language's filter, and any string,
//! rendered and evaluated by the real interpreter, comes back as the same string.

mod common;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use common::{allowed_skip, hostile_texts, need, run};
use proptest::prelude::*;
use tempfile::TempDir;
use wdev::render::linux::{self, KernelModule, KernelSettings};
use wdev::render::quote::{LANGUAGES, Language, POWERSHELL, RUBY, SH, TOML, YAML};
use wdev::render::{MachineModel, StepModel, TEMPLATES, VagrantfileModel, vagrantfile};

// --- the templates -------------------------------------------------------------------------------

#[test]
fn every_template_is_embedded_as_it_is_in_the_repository() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut on_disk = Vec::new();
    for folder in ["templates", "vagrant"] {
        find_templates(&root.join(folder), &mut on_disk);
    }
    on_disk.sort();
    let mut embedded: Vec<_> = TEMPLATES.iter().map(|(name, _)| root.join(name)).collect();
    embedded.sort();
    assert_eq!(embedded, on_disk);
}

fn find_templates(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            find_templates(&path, found);
        } else if path.extension().is_some_and(|ending| ending == "tera") {
            found.push(path);
        }
    }
}

#[test]
fn every_expression_ends_in_the_filter_of_its_language() {
    let mut expressions = 0;
    for (name, text) in TEMPLATES {
        let faults = faults_of(name, text);
        assert!(faults.is_empty(), "{name}:\n{}", faults.join("\n"));
        expressions += text.matches("{{").count();
    }
    assert!(expressions > 20, "the templates were not read");
}

#[test]
fn the_check_of_the_templates_finds_what_it_is_for() {
    for (name, text) in [
        ("a.sh.tera", "x={{ value }}"),
        ("a.sh.tera", "x={{ value | ruby }}"),
        ("a.sh.tera", "x={{ value | sh | upper }}"),
        ("a.sh.tera", "x={{ value | safe }}"),
        ("a.sh.tera", "x={{ value | sh if value else other }}"),
        ("a.sh.tera", "x=\"{{ value | sh }}\""),
        ("a.sh.tera", "x='{{ value | sh }}'"),
        ("a.sh.tera", "x=a{{ value | sh }}"),
        ("a.sh.tera", "# about {{ value | sh }}"),
        ("a.sh.tera", "x={{ value | users_own_ruby }}"),
        ("a.sh.tera", "{% set x = value %}"),
        ("a.sh.tera", "{% filter upper %}x{% endfilter %}"),
        ("a.rb.tera", "x = {{ value | users_own_ruby }}"),
        ("a.unknown.tera", "{{ value | sh }}"),
    ] {
        assert!(!faults_of(name, text).is_empty(), "{name}: {text}");
    }
    for (name, text) in [
        (
            "a.sh.tera",
            "x={{ value | sh }}\nfor y in {{ a.b | sh_words }}; do",
        ),
        (
            "Vagrantfile.tera",
            "# of {{ value | ruby }}\n{{ node.extra | users_own_ruby }}",
        ),
    ] {
        assert_eq!(faults_of(name, text), Vec::<String>::new());
    }
}

/// What is wrong with a template, by line.
fn faults_of(name: &str, text: &str) -> Vec<String> {
    let Some(language) = language_of(name) else {
        return vec!["its language is not known".to_owned()];
    };
    let mut faults = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let mut fault = |what: &str| faults.push(format!("line {}: {what}: {line}", number + 1));
        for word in ["set", "filter", "macro", "component", "block", "extends"] {
            if line.contains(&format!("{{% {word} ")) || line.contains(&format!("{{%- {word} ")) {
                fault("only if, for and include are allowed");
            }
        }
        let mut rest = line;
        let mut before = String::new();
        while let Some((text, after)) = rest.split_once("{{") {
            before.push_str(text);
            let Some((expression, after)) = after.split_once("}}") else {
                fault("an expression over several lines");
                break;
            };
            if let Err(what) = check_expression(expression, &before, after, language) {
                fault(what);
            }
            rest = after;
        }
    }
    faults
}

fn check_expression(
    expression: &str,
    before: &str,
    after: &str,
    language: &Language,
) -> Result<(), &'static str> {
    let parts: Vec<_> = expression.split('|').map(str::trim).collect();
    let is_path = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '.';
    let [value, filter] = parts.as_slice() else {
        return Err("an expression is a value and one filter");
    };
    if value.is_empty() || !value.chars().all(is_path) {
        return Err("the value is not a plain name");
    }
    if *filter == "users_own_ruby" {
        let own_line = before.trim().is_empty() && after.trim().is_empty();
        let allowed = language.name == "ruby" && own_line && value.ends_with("extra");
        return if allowed {
            Ok(())
        } else {
            Err("only the user's own `extra`, on a line of its own")
        };
    }
    if *filter != language.name && *filter != language.list_name {
        return Err("not the filter of this language");
    }
    if ['\'', '"', '`']
        .iter()
        .any(|quote| before.matches(*quote).count() % 2 != 0)
    {
        return Err("inside quotes");
    }
    if !before.is_empty() && !before.ends_with([' ', '=', '(', '[', ',', '\t']) {
        return Err("glued to what is before it");
    }
    // Other filters may put a line feed into their literal; Ruby's never does.
    if before.trim_start().starts_with('#') && language.name != "ruby" {
        return Err("inside a comment");
    }
    Ok(())
}

fn language_of(name: &str) -> Option<&'static Language> {
    let target = name.strip_suffix(".tera")?;
    if target.ends_with("Vagrantfile") {
        return Some(&RUBY);
    }
    LANGUAGES
        .into_iter()
        .find(|language| target.ends_with(language.extension))
}

// --- the interpreters ----------------------------------------------------------------------------

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
        for array in ["modules", "proofs", "sysctls", "values"] {
            script += &format!("\nprintf '%s\\0' \"${{wdev_{array}[@]}}\"\n");
        }
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
                &machine.steps[0].path,
            );
            expect(
                "config.vm.define.vm.provision.path=",
                &format!("steps/{}/probe.sh", machine.name),
            );
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

fn hostile_machine(texts: &[String]) -> MachineModel {
    MachineModel {
        name: texts[0].clone(),
        unique_name: texts[1].clone(),
        hostname: texts[2].clone(),
        r#box: texts[3].clone(),
        steps: vec![StepModel {
            name: "kernel".to_owned(),
            path: texts[4].clone(),
        }],
        ..common::machine("cp", 10)
    }
}

/// A document with the texts as a block sequence, a flow sequence and the keys of a mapping.
fn yaml_document(texts: &[String]) -> String {
    let block: String = texts
        .iter()
        .map(|text| format!("  - {}\n", YAML.quote(text).unwrap()))
        .collect();
    let flow = literals(&YAML, texts, ", ");
    let mapping: String = texts
        .iter()
        .enumerate()
        .map(|(n, text)| format!("  {}: {n}\n", YAML.quote(&format!("{n}{text}")).unwrap()))
        .collect();
    format!("block:\n{block}flow: [{flow}]\nkeys:\n{mapping}")
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
    let given = std::env::var_os("WDEV_PWSH").map(PathBuf::from);
    let Some(pwsh) = given.or_else(|| which::which("pwsh").ok()) else {
        return allowed_skip("PowerShell: the program `pwsh`, or its path in WDEV_PWSH");
    };
    for_hostile_texts(|texts| {
        let list = literals(&POWERSHELL, texts, ",\n");
        // Each string twice: as a value, and as the argument of a command.
        let mut script = format!(
            "function Write-Units($s) {{ [BitConverter]::ToString([Text.Encoding]::Unicode.GetBytes($s)) }}\n\
             foreach ($s in @({list})) {{ Write-Units $s }}\n"
        );
        for text in texts {
            script += &format!("Write-Units {}\n", POWERSHELL.quote(text).unwrap());
        }
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

/// The bytes of the UTF-16 units, as .NET's `BitConverter` writes them.
fn dotnet_hex(text: &str) -> String {
    let bytes = text.encode_utf16().flat_map(u16::to_le_bytes);
    bytes
        .map(|byte| format!("{byte:02X}"))
        .collect::<Vec<_>>()
        .join("-")
}
