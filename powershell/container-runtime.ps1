<#
.SYNOPSIS
Installs containerd and crictl, and starts containerd as a service.

.DESCRIPTION
Reads from $WdevData:
  cache          the folder with the archives: C:\ProgramData\wdev\cache
  configuration  the text of containerd's config.toml
  crictl         the text of crictl.yaml
  trimLogs       the text of trim-logs.ps1

The archives lie there beforehand, under exactly these names, without an ending: `containerd` (a .tar.gz) and `crictl`
(a .tar.gz). Is given the SHA-256 of each as `sha256_containerd` and `sha256_crictl`; by hand they come from the
environment variables WDEV_GIVEN_sha256_containerd and WDEV_GIVEN_sha256_crictl.

Changes on the node: C:\Program Files\containerd with containerd and its configuration, C:\k\crictl.exe with its
configuration (for this user, and in C:\ProgramData\wdev), the folders of the network plugins, the service containerd
with its log C:\var\log\containerd\containerd.log, the task wdev-trim-logs, which keeps logs of services from growing
for ever, and what Microsoft Defender leaves alone. Programs are replaced while the service is stopped. Removes
C:\etc\cni\net.d\0-containerd-nat.conf, which would win against the configuration of a network plugin.

Reports: the fact `containerd`, the version that runs.

Run it by hand as an administrator: powershell -ExecutionPolicy Bypass -File .\container-runtime.ps1

To look at it by hand:
  Get-Service containerd; Get-Content C:\var\log\containerd\containerd.log -Tail 20
  & 'C:\Program Files\containerd\ctr.exe' version
  C:\k\crictl.exe info

.NOTES
The service and its places: containerd/containerd cmd/containerd/command/service_windows.go, defaults_windows.go
The configuration: containerd/containerd docs/cri/config.md
Exclusions: kubernetes-sigs/image-builder images/capi/ansible/windows/roles/runtimes
#>

$WdevContainerd = 'C:\Program Files\containerd'
$WdevContainerdLog = 'C:\var\log\containerd\containerd.log'
# containerd's CRI plugin takes the first file of the folder by name.
$WdevNatFile = 'C:\etc\cni\net.d\0-containerd-nat.conf'

function Assert-WdevContainers {
    $feature = @(Get-WindowsFeature -Name 'Containers')
    $state = 'not there'
    if ($feature.Count -gt 0) {
        $state = [string]$feature[0].InstallState
    }
    if ($state -ne 'Installed') {
        throw ('containerd needs the Windows feature Containers, which is not active: its state is ' + $state)
    }
}

# The line of the service, as `containerd.exe --register-service` writes it.
function Get-WdevContainerdLine {
    '"' + $WdevContainerd + '\containerd.exe" --run-service --log-file ' + $WdevContainerdLog
}

function Get-WdevCrictlFile {
    $env:USERPROFILE + '\.crictl\crictl.yaml'
    'C:\ProgramData\wdev\crictl.yaml'
}

# Makes the service, or gives it back its line.
function Register-WdevContainerd {
    $service = Get-WdevService -Name 'containerd'
    if ($null -eq $service) {
        $arguments = '--register-service', '--log-file', $WdevContainerdLog
        Invoke-WdevNative -FilePath ($WdevContainerd + '\containerd.exe') -ArgumentList $arguments
        $service = Get-WdevService -Name 'containerd'
        if ($null -eq $service) {
            throw 'containerd.exe --register-service has made no service'
        }
    }
    $changed = $service.PathName -cne (Get-WdevContainerdLine)
    if ($changed) {
        Set-WdevServiceProperty -Service $service -Properties @{ PathName = (Get-WdevContainerdLine) }
    }
    if ($service.StartMode -ne 'Auto') {
        Set-Service -Name 'containerd' -StartupType 'Automatic'
    }
    Set-WdevServiceRestart -Name 'containerd'
    $changed
}

