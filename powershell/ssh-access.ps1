<#
.SYNOPSIS
Makes the node reachable over SSH with the key of the sandbox.

.DESCRIPTION
Reads from $WdevData:
  publicKey  the key, a line for `authorized_keys`
  archive    where the host puts the archive of Win32-OpenSSH when Windows Update cannot be reached

Changes on the node: OpenSSH is installed where it is missing, from that archive where it is there, or else from
Windows Update; its service starts now and at every boot; the key is one of the administrators' keys; the firewall is
open for it in every network.

`wdev up` runs this through Vagrant, before anything else. It is written for that moment alone: the rendered
ssh-access.ps1 stands in its place, has no key, and only says so.

To look at it by hand:
  Get-Service sshd; Get-NetFirewallRule OpenSSH-Server-In-TCP
  Get-Content C:\ProgramData\ssh\administrators_authorized_keys

.NOTES
Windows Server 2019 and 2022 have OpenSSH as an optional feature, which comes from Windows Update; 2025 has it
installed and stopped, and its firewall rule leaves out public networks:
https://learn.microsoft.com/windows-server/administration/openssh/openssh_install_firstuse
#>


$WdevSshData = 'C:\ProgramData\ssh'
$WdevSshRule = 'OpenSSH-Server-In-TCP'
# For users who are administrators sshd reads this file and no other, and only when nobody else may write
# it: https://learn.microsoft.com/windows-server/administration/openssh/openssh_keymanagement
$WdevSshKeys = $WdevSshData + '\administrators_authorized_keys'

function Install-WdevSshFromArchive {
    $unpacked = 'C:\ProgramData\wdev\openssh'
    if (Test-Path -LiteralPath $unpacked) {
        Remove-Item -LiteralPath $unpacked -Recurse -Force
    }
    Expand-Archive -LiteralPath $WdevData.archive -DestinationPath $unpacked
    $script = @(Get-ChildItem -LiteralPath $unpacked -Recurse -Filter 'install-sshd.ps1')
    if ($script.Count -ne 1) {
        throw ($WdevData.archive + ' is not the archive of Win32-OpenSSH: it holds no install-sshd.ps1')
    }
    # Programs that a service of the system runs must lie where only administrators write.
    $programs = 'C:\Program Files\OpenSSH'
    if (-not (Test-Path -LiteralPath $programs)) {
        [void](New-Item -ItemType Directory -Path $programs)
    }
    Get-ChildItem -LiteralPath $script[0].DirectoryName | Copy-Item -Destination $programs -Recurse -Force
    Remove-Item -LiteralPath $unpacked -Recurse -Force
    $install = Resolve-WdevPath -Path ($programs + '\install-sshd.ps1')
    # It asks before it changes rights, and `-File` could not hand on that it is not to.
    $call = '& ''' + $install + ''' -Confirm:$false'
    $arguments = '-NoProfile', '-NonInteractive', '-ExecutionPolicy', 'Bypass', '-Command', $call
    Invoke-WdevNative -FilePath 'powershell' -ArgumentList $arguments
    Remove-Item -LiteralPath $WdevData.archive -Force
}

function Install-WdevSsh {
    if (Test-Path -LiteralPath $WdevData.archive) {
        Write-WdevLog -Text 'installing OpenSSH from the archive of the host'
        Install-WdevSshFromArchive
        return
    }
    Write-WdevLog -Text 'installing OpenSSH from Windows Update'
    try {
        $feature = @(Get-WindowsCapability -Online -Name 'OpenSSH.Server*')
        if ($feature.Count -ne 1) {
            throw 'this Windows has no such feature'
        }
        $result = Add-WindowsCapability -Online -Name $feature[0].Name
    } catch {
        # The host knows these words, and what to do next.
        throw ('OpenSSH cannot be installed from Windows Update: ' + $_.Exception.Message)
    }
    if ($result.RestartNeeded) {
        Request-WdevReboot
    }
}

function Get-WdevSshService {
    Get-Service -Name 'sshd' -ErrorAction SilentlyContinue
}

# The files that sshd looks for an administrator's key in: the user's own where the box's configuration
# has no such rule for administrators.
function Get-WdevSshKeyFile {
    $WdevSshKeys
    $configuration = $WdevSshData + '\sshd_config'
    if (Test-Path -LiteralPath $configuration) {
        $rule = @((Get-Content -LiteralPath $configuration) -match '^\s*Match\s+Group\s+administrators')
        if ($rule.Count -eq 0) {
            $env:USERPROFILE + '\.ssh\authorized_keys'
        }
    }
}

function Get-WdevSshKeyLine {
    param([string]$Path)
    if (Test-Path -LiteralPath $Path) {
        Get-Content -LiteralPath $Path
    }
}

function Add-WdevSshKey {
    param([string]$Path)
    $there = @(Get-WdevSshKeyLine -Path $Path)
    if ($there -cnotcontains $WdevData.publicKey) {
        $folder = Split-Path -Path $Path -Parent
        if (-not (Test-Path -LiteralPath $folder)) {
            [void](New-Item -ItemType Directory -Path $folder -Force)
        }
        $lines = @($there -ne '') + $WdevData.publicKey + ''
        Write-WdevFile -Path $Path -Text ($lines -join "`n")
    }
    if ($Path -eq $WdevSshKeys) {
        Set-WdevOwnersOnly -Path $Path
    }
}

function Invoke-WdevRun {
    if ($null -eq (Get-WdevSshService)) {
        Install-WdevSsh
    }
    $service = Get-WdevSshService
    if ($service.StartType -ne 'Automatic') {
        Set-Service -Name 'sshd' -StartupType 'Automatic'
    }
    if ($service.Status -ne 'Running') {
        # Its first start makes its configuration and its host keys.
        Start-Service -Name 'sshd'
    }
    foreach ($file in Get-WdevSshKeyFile) {
        Add-WdevSshKey -Path $file
    }
    $ssh = @{ Protocol = 'TCP'; LocalPort = '22' }
    Set-WdevFirewallRule -Name $WdevSshRule -DisplayName 'OpenSSH SSH Server (sshd)' -Traffic $ssh
}

function Invoke-WdevProbe {
    $service = Get-WdevSshService
    if ($null -eq $service) {
        Stop-WdevProbe -Reason 'OpenSSH is not installed'
    }
    if ($service.Status -ne 'Running' -or $service.StartType -ne 'Automatic') {
        Stop-WdevProbe -Reason 'the service sshd does not run, or not by itself'
    }
    foreach ($file in Get-WdevSshKeyFile) {
        if (@(Get-WdevSshKeyLine -Path $file) -cnotcontains $WdevData.publicKey) {
            Stop-WdevProbe -Reason ('our key is not in ' + $file)
        }
    }
    if (-not (Test-WdevFirewallRule -Name $WdevSshRule)) {
        Stop-WdevProbe -Reason 'the firewall does not let SSH in on every network'
    }
}
