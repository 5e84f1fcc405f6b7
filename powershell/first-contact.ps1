<#
.SYNOPSIS
Looks at what a stock Windows machine is, refuses what cannot become a Kubernetes node, and makes the rest quiet
and reachable for as long as the sandbox lives.

.DESCRIPTION
Reads from $WdevData:
  windows      the version that is asked for: 2022
  known        the versions that wdev knows, each with `windows` and `build`
  freeMib      free space that drive C: must have, in MiB
  toleranceMs  how far the clock may be off, in milliseconds
  scheme       the GUID of the power plan
  ports        `start` and `number` of the ports for outgoing connections
  registry     numbers in the registry, each with `path`, `name`, `value`

Is given `host_at_boot`: the host's time when this machine's uptime was 0, in milliseconds since 1970. By hand it comes
from the environment variable WDEV_GIVEN_host_at_boot: the host's time minus this machine's uptime, both in milliseconds
and of the same moment.
  on a Linux host     date +%s%3N
  on a Windows host   [DateTimeOffset]::UtcNow.ToUnixTimeMilliseconds()
  this machine        [long]([Diagnostics.Stopwatch]::GetTimestamp() / ([Diagnostics.Stopwatch]::Frequency / 1000))
Without it the clock is left alone.

Refuses: what is no Windows Server, a build that is not known or not the one that is asked for, too little free
space as long as nothing is installed, an evaluation licence that has expired.

Changes on the node: the clock and the time zone (UTC), the service W32Time and its triggers, the power plan and its idle
timeouts, the registry (Windows Update waits to be asked, no hibernation, names of SMB shares in containers), the
range of ports, the firewall's profiles (each lets its inbound rules count) and a rule `wdev-icmp4` for pings, the
user's password and account, which expire no more.

Reports: windows (caption), build, free_mib, licence (`licensed`, `evaluation`, `grace`, `expired`, `unlicensed`,
`unknown`), licence_ends (UTC, where it ends), clock_ms, uptime_ms.

Run it by hand as an administrator: powershell -ExecutionPolicy Bypass -File .\first-contact.ps1

To look at it by hand:
  Get-CimInstance Win32_OperatingSystem | Format-List Caption, BuildNumber, ProductType
  powercfg.exe /getactivescheme; powercfg.exe /query SCHEME_CURRENT SUB_SLEEP
  netsh.exe int ipv4 show dynamicportrange tcp
  cscript.exe //nologo C:\Windows\System32\slmgr.vbs /dlv
  Get-NetFirewallProfile; Get-LocalUser; w32tm.exe /query /status

.NOTES
ProductType: https://learn.microsoft.com/windows/win32/cimwin32prov/win32-operatingsystem
LicenseStatus, GracePeriodRemaining (minutes): https://learn.microsoft.com/previous-versions/windows/desktop/sppwmi/softwarelicensingproduct
W32Time outside a domain: https://learn.microsoft.com/troubleshoot/windows-client/active-directory/w32time-not-start-on-workgroup
An evaluation that has expired shuts the machine down every hour (event of the Windows License Monitoring
Service); `slmgr /rearm`: https://learn.microsoft.com/windows-server/get-started/activation-slmgr-vbs-options
The numbers: src/release/data/windows-node.json, with a source each.
#>


$WdevPingRule = 'wdev-icmp4'

# What starts and ends W32Time by whether the machine is in a domain: without one it ends right after each boot,
# although it starts by itself.
$WdevTimeTrigger = 'HKLM:\SYSTEM\CurrentControlSet\Services\W32Time\TriggerInfo\0'

# What is there as soon as the machine begins to be a node.
$WdevWorks = 'C:\Program Files\containerd\containerd.exe', 'C:\k\kubelet.exe'

# A licence of Windows itself, by its application's number.
$WdevLicenceFilter = "ApplicationID = '55c92734-d682-4d71-983e-d6ec3f16059f' AND PartialProductKey IS NOT NULL"

function Get-WdevFreeMib {
    $drive = Get-CimInstance -ClassName 'Win32_LogicalDisk' -Filter "DeviceID = 'C:'"
    [Math]::Floor($drive.FreeSpace / 1MB)
}

