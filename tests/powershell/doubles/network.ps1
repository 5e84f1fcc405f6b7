# Adapters, addresses, ports.

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

# `remembered` are the addresses that are in the persistent store alone.
function New-NetIPAddress {
    [CmdletBinding()]
    param([uint32]$InterfaceIndex, [string]$IPAddress, [byte]$PrefixLength, [string]$AddressFamily)
    $world = Read-World
    $remembered = Get-Part -World $world -Name 'remembered' -Default @()
    if (@($remembered | Where-Object { $_.ifIndex -eq $InterfaceIndex -and $_.IPAddress -eq $IPAddress }).Count -gt 0) {
        throw 'Instance MSFT_NetIPAddress already exists'
    }
    $world.addresses = @($world.addresses) + @{ ifIndex = $InterfaceIndex; IPAddress = $IPAddress; PrefixLength = $PrefixLength }
    Save-World -World $world -Said "New-NetIPAddress $InterfaceIndex $IPAddress/$PrefixLength"
}

function Remove-NetIPAddress {
    [CmdletBinding(SupportsShouldProcess)]
    param([uint32]$InterfaceIndex, [string]$IPAddress, [string]$AddressFamily, [string]$PolicyStore)
    $world = Read-World
    $part = if ($PolicyStore -eq 'PersistentStore') { 'remembered' } else { 'addresses' }
    $all = Get-Part -World $world -Name $part -Default @()
    $kept = @($all | Where-Object { $_.ifIndex -ne $InterfaceIndex -or ($IPAddress -and $_.IPAddress -ne $IPAddress) })
    if ($kept.Count -eq $all.Count) {
        Write-Error -Message 'No matching MSFT_NetIPAddress objects found by CIM query.'
        return
    }
    $world[$part] = $kept
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

# In German, because scripts must not depend on the system's language.
function netsh.exe {
    $world = Read-World
    $range = Get-Part -World $world -Name 'ports' -Default @{
        tcp = @{ start = 49152; num = 16384 }
        udp = @{ start = 49152; num = 16384 }
    }
    $words = "$args"
    $global:LASTEXITCODE = 0
    if ($words -match '^int ipv4 show dynamicportrange (tcp|udp)$') {
        $of = $range[$Matches[1]]
        ''
        "Protokoll $($Matches[1]), dynamischer Portbereich"
        '---------------------------------'
        "Startport       : $($of.start)"
        "Anzahl von Ports : $($of.num)"
    } elseif ($words -match '^int ipv4 set dynamicportrange (tcp|udp) start=(\d+) num=(\d+)$') {
        if ([int]$Matches[2] -lt 1025 -or [int]$Matches[3] -lt 255 -or [int]$Matches[2] + [int]$Matches[3] -gt 65536) {
            'The parameter is incorrect.'
            $global:LASTEXITCODE = 1
            return
        }
        $range[$Matches[1]] = @{ start = [int]$Matches[2]; num = [int]$Matches[3] }
        Save-World -World $world -Said "netsh $words"
        'OK.'
    } else {
        "The following command was not found: $words."
        $global:LASTEXITCODE = 1
    }
}
