<#
.SYNOPSIS
Installs the Windows features that a Kubernetes node needs, and asks for the reboots that they need.

.DESCRIPTION
Reads from $WdevData:
  roles     features as `Get-WindowsFeature` names them, to be installed
  enabled   components as `Get-WindowsOptionalFeature` names them, to be enabled
  disabled  components to be disabled: the hypervisor of Hyper-V, on a machine that cannot run one

Changes on the node: these features and components.

Reports: a reboot that is wanted. Only the state of a feature decides about it (`InstallPending`,
`EnablePending`, ...), and no exit code: a run that was killed after it installed something still finds what it did.
The probe asks for one more reboot when Windows waits for one although every feature is active.

Run it by hand as an administrator: powershell -ExecutionPolicy Bypass -File .\features.ps1

To look at it by hand:
  Get-WindowsFeature -Name Containers, Hyper-V
  Get-WindowsOptionalFeature -Online -FeatureName Microsoft-Hyper-V-Online
  Test-Path 'HKLM:\SOFTWARE\Microsoft\Windows\CurrentVersion\Component Based Servicing\RebootPending'

.NOTES
https://learn.microsoft.com/powershell/module/servermanager/install-windowsfeature
https://learn.microsoft.com/powershell/module/dism/enable-windowsoptionalfeature
Hyper-V without a hypervisor: antrea-io/antrea docs/windows.md, known issues
#>


# `active`, `pending` (after a reboot it is what it should be), `leaving` (a reboot first), `missing`.
function Get-WdevRoleState {
    param([string]$Name)
    # It gives back all that match, and says nothing about a name that nobody knows.
    $found = @(Get-WindowsFeature -Name $Name | Where-Object -FilterScript { $_.Name -eq $Name })
    if ($found.Count -ne 1) {
        Deny-WdevNode -Reason ('this Windows has no feature `' + $Name + '`; `Get-WindowsFeature` lists what it has')
    }
    switch ([string]$found[0].InstallState) {
        'Installed' { 'active' }
        'InstallPending' { 'pending' }
        'UninstallPending' { 'leaving' }
        default { 'missing' }
    }
}

# The same of a component, which is to be `Enabled` or `Disabled`.
function Get-WdevComponentState {
    param([string]$Name, [string]$Wanted)
    $state = [string](Get-WindowsOptionalFeature -Online -FeatureName $Name).State
    $pending = @{ Enabled = 'EnablePending'; Disabled = 'DisablePending' }
    if ($state -like ($Wanted + '*')) {
        'active'
    } elseif ($state -eq $pending[$Wanted]) {
        'pending'
    } elseif ($Wanted -eq 'Enabled' -and $state -eq 'DisablePending') {
        'leaving'
    } else {
        'missing'
    }
}

# All that is wanted.
function Get-WdevWanted {
    foreach ($name in $WdevData.roles) {
        [pscustomobject]@{ Name = $name; Kind = 'Role' }
    }
    foreach ($kind in 'Enabled', 'Disabled') {
        foreach ($name in $WdevData.$kind) {
            [pscustomobject]@{ Name = $name; Kind = $kind }
        }
    }
}

# Its state now, which the installation of another one may have changed.
function Get-WdevState {
    param([object]$Wanted)
    if ($Wanted.Kind -eq 'Role') {
        Get-WdevRoleState -Name $Wanted.Name
    } else {
        Get-WdevComponentState -Name $Wanted.Name -Wanted $Wanted.Kind
    }
}

# Whether one of all that is wanted is in one of these states.
function Test-WdevState {
    param([string[]]$State)
    foreach ($wanted in @(Get-WdevWanted)) {
        if ($State -contains (Get-WdevState -Wanted $wanted)) {
            return $true
        }
    }
    $false
}

# Installs it and tells why that failed; nothing when it did not.
function Install-WdevWanted {
    param([object]$Wanted)
    try {
        switch ($Wanted.Kind) {
            'Role' {
                $result = Install-WindowsFeature -Name $Wanted.Name -ErrorAction 'Stop'
                if (-not $result.Success) {
                    throw ('Windows says ' + $result.ExitCode)
                }
            }
            'Enabled' {
                [void](Enable-WindowsOptionalFeature -Online -FeatureName $Wanted.Name -All -NoRestart)
            }
            'Disabled' {
                [void](Disable-WindowsOptionalFeature -Online -FeatureName $Wanted.Name -NoRestart)
            }
        }
    } catch {
        'the Windows feature ' + $Wanted.Name + ' cannot be installed: ' + $_.Exception.Message
    }
}

function Invoke-WdevRun {
    # What goes at the next boot must be gone before it can come again.
    if (Test-WdevState -State 'leaving') {
        Write-WdevLog -Text 'a feature is about to be removed: a reboot first'
        Request-WdevReboot
        return
    }
    $waits = @(Get-WdevPendingReboot)
    foreach ($wanted in @(Get-WdevWanted)) {
        if ((Get-WdevState -Wanted $wanted) -ne 'missing') {
            continue
        }
        Write-WdevLog -Text ('installing the feature ' + $wanted.Name)
        $failure = Install-WdevWanted -Wanted $wanted
        if ($null -ne $failure) {
            # It may have waited for a reboot already, and refused because of that.
            if ($waits.Count -eq 0) {
                throw $failure
            }
            Write-WdevLog -Level 'warning' -Text $failure
            Write-WdevLog -Text ('Windows waits for a reboot, which may be why: ' + ($waits -join ', '))
            Request-WdevReboot
            return
        }
    }
    if (Test-WdevState -State 'pending', 'leaving') {
        Write-WdevLog -Text 'what was installed is active only after a reboot'
        Request-WdevReboot
        return
    }
    if (@(Get-WdevPendingReboot).Count -gt 0) {
        Request-WdevReboot
    }
}

function Invoke-WdevProbe {
    $words = @{ missing = 'is not installed'; pending = 'is active only after a reboot'; leaving = 'goes at the next boot' }
    foreach ($wanted in @(Get-WdevWanted)) {
        $state = Get-WdevState -Wanted $wanted
        if ($state -eq 'pending') {
            Request-WdevReboot
        }
        if ($state -ne 'active') {
            Stop-WdevProbe -Reason ('the feature ' + $wanted.Name + ' ' + $words[$state])
        }
    }
    $waits = @(Get-WdevPendingReboot)
    if ($waits.Count -gt 0) {
        Request-WdevReboot
        Stop-WdevProbe -Reason ('Windows waits for a reboot, because of: ' + ($waits -join ', '))
    }
}