# The licence's state, and when it ends, where it does.
function Get-WdevLicence {
    $products = @(Get-CimInstance -ClassName 'SoftwareLicensingProduct' -Filter $WdevLicenceFilter)
    $licence = @{ State = 'unknown'; Ends = $null }
    if ($products.Count -eq 0) {
        return $licence
    }
    $product = $products[0]
    $evaluation = $product.Description -like '*TIMEBASED_EVAL*'
    if ($product.GracePeriodRemaining -gt 0) {
        $licence.Ends = (Get-Date).ToUniversalTime().AddMinutes($product.GracePeriodRemaining)
    }
    $licence.State = if ($evaluation) {
        if ($null -eq $licence.Ends) { 'expired' } else { 'evaluation' }
    } elseif ($product.LicenseStatus -eq 1) {
        'licensed'
    } elseif ($null -ne $licence.Ends) {
        'grace'
    } else {
        'unlicensed'
    }
    $licence
}

# Why the machine cannot become a node; nothing when it can.
function Get-WdevMisfit {
    $system = Get-CimInstance -ClassName 'Win32_OperatingSystem'
    $seen = $system.Caption + ', build ' + $system.BuildNumber
    if ($system.ProductType -eq 1) {
        return ('the machine runs ' + $seen + ', which is no Windows Server: use another box')
    }
    $version = @($WdevData.known | Where-Object -FilterScript { $_.build -eq [int]$system.BuildNumber })
    if ($version.Count -eq 0) {
        $known = ($WdevData.known | ForEach-Object -Process { '' + $_.build + ' (' + $_.windows + ')' }) -join ', '
        return ('the machine runs ' + $seen + '; wdev knows the builds ' + $known + ': use another box')
    }
    if ($version[0].windows -ne $WdevData.windows) {
        return ('the machine runs ' + $seen + ', but `windows: ' + $WdevData.windows + '` is asked for: write `windows: ' + $version[0].windows + '` or use another box')
    }
    $free = Get-WdevFreeMib
    # What a node has on its disk later is its own business.
    $fresh = @($WdevWorks | Where-Object -FilterScript { Test-Path -LiteralPath $_ }).Count -eq 0
    if ($fresh -and $free -lt $WdevData.freeMib) {
        return ('drive C: has ' + $free + ' MiB free, and a node needs ' + $WdevData.freeMib + ' MiB: use a box with a larger disk, or make its partition larger')
    }
    if ((Get-WdevLicence).State -eq 'expired') {
        'the evaluation licence of ' + $system.Caption + ' has expired, so that it shuts itself down every hour: run `cscript.exe //nologo C:\Windows\System32\slmgr.vbs /rearm` on the node and reboot it, or make it anew from a newer box'
    }
}

# The clock and the time since the boot, both in milliseconds.
function Get-WdevClock {
    @{
        Now = ([DateTimeOffset](Get-Date)).ToUnixTimeMilliseconds()
        # The one clock that all processes share and that nobody sets.
        Uptime = [long][Math]::Floor([System.Diagnostics.Stopwatch]::GetTimestamp() / ([System.Diagnostics.Stopwatch]::Frequency / 1000.0))
    }
}

# How far the clock is ahead of the host's, in milliseconds; nothing when nobody told the host's.
function Get-WdevClockAhead {
    try {
        $base = [long](Get-WdevSecret -Name 'host_at_boot')
    } catch {
        return
    }
    $clock = Get-WdevClock
    $clock.Now - $clock.Uptime - $base
}

function Set-WdevClock {
    $ahead = Get-WdevClockAhead
    if ($null -eq $ahead) {
        Write-WdevLog -Text 'the host''s time was not given: the clock is left alone'
    } elseif ([Math]::Abs($ahead) -gt $WdevData.toleranceMs) {
        [void](Set-Date -Adjust ([TimeSpan]::FromMilliseconds(-$ahead)))
        Write-WdevLog -Text ('the clock was ' + $ahead + ' ms ahead of the host''s; it is set')
    }
}

