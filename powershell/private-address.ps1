<#
.SYNOPSIS
Gives the adapter with a certain hardware address its static address.

.DESCRIPTION
Reads from $WdevData:
  mac           the hardware address of the adapter: twelve hexadecimal digits, in any notation; empty where only wdev
                knows it, once it has made the adapter. It then fails, and says so
  address       the IPv4 address
  prefixLength  the length of the network's part of it: 24

Changes on the node: that adapter has this address alone, without a gateway, since the way out is another adapter's;
DHCP is off for it.

Reports: the fact `adapter`, its name.

Run it by hand as an administrator: powershell -ExecutionPolicy Bypass -File .\address.ps1

To look at it by hand:
  Get-NetAdapter | Format-Table Name, MacAddress, Status
  Get-NetIPAddress -AddressFamily IPv4; Get-NetIPInterface -AddressFamily IPv4

.NOTES
https://learn.microsoft.com/powershell/module/nettcpip/new-netipaddress
https://learn.microsoft.com/powershell/module/nettcpip/set-netipinterface
#>


function Get-WdevPrivateAdapter {
    $wanted = $WdevData.mac -replace '[^0-9A-Fa-f]', ''
    if ($wanted.Length -ne 12) {
        return
    }
    # A virtual switch of the node, as network plugins make one, takes over the hardware address.
    $found = @(Get-NetAdapter | Where-Object -FilterScript {
        ($_.MacAddress -replace '[^0-9A-Fa-f]', '') -eq $wanted -and $_.Status -eq 'Up'
    } | Sort-Object -Property @{ Expression = { $_.Name -notlike 'vEthernet*' } })
    if ($found.Count -gt 0) {
        $found[0]
    }
}

# The addresses of the adapter, but for those that it gives itself.
function Get-WdevPrivateAddress {
    param([object]$Adapter)
    $question = @{
        InterfaceIndex = $Adapter.ifIndex
        AddressFamily = 'IPv4'
        ErrorAction = 'SilentlyContinue'
    }
    Get-NetIPAddress @question | Where-Object -FilterScript { $_.IPAddress -notlike '169.254.*' }
}

function Test-WdevDhcp {
    param([object]$Adapter)
    $interface = Get-NetIPInterface -InterfaceIndex $Adapter.ifIndex -AddressFamily 'IPv4'
    $interface.Dhcp -ne 'Disabled'
}

function Test-WdevPrivateAddress {
    param([object]$Address)
    $Address.IPAddress -eq $WdevData.address -and $Address.PrefixLength -eq $WdevData.prefixLength
}

function Invoke-WdevRun {
    if ($WdevData.mac -eq '') {
        throw 'which adapter it is, `wdev up` alone knows: it adds that adapter to the machine'
    }
    $adapter = Get-WdevPrivateAdapter
    if ($null -eq $adapter) {
        throw ('there is no network adapter with the hardware address ' + $WdevData.mac + ' that is up')
    }
    if (Test-WdevDhcp -Adapter $adapter) {
        Set-NetIPInterface -InterfaceIndex $adapter.ifIndex -AddressFamily 'IPv4' -Dhcp 'Disabled'
    }
    $there = $false
    foreach ($address in @(Get-WdevPrivateAddress -Adapter $adapter)) {
        if (Test-WdevPrivateAddress -Address $address) {
            $there = $true
        } else {
            # DHCP's goes by itself, sooner or later.
            $old = @{ InterfaceIndex = $adapter.ifIndex; IPAddress = $address.IPAddress }
            Remove-NetIPAddress @old -Confirm:$false -ErrorAction SilentlyContinue
        }
    }
    if (-not $there) {
        # One that Windows only remembers, as after a virtual switch took the adapter, cannot be made again.
        $remembered = @{ InterfaceIndex = $adapter.ifIndex; AddressFamily = 'IPv4'; PolicyStore = 'PersistentStore' }
        Remove-NetIPAddress @remembered -Confirm:$false -ErrorAction SilentlyContinue
        $new = @{
            InterfaceIndex = $adapter.ifIndex
            IPAddress = $WdevData.address
            PrefixLength = $WdevData.prefixLength
            AddressFamily = 'IPv4'
        }
        [void](New-NetIPAddress @new)
    }
    Add-WdevFact -Key 'adapter' -Value $adapter.Name
}

function Invoke-WdevProbe {
    $adapter = Get-WdevPrivateAdapter
    if ($null -eq $adapter) {
        Stop-WdevProbe -Reason ('there is no network adapter with the hardware address ' + $WdevData.mac + ' that is up')
    }
    if (Test-WdevDhcp -Adapter $adapter) {
        Stop-WdevProbe -Reason ($adapter.Name + ' asks for addresses by DHCP')
    }
    $good = @(Get-WdevPrivateAddress -Adapter $adapter | Where-Object -FilterScript {
        Test-WdevPrivateAddress -Address $_
    })
    if ($good.Count -eq 0) {
        Stop-WdevProbe -Reason ($adapter.Name + ' does not have the address ' + $WdevData.address)
    }
}
