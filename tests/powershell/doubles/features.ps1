# Features and capabilities.

function Get-WindowsCapability {
    [CmdletBinding()]
    param([switch]$Online, [string]$Name)
    if ('OpenSSH.Server~~~~0.0.1.0' -like $Name) {
        [pscustomobject]@{ Name = 'OpenSSH.Server~~~~0.0.1.0'; State = 'NotPresent' }
    }
}

function Add-WindowsCapability {
    [CmdletBinding()]
    param([switch]$Online, [string]$Name)
    $world = Read-World
    Assert-Work -World $world -Command 'Add-WindowsCapability'
    $world.services['sshd'] = @{ Name = 'sshd'; Status = 'Stopped'; StartType = 'Manual' }
    Save-World -World $world -Said "Add-WindowsCapability $Name"
    [pscustomobject]@{ RestartNeeded = $false }
}

# The states of what Server Manager calls features and DISM components.
function Get-Features {
    param($World)
    Get-Part -World $World -Name 'features' -Default @{
        'Containers' = 'Available'; 'Hyper-V' = 'Available'; 'Hyper-V-PowerShell' = 'Available'
    }
}

function Get-Components {
    param($World)
    Get-Part -World $World -Name 'components' -Default @{
        'Microsoft-Hyper-V' = 'Disabled'; 'Microsoft-Hyper-V-Online' = 'Disabled'; 'Microsoft-Hyper-V-Offline' = 'Disabled'
    }
}

# What comes with a feature once it is active.
function Add-FeatureServices {
    param($World)
    if ((Get-Features -World $World)['Containers'] -ne 'Installed') {
        return
    }
    foreach ($name in 'hns', 'vmcompute') {
        if (-not $World.services.ContainsKey($name)) {
            $World.services[$name] = @{ Name = $name; Status = 'Stopped'; StartType = 'Manual' }
        }
    }
}

function Set-RebootPending {
    param($World)
    (Get-Registry -World $World)[$rebootKeys[0]] = @{}
}

function Get-WindowsFeature {
    [CmdletBinding()]
    param([string]$Name)
    $features = Get-Features -World (Read-World)
    # A name that nobody knows is no error.
    foreach ($one in @($features.Keys | Where-Object { $_ -like $Name })) {
        [pscustomobject]@{ Name = $one; InstallState = $features[$one]; Installed = $features[$one] -eq 'Installed' }
    }
}

function Install-WindowsFeature {
    [CmdletBinding()]
    param([string]$Name)
    $world = Read-World
    Assert-Work -World $world -Command 'Install-WindowsFeature'
    Assert-Work -World $world -Command "Install-WindowsFeature $Name"
    $features = Get-Features -World $world
    $key = @($features.Keys | Where-Object { $_ -eq $Name })
    if ($key.Count -eq 0) {
        throw "ArgumentNotValid: The role, role service, or feature name is not valid: '$Name'. The name was not found."
    }
    $registry = Get-Registry -World $world
    if ($features[$key[0]] -eq 'UninstallPending') {
        throw 'The request to add or remove features on the specified server failed. The operation cannot be completed, because the server that you specified requires a restart.'
    }
    if ($key[0] -eq 'Hyper-V' -and -not (Get-Part -World $world -Name 'virtualization' -Default $false)) {
        throw 'A prerequisite check for the Hyper-V feature failed. 1. Hyper-V cannot be installed: The processor does not have required virtualization capabilities.'
    }
    $needed = $features[$key[0]] -ne 'Installed'
    if ($needed) {
        $features[$key[0]] = 'InstallPending'
        Set-RebootPending -World $world
        if ($key[0] -eq 'Hyper-V') {
            $components = Get-Components -World $world
            foreach ($component in @($components.Keys)) {
                $components[$component] = 'EnablePending'
            }
        }
        Save-World -World $world -Said "Install-WindowsFeature $Name"
    }
    [pscustomobject]@{
        Success = $true
        ExitCode = if ($needed) { 'SuccessRestartRequired' } else { 'NoChangeNeeded' }
        RestartNeeded = if ($needed) { 'Yes' } else { 'No' }
    }
}

function Get-ComponentName {
    param($World, [string]$Name)
    $key = @((Get-Components -World $World).Keys | Where-Object { $_ -eq $Name })
    if ($key.Count -eq 0) {
        throw "Feature name $Name is unknown."
    }
    $key[0]
}

function Get-WindowsOptionalFeature {
    [CmdletBinding()]
    param([switch]$Online, [string]$FeatureName)
    $world = Read-World
    $name = Get-ComponentName -World $world -Name $FeatureName
    [pscustomobject]@{ FeatureName = $name; State = (Get-Components -World $world)[$name] }
}

function Enable-WindowsOptionalFeature {
    [CmdletBinding()]
    param([switch]$Online, [string]$FeatureName, [switch]$All, [switch]$NoRestart)
    $world = Read-World
    Assert-Work -World $world -Command 'Enable-WindowsOptionalFeature'
    $name = Get-ComponentName -World $world -Name $FeatureName
    $components = Get-Components -World $world
    $components[$name] = 'EnablePending'
    if ($name -eq 'Microsoft-Hyper-V') {
        # Its parts come with it.
        $components['Microsoft-Hyper-V-Online'] = 'EnablePending'
        $components['Microsoft-Hyper-V-Offline'] = 'EnablePending'
    }
    Set-RebootPending -World $world
    Save-World -World $world -Said "Enable-WindowsOptionalFeature $FeatureName"
    [pscustomobject]@{ RestartNeeded = $true }
}

function Disable-WindowsOptionalFeature {
    [CmdletBinding()]
    param([switch]$Online, [string]$FeatureName, [switch]$NoRestart)
    $world = Read-World
    Assert-Work -World $world -Command 'Disable-WindowsOptionalFeature'
    $name = Get-ComponentName -World $world -Name $FeatureName
    $components = Get-Components -World $world
    $components[$name] = if ($components[$name] -eq 'EnablePending') { 'Disabled' } else { 'DisablePending' }
    Set-RebootPending -World $world
    Save-World -World $world -Said "Disable-WindowsOptionalFeature $FeatureName"
    [pscustomobject]@{ RestartNeeded = $true }
}