# What Defender is to leave alone: by preference, then the values.
function Get-WdevExclusion {
    $programs = 'containerd', 'ctr', 'containerd-shim-runhcs-v1'
    @{
        ExclusionProcess = @($programs | ForEach-Object -Process { $WdevContainerd + '\' + $_ + '.exe' })
        ExclusionPath = @('C:\ProgramData\containerd')
    }
}

# Defender may not be on the node, or be turned off: it is no reason to end.
function Add-WdevExclusion {
    if ($null -eq (Get-Command -Name 'Add-MpPreference' -ErrorAction SilentlyContinue)) {
        return
    }
    $wanted = Get-WdevExclusion
    try {
        $there = Get-MpPreference
        $missing = @{}
        foreach ($kind in $wanted.Keys) {
            $values = @($wanted[$kind] | Where-Object -FilterScript { @($there.$kind) -notcontains $_ })
            if ($values.Count -gt 0) {
                $missing[$kind] = $values
            }
        }
        if ($missing.Count -gt 0) {
            Add-MpPreference @missing
        }
    } catch {
        Write-WdevLog -Level 'warning' -Text ('Defender does not take the exclusions: ' + $_.Exception.Message)
    }
}

# The version of the containerd that answers; nothing while none does.
function Get-WdevContainerdVersion {
    try {
        $said = @(Invoke-WdevNative -FilePath ($WdevContainerd + '\ctr.exe') -ArgumentList 'version') -join "`n"
    } catch {
        return
    }
    $match = [regex]::Match($said, 'Server:\s+Version:\s+(\S+)')
    if ($match.Success) {
        $match.Groups[1].Value
    }
}

# Services that need containerd are ended with it. On a node of a cluster they are to run.
function Start-WdevDependent {
    if (-not (Test-Path -LiteralPath 'C:\etc\kubernetes\kubelet.conf')) {
        return
    }
    foreach ($service in (Get-Service -Name 'containerd').DependentServices) {
        if ($service.Status -eq 'Stopped') {
            Start-Service -Name $service.Name
        }
    }
}

function Invoke-WdevRun {
    Assert-WdevDrive
    Assert-WdevContainers
    $folders = @(
        $WdevContainerd, ($WdevContainerd + '\conf.d'), 'C:\var\log\containerd', 'C:\k',
        'C:\opt\cni\bin', 'C:\etc\cni\net.d'
    )
    Add-WdevFolder -Path $folders
    if (-not (Test-WdevInstalled -Name 'containerd')) {
        Write-WdevLog -Text 'installing containerd'
        # Before anything is stopped.
        [void](Get-WdevArtifact -Name 'containerd')
        [void](Stop-WdevService -Name 'containerd')
        Install-WdevArchive -Name 'containerd' -Folder 'bin' -Program 'containerd.exe' -To $WdevContainerd
    }
    if (-not (Test-WdevInstalled -Name 'crictl')) {
        Install-WdevArchive -Name 'crictl' -Folder '' -Program 'crictl.exe' -To 'C:\k'
    }
    Remove-WdevUnpacked -Name 'containerd', 'crictl'
    foreach ($file in Get-WdevCrictlFile) {
        [void](Set-WdevText -Path $file -Text $WdevData.crictl)
    }
    Remove-WdevFile -Path $WdevNatFile
    Add-WdevExclusion
    Register-WdevTrimLogs
    # A service that runs with another configuration is stopped before the new one is there: a run that is ended in
    # between finds one or the other still to be done.
    $configuration = $WdevContainerd + '\config.toml'
    if (-not (Test-WdevText -Path $configuration -Text $WdevData.configuration)) {
        [void](Stop-WdevService -Name 'containerd')
        [void](Set-WdevText -Path $configuration -Text $WdevData.configuration)
    }
    if (Register-WdevContainerd) {
        [void](Stop-WdevService -Name 'containerd')
    }
    if ((Get-WdevService -Name 'containerd').State -ne 'Running' -or -not (Get-WdevContainerdVersion)) {
        Start-WdevService -Name 'containerd' -Log $WdevContainerdLog -Ready { Get-WdevContainerdVersion }
    }
    Start-WdevDependent
    Add-WdevFact -Key 'containerd' -Value (Get-WdevContainerdVersion)
}

function Invoke-WdevProbe {
    foreach ($name in 'containerd', 'crictl') {
        if (-not (Test-WdevInstalled -Name $name)) {
            Stop-WdevProbe -Reason ($name + ' is not installed as it is wanted')
        }
    }
    if (-not (Test-WdevText -Path ($WdevContainerd + '\config.toml') -Text $WdevData.configuration)) {
        Stop-WdevProbe -Reason 'the configuration of containerd is another one'
    }
    foreach ($file in Get-WdevCrictlFile) {
        if (-not (Test-WdevText -Path $file -Text $WdevData.crictl)) {
            Stop-WdevProbe -Reason ($file + ' is not there or another one')
        }
    }
    if (Test-Path -LiteralPath $WdevNatFile) {
        Stop-WdevProbe -Reason ('there is ' + $WdevNatFile + ', which wins against the network plugin')
    }
    if (-not (Test-WdevTrimLogs)) {
        Stop-WdevProbe -Reason 'nobody keeps the logs from growing for ever'
    }
    $service = Get-WdevService -Name 'containerd'
    if ($null -eq $service -or $service.PathName -cne (Get-WdevContainerdLine)) {
        Stop-WdevProbe -Reason 'the service containerd is not there or another one'
    }
    if ($service.State -ne 'Running' -or $service.StartMode -ne 'Auto') {
        Stop-WdevProbe -Reason 'the service containerd does not run, or not by itself'
    }
}
