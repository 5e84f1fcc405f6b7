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
        # Services that are handed on have been started by then.
        if ($World.Contains('runs')) {
            Invoke-Boot -World $World
        }
        $World['runs'] = $boot
        Write-World -World $World
    }
    if (Test-OwnKernel) {
        Update-AdaptersFromMachine -World $World
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

# A machine of its own, with systemd: not a container.
function Test-OwnKernel {
    [System.IO.Directory]::Exists('/run/systemd/system')
}

# The network of an emulated machine, whose second adapter nobody but wdev configures.
function Update-AdaptersFromMachine {
    param($World)
    $World.adapters = @()
    $World.addresses = @()
    $World.dhcp = @()
    foreach ($link in (& 'ip' '-j' 'address' | ConvertFrom-Json -AsHashtable)) {
        if ($link.ifname -notlike 'eth*') {
            continue
        }
        $World.adapters += @{
            Name = $link.ifname; MacAddress = $link.address.ToUpperInvariant().Replace(':', '-')
            ifIndex = $link.ifindex; Status = 'Up'
        }
        foreach ($address in @($link.addr_info | Where-Object { $_.family -eq 'inet' })) {
            $World.addresses += @{ ifIndex = $link.ifindex; IPAddress = $address.local; PrefixLength = $address.prefixlen }
            if ($address.Contains('dynamic')) {
                $World.dhcp += $link.ifindex
            }
        }
    }
}

function Update-MachineAdapters {
    param($World, [string]$Said)
    if ($Said -match '^(New|Remove)-NetIPAddress (\d+) ([0-9./]+)$') {
        $adapter = @($World.adapters | Where-Object { $_.ifIndex -eq $Matches[2] })[0]
        if ($Matches[1] -eq 'New') {
            [void](& 'ip' 'link' 'set' $adapter.Name 'up')
            [void](& 'ip' 'address' 'add' $Matches[3] 'dev' $adapter.Name)
            $lines = '', "auto $($adapter.Name)", "iface $($adapter.Name) inet static", "  address $($Matches[3])", ''
            $text = $lines -join [char]10
            [System.IO.File]::AppendAllText('/etc/network/interfaces', $text)
        } else {
            [void](& 'ip' 'address' 'del' ($Matches[3] + '/24') 'dev' $adapter.Name)
        }
    }
}

# Does to the units what was done to the world since it was read.
function Update-Machine {
    param($World, [string]$Said)
    if (Test-OwnKernel) {
        Update-MachineAdapters -World $World -Said $Said
    }
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

# `shutdown.exe`: `/r` boots anew, `/s` turns off, `/a` takes back what has not begun. Nobody starts a container again
# that has ended.
function Stop-Machine {
    $global:LASTEXITCODE = 0
    $how = @($args | Where-Object { $_ -match '^[-/][rsa]$' } | ForEach-Object { $_.Substring(1) })
    if ($how.Count -ne 1) {
        'Usage: shutdown [/i | /l | /s | /sg | /r | /g | /a | /p | /h | /e | /o] ...'
        $global:LASTEXITCODE = 87
    } elseif ($how[0] -eq 'a') {
        'Unable to abort the system shutdown because no shutdown was in progress.(1116)'
        $global:LASTEXITCODE = 1116
    } elseif (Test-OwnKernel) {
        [void](Invoke-Systemctl $(if ($how[0] -eq 'r') { 'reboot' } else { 'poweroff' }))
    } else {
        & '/bin/kill' '-TERM' '1'
    }
}

# Called when the module is loaded, after all other parts.
function Enter-Machine {
    foreach ($name in 'shutdown.exe', 'shutdown') {
        Set-Alias -Name $name -Value 'Stop-Machine' -Scope Script -Force
    }
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