# How long the machine waits before it sleeps, in seconds; nothing where it cannot sleep. The last two numbers of
# the answer are for mains and battery; its words are in the system's language.
function Get-WdevSleep {
    $lines = Invoke-WdevNative -FilePath 'powercfg.exe' -ArgumentList '/query', 'SCHEME_CURRENT', 'SUB_SLEEP', 'STANDBYIDLE'
    $numbers = [regex]::Matches((@($lines) -join "`n"), '\b0x([0-9a-fA-F]{8})\b')
    if ($numbers.Count -ge 2) {
        [Convert]::ToInt32($numbers[$numbers.Count - 2].Groups[1].Value, 16)
    }
}

function Test-WdevScheme {
    $answer = @(Invoke-WdevNative -FilePath 'powercfg.exe' -ArgumentList '/getactivescheme') -join ' '
    $answer.Contains($WdevData.scheme)
}

# The range of ports as `start` and `number`. The two numbers of the answer stand at the ends of lines.
function Get-WdevPortRange {
    param([string]$Protocol)
    $lines = Invoke-WdevNative -FilePath 'netsh.exe' -ArgumentList 'int', 'ipv4', 'show', 'dynamicportrange', $Protocol
    $numbers = [regex]::Matches((@($lines) -join "`n"), '(?m)(\d+)\s*$')
    ($numbers | ForEach-Object -Process { $_.Groups[1].Value }) -join ' '
}

# The profiles that do not let inbound rules count.
function Get-WdevShutProfile {
    Get-NetFirewallProfile -All | Where-Object -FilterScript { $_.AllowInboundRules -eq 'False' }
}

# The user who runs this; nothing when it is none of the machine's own.
function Get-WdevUser {
    Get-LocalUser -Name ([Environment]::UserName) -ErrorAction SilentlyContinue
}

# A password that expires would lock wdev out in the middle of a sandbox's life.
function Set-WdevUser {
    $user = Get-WdevUser
    if ($null -eq $user) {
        return
    }
    if ($null -ne $user.PasswordExpires) {
        if ($user.PasswordExpires -lt (Get-Date)) {
            Write-WdevLog -Level 'warning' -Text ('the password of ' + $user.Name + ' had expired; it counts again')
        }
        Set-LocalUser -Name $user.Name -PasswordNeverExpires $true
    }
    if ($null -ne $user.AccountExpires) {
        Set-LocalUser -Name $user.Name -AccountNeverExpires
    }
    if ($null -eq $user.PasswordLastSet) {
        # It is to be changed at the next logon.
        [void]@(Invoke-WdevNative -FilePath 'net.exe' -ArgumentList 'user', $user.Name, '/logonpasswordchg:no')
    }
}

function Add-WdevMachineFact {
    $system = Get-CimInstance -ClassName 'Win32_OperatingSystem'
    $licence = Get-WdevLicence
    Add-WdevFact -Key 'windows' -Value $system.Caption
    Add-WdevFact -Key 'build' -Value $system.BuildNumber
    Add-WdevFact -Key 'free_mib' -Value (Get-WdevFreeMib)
    Add-WdevFact -Key 'licence' -Value $licence.State
    if ($null -ne $licence.Ends) {
        Add-WdevFact -Key 'licence_ends' -Value $licence.Ends.ToString('yyyy-MM-ddTHH:mm:ssZ')
    }
}

