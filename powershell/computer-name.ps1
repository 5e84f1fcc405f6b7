<#
.SYNOPSIS
Gives the computer its name, which counts from its next boot on.

.DESCRIPTION
Reads from $WdevData:
  name  the computer's name, of at most 15 characters, as NetBIOS has it

Changes on the node: the computer's name for its next boot.

Reports: a reboot that is wanted, where the name that counts now, or the one of the next boot, is another one.

Run it by hand as an administrator: powershell -ExecutionPolicy Bypass -File .\computer-name.ps1

To look at it by hand:
  hostname.exe
  Get-ItemProperty HKLM:\SYSTEM\CurrentControlSet\Control\ComputerName\ComputerName

.NOTES
https://learn.microsoft.com/powershell/module/microsoft.powershell.management/rename-computer
#>


# The name that counts now (`ActiveComputerName`), or the one of the next boot (`ComputerName`).
function Get-WdevComputerName {
    param([string]$Key)
    $path = 'HKLM:\SYSTEM\CurrentControlSet\Control\ComputerName\' + $Key
    Get-ItemPropertyValue -LiteralPath $path -Name 'ComputerName'
}

# Names of computers have no case, and neither have PowerShell's comparisons.
function Invoke-WdevRun {
    $active = Get-WdevComputerName -Key 'ActiveComputerName'
    $next = Get-WdevComputerName -Key 'ComputerName'
    # To the name that it has now Windows renames nothing: after the reboot it has the other one.
    if ($next -ne $WdevData.name -and $active -ne $WdevData.name) {
        Rename-Computer -NewName $WdevData.name -Force
    }
    if ($next -ne $WdevData.name -or $active -ne $WdevData.name) {
        Request-WdevReboot
    }
}

function Invoke-WdevProbe {
    $active = Get-WdevComputerName -Key 'ActiveComputerName'
    if ($active -ne $WdevData.name) {
        Stop-WdevProbe -Reason ('the computer is called ' + $active)
    }
    $next = Get-WdevComputerName -Key 'ComputerName'
    if ($next -ne $WdevData.name) {
        Stop-WdevProbe -Reason ('the computer will be called ' + $next + ' after its next boot')
    }
}
