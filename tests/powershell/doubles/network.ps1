# Adapters, addresses and the firewall.

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
        [string]$Name, [string]$DisplayName, [string]$Direction, [string]$Protocol, [string]$LocalPort,
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

function Get-NetAdapter {
    [CmdletBinding()]
    param()
    (Read-World).adapters | ForEach-Object { [pscustomobject]$_ }
}

function Get-NetIPAddress {
    [CmdletBinding()]
    param([uint32]$InterfaceIndex, [string]$AddressFamily)
    $found = @((Read-World).addresses | Where-Object { $_.ifIndex -eq $InterfaceIndex })
    if ($found.Count -eq 0) {
        Write-Error -Message 'No matching MSFT_NetIPAddress objects found by CIM query.'
    }
    $found | ForEach-Object { [pscustomobject]$_ }
}

function New-NetIPAddress {
    [CmdletBinding()]
    param([uint32]$InterfaceIndex, [string]$IPAddress, [byte]$PrefixLength, [string]$AddressFamily)
    $world = Read-World
    $world.addresses = @($world.addresses) + @{ ifIndex = $InterfaceIndex; IPAddress = $IPAddress; PrefixLength = $PrefixLength }
    Save-World -World $world -Said "New-NetIPAddress $InterfaceIndex $IPAddress/$PrefixLength"
}

function Remove-NetIPAddress {
    [CmdletBinding(SupportsShouldProcess)]
    param([uint32]$InterfaceIndex, [string]$IPAddress)
    $world = Read-World
    $world.addresses = @($world.addresses | Where-Object { $_.ifIndex -ne $InterfaceIndex -or $_.IPAddress -ne $IPAddress })
    Save-World -World $world -Said "Remove-NetIPAddress $InterfaceIndex $IPAddress"
}

function Get-NetIPInterface {
    [CmdletBinding()]
    param([uint32]$InterfaceIndex, [string]$AddressFamily)
    $dhcp = (Read-World).dhcp
    [pscustomobject]@{ Dhcp = if ($dhcp -contains $InterfaceIndex) { 'Enabled' } else { 'Disabled' } }
}

function Set-NetIPInterface {
    [CmdletBinding()]
    param([uint32]$InterfaceIndex, [string]$AddressFamily, [string]$Dhcp)
    $world = Read-World
    if ($Dhcp -eq 'Disabled') {
        $world.dhcp = @($world.dhcp | Where-Object { $_ -ne $InterfaceIndex })
    }
    Save-World -World $world -Said "Set-NetIPInterface $InterfaceIndex $Dhcp"
}
