# The firewall: its rules and its profiles.

function Get-NetFirewallRule {
    [CmdletBinding()]
    param([string]$Name)
    $world = Read-World
    if (-not $world.rules.ContainsKey($Name)) {
        Write-Error -Message "No MSFT_NetFirewallRule objects found with property 'InstanceID' equal to '$Name'."
        return
    }
    [pscustomobject]$world.rules[$Name]
}

function New-NetFirewallRule {
    [CmdletBinding()]
    param(
        [string]$Name, [string]$DisplayName, [string]$Direction, [string]$Protocol, [string]$LocalPort, [string]$IcmpType,
        [string]$Action, [string]$Profile, [string]$Enabled
    )
    $world = Read-World
    $world.rules[$Name] = @{ Enabled = $Enabled; Profile = $Profile; Action = $Action; Port = $LocalPort }
    Save-World -World $world -Said "New-NetFirewallRule $Name"
}

function Set-NetFirewallRule {
    [CmdletBinding()]
    param([string]$Name, [string]$Enabled, [string]$Profile, [string]$Action)
    $world = Read-World
    $world.rules[$Name].Enabled = $Enabled
    $world.rules[$Name].Profile = $Profile
    $world.rules[$Name].Action = $Action
    Save-World -World $world -Said "Set-NetFirewallRule $Name"
}

function Get-Profiles {
    param($World)
    $default = @{}
    foreach ($name in 'Domain', 'Private', 'Public') {
        $default[$name] = @{ Name = $name; Enabled = 'True'; AllowInboundRules = 'NotConfigured' }
    }
    Get-Part -World $World -Name 'profiles' -Default $default
}

function Get-NetFirewallProfile {
    [CmdletBinding()]
    param([switch]$All)
    $profiles = Get-Profiles -World (Read-World)
    foreach ($name in 'Domain', 'Private', 'Public') {
        [pscustomobject]$profiles[$name]
    }
}

function Set-NetFirewallProfile {
    [CmdletBinding()]
    param([switch]$All, [ValidateSet('True', 'False', 'NotConfigured')][string]$AllowInboundRules)
    $world = Read-World
    foreach ($one in (Get-Profiles -World $world).Values) {
        $one.AllowInboundRules = $AllowInboundRules
    }
    Save-World -World $world -Said "Set-NetFirewallProfile $AllowInboundRules"
}
