# Whether Windows waits for a reboot. Needs `parts/registry.ps1`.
#
# Files to be renamed at the next boot (`PendingFileRenameOperations`) are no reason: programs that update or
# remove themselves leave some at any time, and a reboot for them would often find new ones. What Windows itself
# replaces at a boot is in the first two lists:
# https://learn.microsoft.com/troubleshoot/windows-server/setup-upgrade-and-drivers/collect-data-pending-reboot

# What waits for a reboot, in words; nothing when nothing does.
function Get-WdevPendingReboot {
    $keys = @{
        'the installation of a component' = 'Component Based Servicing\RebootPending'
        'Windows Update' = 'WindowsUpdate\Auto Update\RebootRequired'
    }
    foreach ($what in @($keys.Keys | Sort-Object)) {
        if (Test-Path -LiteralPath ('HKLM:\SOFTWARE\Microsoft\Windows\CurrentVersion\' + $keys[$what])) {
            $what
        }
    }
    $names = 'HKLM:\SYSTEM\CurrentControlSet\Control\ComputerName\'
    $active = Get-WdevRegistryValue -Path ($names + 'ActiveComputerName') -Name 'ComputerName'
    $next = Get-WdevRegistryValue -Path ($names + 'ComputerName') -Name 'ComputerName'
    if ($active -ne $next) {
        'the new computer name'
    }
}
