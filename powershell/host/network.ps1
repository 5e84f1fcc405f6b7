# Makes the internal switch of a node subnet and gives this host its address on it.
#
# Parameters: `switch` (its name), `subnet` (such as `192.168.56.0/24`), `address` (the host's own).
# Result: `made` (whether anything was changed). A switch that is ours is taken and mended: what an
# earlier run left half-made, or an address that somebody changed. `network-remove.ps1` takes it back.
param([Parameter(Mandatory)] [string] $ParametersFile)

. (Join-Path -Path $PSScriptRoot -ChildPath 'common.ps1')
Assert-Language
$wanted = Read-Parameter -Path $ParametersFile -Names @{
    switch = $Pattern.Switch; subnet = $Pattern.Subnet; address = $Pattern.Address
}
$name = $wanted.switch
$prefix = [int]$wanted.subnet.Split('/')[1]
$made = $false

try {
    $switch = Get-NamedSwitch -Name $name
    if ($null -ne $switch -and -not (Test-OwnSwitch -Switch $switch)) {
        Exit-Failure @{
            Id = 'foreign-switch'
            Message = "the switch ``$name`` is not wdev's"
            Why = 'it has the name that wdev needs, but wdev did not make it'
            Advice = @(
                "rename it: ``Rename-VMSwitch -Name '$name' -NewName 'NEW NAME'``"
                'or choose another range with `network.nodes` in `variables.yml`'
            )
        }
    }
    $adapter = $null
    if ($null -ne $switch) { $adapter = Get-HostAdapter -SwitchName $name }
    $index = -1
    if ($null -ne $adapter) { $index = [int]$adapter.InterfaceIndex }
    $overlaps = @(Get-Overlap -Subnet $wanted.subnet -OwnIndex $index)
    if ($overlaps.Count -gt 0) { Exit-Overlap -Subnet $wanted.subnet -Overlaps $overlaps }
} catch {
    Exit-CmdletFailure -Doing 'look at the networks of this host' -ErrorRecord $_
}

if ($null -eq $switch) {
    try {
        $null = New-VMSwitch -Name $name -SwitchType Internal -Notes $Mark
    } catch {
        Exit-CmdletFailure -Doing "make the switch ``$name``" -ErrorRecord $_
    }
    $made = $true
    Write-Change -Text "made the internal switch ``$name``"
}

# Windows makes the adapter a moment later.
for ($try = 0; $null -eq $adapter -and $try -lt 60; $try++) {
    if ($try -gt 0) { Start-Sleep -Milliseconds 500 }
    try {
        $adapter = Get-HostAdapter -SwitchName $name
    } catch {
        Exit-CmdletFailure -Doing "find this host's adapter on the switch ``$name``" -ErrorRecord $_
    }
}
if ($null -eq $adapter) {
    Exit-Failure @{
        Id = 'no-adapter'
        Message = "this host has no adapter on the switch ``$name``"
        Advice = @(
            "see ``Get-VMNetworkAdapter -ManagementOS -SwitchName '$name'`` and ``Get-NetAdapter``"
            'run the same again'
        )
        Code = 5
    }
}

$index = [int]$adapter.InterfaceIndex
try {
    $given = @(Get-GivenAddress -InterfaceIndex $index)
    $right = @($given | Where-Object -FilterScript {
            $_.IPAddress -eq $wanted.address -and [int]$_.PrefixLength -eq $prefix
        })
    foreach ($item in $given) {
        if ($right -contains $item) { continue }
        Remove-NetIPAddress -InterfaceIndex $index -IPAddress $item.IPAddress -Confirm:$false
        $made = $true
        Write-Change -Text "removed the address $($item.IPAddress)/$($item.PrefixLength) from ``$($adapter.Name)``"
    }
    if ($right.Count -eq 0) {
        # Else it stays without an address until DHCP gives up.
        Set-NetIPInterface -InterfaceIndex $index -AddressFamily IPv4 -Dhcp Disabled
        $null = New-NetIPAddress -InterfaceIndex $index -IPAddress $wanted.address -PrefixLength $prefix
        $made = $true
        Write-Change -Text "gave ``$($adapter.Name)`` the address $($wanted.address)/$prefix"
    }
} catch {
    Exit-CmdletFailure -Doing "give ``$($adapter.Name)`` the address $($wanted.address)/$prefix" -ErrorRecord $_
}
Write-Result -Data @{ made = $made }
