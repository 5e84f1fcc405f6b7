# The host network service (HNS), which makes the networks of containers. It comes with the feature `Containers`,
# and its cmdlets (module HostNetworkingService) with it.
#
# The repair does what microsoft/SDN and the clean-up script of Microsoft's container documentation do by hand
# (MicrosoftDocs/Virtualization-Documentation, windows-server-container-tools/CleanupContainerHostNetworking):
# start it anew, and where that is not enough, without the file in which it keeps its networks. Network plugins
# make theirs again. Its cmdlets are functions of a script module, in which an error ends nothing unless it is told to.

$WdevHnsData = 'C:\ProgramData\Microsoft\Windows\HNS\HNS.data'

# What HNS says against being asked; nothing when it answers.
function Get-WdevHnsFailure {
    try {
        [void]@(Get-HnsNetwork -ErrorAction 'Stop')
    } catch {
        $_.Exception.Message
    }
}

# Networks of a container engine that is gone: their address translation gets in the way of a network plugin's,
# and nobody would use them. Docker's belong to it as long as it is there.
function Get-WdevStaleNetwork {
    if ($null -eq (Get-Service -Name 'docker' -ErrorAction SilentlyContinue)) {
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
    $failure = Get-WdevHnsFailure
    if ($null -ne $failure) {
        Write-WdevLog -Level 'warning' -Text ('HNS does not answer and is started anew: ' + $failure)
        Restart-Service -Name 'hns' -Force
        $failure = Get-WdevHnsFailure
    }
    if ($null -ne $failure) {
        Write-WdevLog -Level 'warning' -Text ('HNS still does not answer and forgets its networks: ' + $failure)
        Stop-Service -Name 'hns' -Force
        if (Test-Path -LiteralPath $WdevHnsData) {
            Remove-Item -LiteralPath $WdevHnsData -Force
        }
        Start-Service -Name 'hns'
        $failure = Get-WdevHnsFailure
    }
    if ($null -ne $failure) {
        throw ('the host network service does not answer, also after a new start without ' + $WdevHnsData + ': ' + $failure)
    }
    foreach ($network in @(Get-WdevStaleNetwork)) {
        Write-WdevLog -Text ('removing the HNS network ' + $network.Name + ', left over from a container engine')
        $network | Remove-HnsNetwork -ErrorAction 'Stop'
    }
}
