<#
.SYNOPSIS
Makes the host network service (HNS) ready for a network plugin.

.DESCRIPTION
Run after the reboot that has made the feature Containers active, and again whenever its probe finds HNS wanting:
it is often what a reboot breaks. It has no data of its own.

Changes on the node: the service hns, which starts by itself from then on, and is started anew when it does not answer;
C:\ProgramData\Microsoft\Windows\HNS\HNS.data where that is not enough; on a node that has not joined yet, the HNS
network `nat`, which Windows makes by itself or a container engine has left behind.

Run it by hand as an administrator: powershell -ExecutionPolicy Bypass -File .\hns.ps1

To look at it by hand:
  Get-Service hns; Get-HnsNetwork | Format-Table Name, Type, Id
#>


function Invoke-WdevRun {
    Repair-WdevHns
}

function Invoke-WdevProbe {
    $complaint = Get-WdevHnsComplaint
    if ($null -ne $complaint) {
        Stop-WdevProbe -Reason $complaint
    }
}
