# Stand for commands of Windows that this PowerShell does not have. What they know and change is a JSON
# file, named by WDEV_DOUBLES; each call that changes something adds a line to `log` in it, and `fail` holds
# the words with which a command fails, by its name.
Set-StrictMode -Version Latest

$path = $env:WDEV_DOUBLES
if (-not $path) {
    $path = '/var/lib/wdev-doubles.json'
}

function Read-World {
    Get-Content -LiteralPath $path -Raw | ConvertFrom-Json -AsHashtable
}

function Save-World {
    param($World, [string]$Said)
    $World.log = @($World.log) + $Said
    ConvertTo-Json -InputObject $World -Depth 9 | Set-Content -LiteralPath $path
}

function Assert-Work {
    param($World, [string]$Command)
    if ($World.fail.ContainsKey($Command)) {
        throw $World.fail[$Command]
    }
}

function Get-Service {
    [CmdletBinding()]
    param([string]$Name)
    $world = Read-World
    if (-not $world.services.ContainsKey($Name)) {
        Write-Error -Message "Cannot find any service with service name '$Name'."
        return
    }
    [pscustomobject]$world.services[$Name]
}

function Set-Service {
    [CmdletBinding()]
    param([string]$Name, [string]$StartupType)
    $world = Read-World
    $world.services[$Name].StartType = $StartupType
    Save-World -World $world -Said "Set-Service $Name $StartupType"
}

function Start-Service {
    [CmdletBinding()]
    param([string]$Name)
    $world = Read-World
    Assert-Work -World $world -Command 'Start-Service'
    $world.services[$Name].Status = 'Running'
    Save-World -World $world -Said "Start-Service $Name"
}

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

# This PowerShell comes without the module for archives.
function Expand-Archive {
    [CmdletBinding()]
    param([string]$LiteralPath, [string]$DestinationPath)
    $paths = $LiteralPath, $DestinationPath | ForEach-Object {
        $ExecutionContext.SessionState.Path.GetUnresolvedProviderPathFromPSPath($_)
    }
    [System.IO.Compression.ZipFile]::ExtractToDirectory($paths[0], $paths[1])
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

function Get-CimInstance {
    [CmdletBinding()]
    param([string]$ClassName, [string]$Filter)
    if ($ClassName -ne 'Win32_Process' -or $Filter -ne "Name = 'wininit.exe'") {
        throw "no double for $ClassName with $Filter"
    }
    [pscustomobject]@{ ProcessId = 620; CreationDate = [datetime](Read-World).boot }
}

# `names` has the computer's name of this boot and that of the next one. Without it a doubled machine is called
# what the container is, and its first process tells one boot from the next.
function Get-ComputerNames {
    param($World)
    $boot = ((Get-Content -LiteralPath '/proc/1/stat' -Raw) -replace '^.*\) ', '').Split(' ')[19]
    $names = $World['names']
    if ($null -eq $names) {
        $name = [Environment]::MachineName
        $names = @{ ActiveComputerName = $name; ComputerName = $name; boot = $boot }
    }
    if ($names.ContainsKey('boot') -and $names.boot -ne $boot) {
        $names.ActiveComputerName = $names.ComputerName
        $names.boot = $boot
    }
    $names
}

function Get-ItemPropertyValue {
    [CmdletBinding()]
    param([string]$LiteralPath, [string]$Name)
    $parent = 'HKLM:\SYSTEM\CurrentControlSet\Control\ComputerName\'
    $key = $LiteralPath.Replace($parent, '')
    $names = Get-ComputerNames -World (Read-World)
    if ($key -eq $LiteralPath -or $Name -ne 'ComputerName' -or -not $names.ContainsKey($key)) {
        throw "no double for $Name of $LiteralPath"
    }
    $names[$key]
}

function Rename-Computer {
    [CmdletBinding()]
    param([string]$NewName, [switch]$Force)
    $world = Read-World
    Assert-Work -World $world -Command 'Rename-Computer'
    $names = Get-ComputerNames -World $world
    if ($names.ActiveComputerName -eq $NewName) {
        throw "Skip computer '$NewName' with new name '$NewName' because the new name is the same as the current name."
    }
    $names.ComputerName = $NewName
    $world.names = $names
    Save-World -World $world -Said "Rename-Computer $NewName"
}