function Invoke-WdevRun {
    $misfit = Get-WdevMisfit
    if ($null -ne $misfit) {
        Deny-WdevNode -Reason $misfit
    }
    # Before the zone: this process may still count in the old one.
    Set-WdevClock
    if ((Get-TimeZone).Id -ne 'UTC') {
        Set-TimeZone -Id 'UTC'
    }
    $service = Get-Service -Name 'W32Time'
    if (Test-Path -LiteralPath $WdevTimeTrigger) {
        [void]@(Invoke-WdevNative -FilePath 'sc.exe' -ArgumentList 'triggerinfo', 'W32Time', 'delete')
    }
    if ($service.StartType -ne 'Automatic') {
        Set-Service -Name 'W32Time' -StartupType 'Automatic'
    }
    if ($service.Status -ne 'Running') {
        Start-Service -Name 'W32Time'
    }
    if (-not (Test-WdevScheme)) {
        [void]@(Invoke-WdevNative -FilePath 'powercfg.exe' -ArgumentList '/setactive', $WdevData.scheme)
    }
    if ((Get-WdevSleep) -gt 0) {
        [void]@(Invoke-WdevNative -FilePath 'powercfg.exe' -ArgumentList '/change', 'standby-timeout-ac', '0')
    }
    foreach ($entry in $WdevData.registry) {
        if ((Get-WdevRegistryValue -Path $entry.path -Name $entry.name) -ne $entry.value) {
            Set-WdevRegistryValue -Path $entry.path -Name $entry.name -Value $entry.value
        }
    }
    $ports = $WdevData.ports
    foreach ($protocol in 'tcp', 'udp') {
        if ((Get-WdevPortRange -Protocol $protocol) -ne ('' + $ports.start + ' ' + $ports.number)) {
            $arguments = 'int', 'ipv4', 'set', 'dynamicportrange', $protocol, ('start=' + $ports.start), ('num=' + $ports.number)
            [void]@(Invoke-WdevNative -FilePath 'netsh.exe' -ArgumentList $arguments)
        }
    }
    if (@(Get-WdevShutProfile).Count -gt 0) {
        Set-NetFirewallProfile -All -AllowInboundRules 'True'
    }
    $pings = @{ Protocol = 'ICMPv4'; IcmpType = '8' }
    Set-WdevFirewallRule -Name $WdevPingRule -DisplayName 'wdev: answer pings' -Traffic $pings
    Set-WdevUser
    Add-WdevMachineFact
}

function Invoke-WdevProbe {
    $clock = Get-WdevClock
    Add-WdevFact -Key 'clock_ms' -Value $clock.Now
    Add-WdevFact -Key 'uptime_ms' -Value $clock.Uptime
    $misfit = Get-WdevMisfit
    if ($null -ne $misfit) {
        Stop-WdevProbe -Reason $misfit
    }
    $ahead = Get-WdevClockAhead
    if ($null -ne $ahead -and [Math]::Abs($ahead) -gt $WdevData.toleranceMs) {
        Stop-WdevProbe -Reason ('the clock is ' + $ahead + ' ms ahead of the host''s')
    }
    if ((Get-TimeZone).Id -ne 'UTC') {
        Stop-WdevProbe -Reason 'the time zone is not UTC'
    }
    $service = Get-Service -Name 'W32Time'
    if ($service.StartType -ne 'Automatic' -or $service.Status -ne 'Running') {
        Stop-WdevProbe -Reason 'the service W32Time does not run, or not by itself'
    }
    if (Test-Path -LiteralPath $WdevTimeTrigger) {
        Stop-WdevProbe -Reason 'the service W32Time ends at the next boot: the machine is in no domain'
    }
    if (-not (Test-WdevScheme)) {
        Stop-WdevProbe -Reason 'another power plan is active'
    }
    if ((Get-WdevSleep) -gt 0) {
        Stop-WdevProbe -Reason 'the machine goes to sleep when it is idle'
    }
    foreach ($entry in $WdevData.registry) {
        if ((Get-WdevRegistryValue -Path $entry.path -Name $entry.name) -ne $entry.value) {
            Stop-WdevProbe -Reason ($entry.name + ' of ' + $entry.path + ' is not ' + $entry.value)
        }
    }
    $ports = $WdevData.ports
    foreach ($protocol in 'tcp', 'udp') {
        if ((Get-WdevPortRange -Protocol $protocol) -ne ('' + $ports.start + ' ' + $ports.number)) {
            Stop-WdevProbe -Reason ('outgoing connections (' + $protocol + ') have another range of ports')
        }
    }
    if (@(Get-WdevShutProfile).Count -gt 0) {
        Stop-WdevProbe -Reason 'a profile of the firewall lets no inbound rule count'
    }
    if (-not (Test-WdevFirewallRule -Name $WdevPingRule)) {
        Stop-WdevProbe -Reason 'the firewall does not let pings in on every network'
    }
    $user = Get-WdevUser
    if ($null -ne $user -and ($null -ne $user.PasswordExpires -or $null -ne $user.AccountExpires -or $null -eq $user.PasswordLastSet)) {
        Stop-WdevProbe -Reason ('the password or the account of ' + $user.Name + ' expires')
    }
}
