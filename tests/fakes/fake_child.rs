//! A program that does what a script file says: it plays `vagrant`, `ssh` and others in tests.
//!
//! Called as `PATH/NAME`, it reads `PATH/NAME.script`, appends what it was given to `PATH/NAME.log`,
//! and counts its calls in `PATH/NAME.calls`. The script has one block per call, divided by lines
//! `next`; a call without a block fails with 97. The lines of a block, done in order:
//!
//! | line | does |
//! | --- | --- |
//! | `expect WORDS` | ends with 98 unless the arguments begin with these words |
//! | `answer WORDS => TEXT` | prints the text and ends with 0 if the arguments begin with these words |
//! | `print TEXT`, `error TEXT` | prints a line |
//! | `bytes HEX` | prints these bytes |
//! | `prompt TEXT`, `prompt-error TEXT` | prints without a line end |
//! | `stdin` | copies standard input to standard output |
//! | `env NAME` | prints a variable of the environment, or `NAME is unset` |
//! | `pid` | logs `pid N` |
//! | `grandchild` | starts a copy of itself that sleeps for ever with the same output, and logs `grandchild N` |
//! | `ignore-sigint` | survives SIGINT, on Windows Ctrl-C, from here on |
//! | `until-interrupted` | waits for SIGINT, on Windows Ctrl-C, and logs `interrupted` |
//! | `mkfile PATH TEXT` | writes a file |
//! | `wait PATH` | waits until a file is there |
//! | `bash PATH` | runs a bash script with our own streams and ends as it does |
//! | `run PATH` | runs a bash script and passes its lines on as Vagrant would for the machine `cp` |
//! | `sleep-forever` | never ends |
//! | `exit N` | ends |

#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::exit,
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test double: what it prints is its purpose, and a wrong script should fail loudly"
)]

use std::fs::{File, OpenOptions};
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, exit};
use std::time::Duration;

const SLEEPER: &str = "--sleep-for-ever";

fn main() {
    let mut args = std::env::args();
    let named = PathBuf::from(args.next().expect("a name"));
    // On Windows the name may lack its folder; on Unix the file is a link to the program.
    let own = if cfg!(windows) {
        std::env::current_exe().expect("a path")
    } else {
        named
    };
    let args: Vec<String> = args.collect();
    if args.iter().any(|arg| arg == SLEEPER) {
        sleep_forever();
    }
    let beside = |what: &str| {
        let mut name = own.file_name().expect("a name").to_owned();
        name.push(what);
        own.with_file_name(name)
    };
    let log = beside(".log");
    say(&log, &format!("call {}", args.join(" ")));
    let script = std::fs::read_to_string(beside(".script")).expect("a script");
    let call = count(&beside(".calls"));
    let block = match script.strip_prefix("by-arguments\n") {
        Some(script) => by_arguments(script, &args.join(" "), &log),
        None => script.split("next\n").nth(call),
    };
    let Some(block) = block else {
        eprintln!("fake: call {call} is not in the script: {}", args.join(" "));
        exit(97);
    };
    // Lives until the end; holds the handler that swallows SIGINT.
    let mut runtime = None;
    let mut orphans = Vec::new();
    for line in block.lines() {
        let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
        match word {
            "" => {}
            "expect" => {
                if !args.join(" ").starts_with(rest) {
                    eprintln!("fake: expected `{rest}`, was given `{}`", args.join(" "));
                    exit(98);
                }
            }
            "answer" => {
                let (words, text) = rest.split_once(" => ").expect("an answer");
                if args.join(" ").starts_with(words) {
                    println!("{text}");
                    exit(0);
                }
            }
            "print" => println!("{rest}"),
            "error" => eprintln!("{rest}"),
            "bytes" => raw(&hex(rest)),
            "prompt" => raw(rest.as_bytes()),
            "prompt-error" => eprint!("{rest}"),
            "stdin" => {
                let mut text = Vec::new();
                std::io::stdin().read_to_end(&mut text).expect("stdin");
                raw(&text);
            }
            "env" => println!("{rest}={}", std::env::var(rest).unwrap_or("(unset)".into())),
            "pid" => say(&log, &format!("pid {}", std::process::id())),
            "grandchild" => {
                let child = Command::new(&own).arg(SLEEPER).spawn().expect("a child");
                say(&log, &format!("grandchild {}", child.id()));
                orphans.push(child);
            }
            "until-interrupted" => {
                until_interrupted();
                say(&log, "interrupted");
            }
            "ignore-sigint" => runtime = Some(ignore_interrupt()),
            "mkfile" => {
                let (path, text) = rest.split_once(' ').unwrap_or((rest, ""));
                std::fs::create_dir_all(Path::new(path).parent().unwrap()).unwrap();
                std::fs::write(path, text).expect("a file");
            }
            "rmfile" => std::fs::remove_file(rest).expect("a file"),
            "wait" => {
                while !Path::new(rest).exists() {
                    std::thread::sleep(Duration::from_millis(5));
                }
            }
            "bash" => {
                let ended = Command::new("bash").arg(rest).status().expect("bash");
                exit(ended.code().unwrap_or(1));
            }
            "run" => provision(Path::new(rest)),
            "sleep-forever" => sleep_forever(),
            "exit" => exit(rest.parse().expect("an exit code")),
            _ => panic!("fake: unknown word `{word}`"),
        }
    }
    drop((runtime, orphans));
}

