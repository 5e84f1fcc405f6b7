# The host network service (HNS), which makes the networks of containers. It comes with the feature `Containers`. Its
# cmdlets (module HostNetworkingService) may come with Hyper-V only (microsoft/containers-toolkit, its module's notes):
# without them nobody can ask it, and its service is all that is looked at.
#
# The repair does what microsoft/SDN and the clean-up script of Microsoft's container documentation do by hand
# (MicrosoftDocs/Virtualization-Documentation, windows-server-container-tools/CleanupContainerHostNetworking):
# start it anew, and where that is not enough, without the file in which it keeps its networks. Network plugins
# make theirs again. Its cmdlets are functions of a script module, in which an error ends nothing unless it is told to.

# How long a service that has just started may take to answer, in seconds.
$WdevHnsPatience = 30
$WdevHnsData = 'C:\ProgramData\Microsoft\Windows\HNS\HNS.data'

function Test-WdevHnsAsked {
    $null -ne (Get-Command -Name 'Get-HnsNetwork' -ErrorAction SilentlyContinue)
}

# What HNS says against being asked; nothing when it answers.
function Get-WdevHnsFailure {
    if (-not (Test-WdevHnsAsked)) {
        return
    }
    try {
        [void]@(Get-HnsNetwork -ErrorAction 'Stop')
    } catch {
        $_.Exception.Message
    }
}

# As `Get-WdevHnsFailure`, once it answers or its patience is over: that the service runs does not say that it answers.
function Wait-WdevHns {
    $clock = [System.Diagnostics.Stopwatch]::StartNew()
    while ($true) {
        $failure = Get-WdevHnsFailure
        if ($null -eq $failure -or $clock.Elapsed.TotalSeconds -ge $WdevHnsPatience) {
            return $failure
        }
        Start-Sleep -Seconds 1
    }
}

# The network that Windows makes by itself from 2022 on, or a container engine that is gone: its address translation
# gets in the way of a network plugin's. Docker's belongs to it as long as it is there, and on a node of a cluster
# nothing is taken away: HNS may make it anew at any start.
function Get-WdevStaleNetwork {
    $docker = Get-Service -Name 'docker' -ErrorAction SilentlyContinue
    $joined = Test-Path -LiteralPath 'C:\etc\kubernetes\kubelet.conf'
    if ($null -eq $docker -and -not $joined -and (Test-WdevHnsAsked)) {
        Get-HnsNetwork -ErrorAction 'Stop' | Where-Object -FilterScript { $_.Type -eq 'nat' -and $_.Name -eq 'nat' }
    }
}

# Why HNS is not ready for a network plugin; nothing when it is.
function Get-WdevHnsComplaint {
    $service = Get-Service -Name 'hns' -ErrorAction SilentlyContinue
    if ($null -eq $service) {
        return 'there is no service hns; it comes with the feature Containers'
    }
    if ($service.StartType -ne 'Automatic') {
        return 'the service hns does not start by itself'
    }
    if ($service.Status -ne 'Running') {
        return 'the service hns does not run'
    }
    $failure = Get-WdevHnsFailure
    if ($null -ne $failure) {
        return ('the service hns does not answer: ' + $failure)
    }
    if (@(Get-WdevStaleNetwork).Count -gt 0) {
        'HNS has a network `nat` that nobody uses'
    }
}

# Makes HNS ready. It fails with the words of HNS when that is beyond a new start.
function Repair-WdevHns {
    $service = Get-Service -Name 'hns' -ErrorAction SilentlyContinue
    if ($null -eq $service) {
        throw 'there is no service hns, although the feature Containers is active'
    }
    if ($service.StartType -ne 'Automatic') {
        Set-Service -Name 'hns' -StartupType 'Automatic'
    }
    if ($service.Status -ne 'Running') {
        Start-Service -Name 'hns'
    }
    $failure = Wait-WdevHns
    if ($null -ne $failure) {
        Write-WdevLog -Level 'warning' -Text ('HNS does not answer and is started anew: ' + $failure)
        Restart-Service -Name 'hns' -Force
        $failure = Wait-WdevHns
    }
    if ($null -ne $failure) {
        Write-WdevLog -Level 'warning' -Text ('HNS still does not answer and forgets its networks: ' + $failure)
        Stop-Service -Name 'hns' -Force
        if (Test-Path -LiteralPath $WdevHnsData) {
            Remove-Item -LiteralPath $WdevHnsData -Force
        }
        Start-Service -Name 'hns'
        $failure = Wait-WdevHns
    }
    if ($null -ne $failure) {
        throw ('the host network service does not answer, also after a new start without ' + $WdevHnsData + ': ' + $failure)
    }
    foreach ($network in @(Get-WdevStaleNetwork)) {
        Write-WdevLog -Text ('removing the HNS network ' + $network.Name + ', which gets in the way of a network plugin')
        $network | Remove-HnsNetwork -ErrorAction 'Stop'
    }
}
