# On a machine whose world says `"machine": "linux"` the services of a node are real: what the other doubles
# change in the world is done to units of systemd (or its stand-in) as well, the state of those units is what
# is read back, and programs are run by `windows-program`, which has the Linux program of that name do the
# work. Everywhere else nothing here is ever called.

$handedOn = 'containerd', 'kubelet', 'kube-proxy'
$windowsProgram = '/opt/wdev-test/windows-program'
$lineFolder = '/var/lib/wdev-test'
# The services as this process read them last.
$seen = @{}

# Whoever called a double asks for the exit code of the program that it stands for, not for systemctl's.
function Invoke-Systemctl {
    $before = Get-Variable -Name 'LASTEXITCODE' -Scope 'Global' -ValueOnly -ErrorAction 'SilentlyContinue'
    $said = @(& 'systemctl' @args 2>&1)
    $code = $LASTEXITCODE
    $global:LASTEXITCODE = $before
    if ($code -ne 0 -and $args[0] -ne 'is-active') {
        throw ('systemctl ' + ($args -join ' ') + ': ' + ($said -join ' '))
    }
    $said
}

# The words of a command line, as `CommandLineToArgvW` reads it.
function ConvertFrom-CommandLine {
    param([string]$Line)
    $word = New-Object -TypeName System.Text.StringBuilder
    $quoted = $false
    $any = $false
    for ($at = 0; $at -lt $Line.Length; $at++) {
        $char = $Line[$at]
        if ($char -eq '\') {
            $from = $at
            while ($at -lt $Line.Length -and $Line[$at] -eq '\') {
                $at++
            }
            $count = $at - $from
            $any = $true
            if ($at -lt $Line.Length -and $Line[$at] -eq '"') {
                [void]$word.Append('\', [int][Math]::Floor($count / 2))
                if ($count % 2 -eq 1) {
                    [void]$word.Append('"')
                    continue
                }
            } else {
                [void]$word.Append('\', $count)
            }
            $at--
        } elseif ($char -eq '"') {
            $quoted = -not $quoted
            $any = $true
        } elseif (' ', "`t" -contains $char -and -not $quoted) {
            if ($any) {
                $word.ToString()
            }
            [void]$word.Clear()
            $any = $false
        } else {
            [void]$word.Append($char)
            $any = $true
        }
    }
    if ($any) {
        $word.ToString()
    }
}

function Get-ServiceLine {
    param($Service)
    foreach ($key in 'PathName', 'BinaryPathName') {
        if ($Service.Contains($key)) {
            return [string]$Service[$key]
        }
    }
    ''
}

# The services of the node with the state of their units.
function Update-FromMachine {
    param($World)
    $boot = (Get-Content -LiteralPath '/proc/sys/kernel/random/boot_id' -Raw).Trim() + ' ' +
        ((Get-Content -LiteralPath '/proc/1/stat' -Raw) -replace '^.*\) ', '').Split(' ')[19]
    if ($World['runs'] -ne $boot) {
        Start-DoubledBoot -World $World -Boot $boot
    }
    $script:seen = @{}
    foreach ($name in $handedOn) {
        if (-not $World.services.Contains($name)) {
            continue
        }
        $service = $World.services[$name]
        $state = Invoke-Systemctl 'is-active' $name
        $service.Status = if ($state -eq 'active') { 'Running' } else { 'Stopped' }
        $script:seen[$name] = @{
            Status = $service.Status
            StartType = $service['StartType']
            Line = Get-ServiceLine -Service $service
        }
    }
}

# What a boot of Windows does to its state. Services that are handed on have been started by then.
function Start-DoubledBoot {
    param($World, [string]$Boot)
    $first = -not $World.Contains('runs')
    $World['runs'] = $Boot
    if (-not $first) {
        Invoke-Boot -World $World
    }
    Write-World -World $World
}

function Write-Unit {
    param([string]$Name, [string]$Line, [string]$Start)
    [void][System.IO.Directory]::CreateDirectory($lineFolder)
    $words = @(ConvertFrom-CommandLine -Line $Line)
    [System.IO.File]::WriteAllText("$lineFolder/$Name.words", (($words -join "`0") + "`0"))
    # Only containerd tells systemd that it is up.
    $type = if ($Name -eq 'containerd') { 'notify' } else { 'simple' }
    $text = "[Unit]`nDescription=The service $Name of Windows`n[Service]`nType=$type`nRestart=always`nRestartSec=1s`n" +
        "KillMode=process`nDelegate=yes`nExecStart=$windowsProgram --service $Name`n[Install]`nWantedBy=multi-user.target`n"
    [System.IO.File]::WriteAllText("/etc/systemd/system/$Name.service", $text)
    [void](Invoke-Systemctl 'daemon-reload')
    [void](Invoke-Systemctl $(if ($Start -like 'Auto*') { 'enable' } else { 'disable' }) $Name)
}

# Does to the units what was done to the world since it was read.
function Update-Machine {
    param($World, [string]$Said)
    foreach ($name in $handedOn) {
        $before = $script:seen[$name]
        if (-not $World.services.Contains($name)) {
            if ($null -ne $before) {
                [void](Invoke-Systemctl 'disable' '--now' $name)
                [System.IO.File]::Delete("/etc/systemd/system/$name.service")
                [void](Invoke-Systemctl 'daemon-reload')
                $script:seen.Remove($name)
            }
            continue
        }
        $service = $World.services[$name]
        $line = Get-ServiceLine -Service $service
        if ($null -eq $before) {
            $before = @{ Status = 'Stopped'; StartType = ''; Line = '' }
        }
        if ($before.Line -ne $line -or $before.StartType -ne $service['StartType']) {
            Write-Unit -Name $name -Line $line -Start $service['StartType']
        }
        if ($Said -match ('^Restart-Service .*\b' + $name + '\b')) {
            [void](Invoke-Systemctl 'restart' $name)
        } elseif ($before.Status -ne $service.Status) {
            [void](Invoke-Systemctl $(if ($service.Status -eq 'Running') { 'start' } else { 'stop' }) $name)
        }
        $script:seen[$name] = @{ Status = $service.Status; StartType = $service['StartType']; Line = $line }
    }
}

# A reboot right now, as `shutdown.exe /r` brings it about. A container is not started again by itself.
function Restart-Machine {
    if (Test-Path -LiteralPath '/run/systemd/system') {
        [void](Invoke-Systemctl 'reboot')
    } else {
        & '/bin/kill' '-TERM' '1'
    }
}

# Called when the module is loaded, after all other parts.
function Enter-Machine {
    $programs = @{
        'C:\k' = 'kubeadm', 'kubectl', 'kubelet', 'kube-proxy', 'crictl'
        'C:\Program Files\containerd' = @('ctr')
    }
    foreach ($folder in $programs.Keys) {
        foreach ($program in $programs[$folder]) {
            $path = $folder + '\' + $program + '.exe'
            $text = "& '$windowsProgram' '$path' @args"
            Set-Item -LiteralPath ('function:script:Invoke-Windows-' + $program) -Value ([scriptblock]::Create($text))
            Set-Alias -Name $path -Value ('Invoke-Windows-' + $program) -Scope Script -Force
        }
    }
}