/// The block for a call whose arguments are `args`; `log` holds this and the earlier calls.
fn by_arguments<'a>(script: &'a str, args: &str, log: &Path) -> Option<&'a str> {
    let words = |block: &'a str| block.lines().next()?.strip_prefix("expect ");
    let blocks = || {
        script
            .split("next\n")
            .filter_map(|block| Some((words(block)?, block)))
    };
    let fitting = blocks().filter(|(words, _)| args.starts_with(words));
    let longest = fitting
        .map(|(words, _)| words)
        .max_by_key(|words| words.len())?;
    let same: Vec<_> = blocks().filter(|(words, _)| *words == longest).collect();
    let calls = std::fs::read_to_string(log).expect("a log");
    let begins = format!("call {longest}");
    let earlier = calls
        .lines()
        .filter(|line| line.starts_with(&begins))
        .count()
        - 1;
    same.get(earlier).or(same.last()).map(|(_, block)| *block)
}

/// What `vagrant provision` prints for a script; a failing script makes it end with 1.
fn provision(script: &Path) {
    println!("1,cp,ui,info,==> cp: Running provisioner: it (shell)...");
    println!("1,cp,ui,detail,    cp: Running: {}", script.display());
    let output = Command::new("bash").arg(script).output().expect("bash");
    for line in String::from_utf8_lossy(&output.stdout).lines() {
        println!(
            "1,cp,ui,detail,    cp: {}",
            line.replace(',', "%!(VAGRANT_COMMA)")
        );
    }
    if !output.status.success() {
        let text = "The SSH command responded with a non-zero exit status. Vagrant\\nassumes";
        println!("1,,ui,error,{text}");
        println!("1,,error-exit,Vagrant::Errors::VagrantError,{text}");
        exit(1);
    }
}

fn say(log: &Path, line: &str) {
    let mut file = OpenOptions::new()
        .create(true)
        .append(true)
        .open(log)
        .expect("a log");
    file.write_all(format!("{line}\n").as_bytes())
        .expect("a log");
}

fn count(path: &Path) -> usize {
    let lock = File::create(path.with_extension("lock")).expect("a lock");
    lock.lock().expect("a lock");
    let before = std::fs::read_to_string(path).map_or(0, |text| text.parse().unwrap_or(0));
    std::fs::write(path, (before + 1).to_string()).expect("a count");
    before
}

fn raw(bytes: &[u8]) {
    let mut out = std::io::stdout();
    out.write_all(bytes).expect("stdout");
    out.flush().expect("stdout");
}

fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> = text.bytes().filter(|byte| *byte != b' ').collect();
    digits
        .chunks(2)
        .map(|two| u8::from_str_radix(std::str::from_utf8(two).unwrap(), 16).unwrap())
        .collect()
}

fn sleep_forever() -> ! {
    loop {
        std::thread::sleep(Duration::from_hours(1));
    }
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime")
}

fn until_interrupted() {
    runtime()
        .block_on(tokio::signal::ctrl_c())
        .expect("a handler");
}

#[cfg(unix)]
fn ignore_interrupt() -> tokio::runtime::Runtime {
    let runtime = runtime();
    let entered = runtime.enter();
    // Once a handler is there, tokio leaves it there; nobody reads what it receives.
    let kind = tokio::signal::unix::SignalKind::interrupt();
    let _ = tokio::signal::unix::signal(kind).expect("a handler");
    drop(entered);
    runtime
}

#[cfg(not(unix))]
fn ignore_interrupt() {
    let runtime = runtime();
    let entered = runtime.enter();
    let mut keys = tokio::signal::windows::ctrl_c().expect("a handler");
    drop(entered);
    // Once nobody receives, tokio would let the key end the process after all.
    std::thread::spawn(move || runtime.block_on(async { while keys.recv().await.is_some() {} }));
}
