# Gives a machine what Vagrant does not: the second adapter on wdev's switch, and what a CNI needs.
#
# Parameters: `machine` (its id), `switch`, `adapter` (the second adapter's name), `mac_spoofing` (true or
# false, both adapters), `secure_boot` (`on`, `off` or `keep`). Result: `mac` of the second adapter (as
# `00:15:5d:xx:xx:xx`), `generation`, `restarted` (the machine was stopped and started for this).
# To be run after every start by Vagrant, which connects all adapters of a machine to the first one's switch
# (plugins/providers/hyperv/scripts/utils/VagrantVM/VagrantVM.psm1, Set-VagrantVMSwitch).
# What this makes goes with the machine.
param([Parameter(Mandatory)] [string] $ParametersFile)

. (Join-Path -Path $PSScriptRoot -ChildPath 'common.ps1')
Assert-Language
$wanted = Read-Parameter -Path $ParametersFile -Names @{
    machine = $Pattern.Id; switch = $Pattern.Switch; adapter = $Pattern.Text
    mac_spoofing = $Pattern.Flag; secure_boot = '^(on|off|keep)$'
}

try {
    $machine = Get-VM -Id $wanted.machine
} catch {
    Exit-CmdletFailure -Doing "find the machine $($wanted.machine)" -ErrorRecord $_
}
$generation = [int]$machine.Generation

function Get-OwnAdapter {
    return Get-VMNetworkAdapter -VM $machine |
        Where-Object -FilterScript { $_.Name -eq $wanted.adapter } | Select-Object -First 1
}

$doing = "look at the machine ``$($machine.Name)``"
try {
    # A checkpoint at each start would bring old states back and fill the disk.
    # Windows Server 2016 has no such thing.
    $settable = (Get-Command -Name 'Set-VM').Parameters.ContainsKey('AutomaticCheckpointsEnabled')
    if ($settable -and [bool]$machine.AutomaticCheckpointsEnabled) {
        $doing = "turn automatic checkpoints of ``$($machine.Name)`` off"
        $arguments = @{ VM = $machine }
        $arguments['AutomaticCheckpointsEnabled'] = $false
        Set-VM @arguments
        Write-Change -Text "turned automatic checkpoints of ``$($machine.Name)`` off"
    }

    $own = Get-OwnAdapter
    $firmware = $null
    if ($generation -ge 2 -and $wanted.secure_boot -ne 'keep') {
        $current = Get-VMFirmware -VM $machine
        if ([string]$current.SecureBoot -ne $wanted.secure_boot) { $firmware = $wanted.secure_boot }
    }

    # Only generation 2 takes an adapter while it runs, and none takes a change of its firmware.
    $running = [string]$machine.State -ne 'Off'
    $stop = $running -and ($null -ne $firmware -or ($null -eq $own -and $generation -lt 2))
    if ($stop) {
        $doing = "stop the machine ``$($machine.Name)``"
        try {
            Stop-VM -VM $machine -Force
        } catch {
            [Console]::Error.WriteLine("Stop-VM: $_")
            Stop-VM -VM $machine -TurnOff -Force
        }
        Write-Change -Text "stopped the machine ``$($machine.Name)``"
    }
    if ($null -ne $firmware) {
        $doing = "set secure boot of ``$($machine.Name)``"
        Set-VMFirmware -VM $machine -EnableSecureBoot $firmware
        Write-Change -Text "secure boot of ``$($machine.Name)`` is $firmware"
    }
    if ($null -eq $own) {
        $doing = "add an adapter on ``$($wanted.switch)`` to the machine ``$($machine.Name)``"
        Add-VMNetworkAdapter -VM $machine -Name $wanted.adapter -SwitchName $wanted.switch
        Write-Change -Text "added the adapter ``$($wanted.adapter)`` to ``$($machine.Name)``"
    } elseif ($own.SwitchName -ne $wanted.switch) {
        $doing = "connect the adapter ``$($wanted.adapter)`` of ``$($machine.Name)``"
        Connect-VMNetworkAdapter -VMNetworkAdapter $own -SwitchName $wanted.switch
        Write-Change -Text "connected the adapter ``$($wanted.adapter)`` of ``$($machine.Name)`` to ``$($wanted.switch)``"
    }
    $spoofing = 'Off'
    if ([bool]$wanted.mac_spoofing) { $spoofing = 'On' }
    $doing = "set MAC address spoofing of ``$($machine.Name)``"
    foreach ($adapter in @(Get-VMNetworkAdapter -VM $machine)) {
        if ([string]$adapter.MacAddressSpoofing -ne $spoofing) {
            Set-VMNetworkAdapter -VMNetworkAdapter $adapter -MacAddressSpoofing $spoofing
            Write-Change -Text "MAC address spoofing of the adapter ``$($adapter.Name)`` is $spoofing"
        }
    }
    # Also when an earlier run stopped it and came no further: Vagrant says that it is to run.
    if ([string](Get-VM -Id $wanted.machine).State -eq 'Off') {
        $doing = "start the machine ``$($machine.Name)``"
        Start-VM -VM $machine
        Write-Change -Text "started the machine ``$($machine.Name)``"
        $stop = $true
    }

    # An adapter has its address once its machine has started with it.
    $doing = "learn the MAC address of the second adapter of ``$($machine.Name)``"
    $mac = ''
    for ($try = 0; $mac -notmatch '^[0-9A-Fa-f]{12}$' -or $mac -eq '000000000000'; $try++) {
        if ($try -gt 60) {
            Exit-Failure @{
                Id = 'no-mac'
                Message = "could not $doing"
                Why = "it is ``$mac``"
                Code = 5
            }
        }
        if ($try -gt 0) { Start-Sleep -Milliseconds 500 }
        $mac = [string](Get-OwnAdapter).MacAddress
    }
} catch {
    Exit-CmdletFailure -Doing $doing -ErrorRecord $_
}
Write-Result -Data @{
    mac = ($mac.ToLowerInvariant() -replace '(..)(?!$)', '$1:')
    generation = $generation
    restarted = [bool]$stop
}
