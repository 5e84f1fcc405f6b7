# Looks whether this host can run the machines of a sandbox on Hyper-V. Changes nothing.
#
# Parameters: `first_switch` (the user's choice, or empty for the Default Switch), `switch`, `subnet` and
# `address` (as for `network.ps1`). Result: `first_switch` (its name), `first_switch_id`, `elevated`,
# `network` (whether the switch of `network.ps1` is there and right).
param([Parameter(Mandatory)] [string] $ParametersFile)

. (Join-Path -Path $PSScriptRoot -ChildPath 'common.ps1')
Assert-Language
$wanted = Read-Parameter -Path $ParametersFile -Names @{
    first_switch = $Pattern.Any; switch = $Pattern.Switch; subnet = $Pattern.Subnet; address = $Pattern.Address
}

# The groups of this process by their SIDs: names are translated.
# https://learn.microsoft.com/windows-server/identity/ad-ds/manage/understand-security-identifiers
function Get-Access {
    $lines = @(whoami.exe /groups /fo csv /nh)
    if ($LASTEXITCODE -ne 0) {
        Exit-Failure @{
            Id = 'cmdlet'
            Message = '`whoami.exe /groups` failed'
            Why = "exit code $LASTEXITCODE"
            Code = 5
        }
    }
    $groups = @($lines | ConvertFrom-Csv -Header 'Name', 'Kind', 'Sid', 'Attributes' | ForEach-Object -Process { $_.Sid })
    # Without elevation an administrator's process has the group for denials only, and no high integrity.
    $high = ($groups -contains 'S-1-16-12288') -or ($groups -contains 'S-1-16-16384')
    $elevated = ($groups -contains 'S-1-5-32-544') -and $high
    return @{
        Elevated = $elevated
        HyperV = $elevated -or ($groups -contains 'S-1-5-32-578')
        # Network Configuration Operators.
        Network = $elevated -or ($groups -contains 'S-1-5-32-556')
    }
}

function Exit-NoFirstSwitch {
    param([Parameter(Mandatory)] [hashtable] $Failure)
    $physical = @(Get-NetAdapter -Physical | Where-Object -FilterScript { [string]$_.Status -eq 'Up' })
    $plug = 'NAME OF YOUR NETWORK ADAPTER'
    if ($physical.Count -gt 0) { $plug = ([string]$physical[0].Name).Replace("'", "''") }
    Exit-Failure @{
        Id = 'no-first-switch'
        Message = $Failure.Message
        Why = $Failure.Why
        Advice = @(
            'either share the network of this host, where it has a DHCP server:'
            "  ``New-VMSwitch -Name 'wdev-external' -NetAdapterName '$plug' -AllowManagementOS `$true``"
            '  and in `variables.yml`: `vagrant: {hyperv: {switch: wdev-external}}`'
            'or, on Windows Server, make a network of its own with address translation and DHCP:'
            '  `New-VMSwitch -Name ''wdev-nat'' -SwitchType Internal`'
            '  `New-NetIPAddress -InterfaceAlias ''vEthernet (wdev-nat)'' -IPAddress 172.30.0.1 -PrefixLength 24`'
            '  `New-NetNat -Name ''wdev-nat'' -InternalIPInterfaceAddressPrefix 172.30.0.0/24`'
            '  `Install-WindowsFeature -Name DHCP -IncludeManagementTools`'
            '  `Add-DhcpServerv4Scope -Name ''wdev-nat'' -StartRange 172.30.0.100 -EndRange 172.30.0.200 -SubnetMask 255.255.255.0`'
            '  `Set-DhcpServerv4OptionValue -ScopeId 172.30.0.0 -Router 172.30.0.1 -DnsServer 1.1.1.1`'
            '  and in `variables.yml`: `vagrant: {hyperv: {switch: wdev-nat}}`'
        )
    }
}

if ($null -eq (Get-Command -Name 'Get-VMSwitch' -ErrorAction SilentlyContinue)) {
    Exit-Failure @{
        Id = 'no-module'
        Message = 'Hyper-V is not installed'
        Why = 'its PowerShell module is not there'
        Advice = @(
            'on Windows 10 or 11 Pro, Enterprise or Education, as administrator: `Enable-WindowsOptionalFeature -Online -FeatureName Microsoft-Hyper-V -All`'
            'on Windows Server, as administrator: `Install-WindowsFeature -Name Hyper-V -IncludeManagementTools`'
            'then restart this computer; other editions of Windows have no Hyper-V: use `provider: virtualbox`'
        )
    }
}

$access = Get-Access
if (-not $access.HyperV) {
    Exit-Failure @{
        Id = 'access'
        Message = 'you may not manage Hyper-V on this host'
        Why = 'neither does this process run as administrator, nor are you in the group Hyper-V Administrators (S-1-5-32-578)'
        Advice = @(
            'start your terminal with `Run as administrator`'
            'or, once, as administrator: `Add-LocalGroupMember -SID S-1-5-32-578 -Member "$env:USERDOMAIN\$env:USERNAME"`; then sign out and in again'
        )
    }
}

try {
    $service = Get-Service -Name 'vmms'
    $system = Get-CimInstance -ClassName 'Win32_ComputerSystem'
} catch {
    Exit-CmdletFailure -Doing 'look at Hyper-V' -ErrorRecord $_
}
if (-not [bool]$system.HypervisorPresent) {
    Exit-Failure @{
        Id = 'no-hypervisor'
        Message = 'the hypervisor does not run'
        Why = 'Hyper-V is installed, but Windows was started without it'
        Advice = @(
            'turn virtualization on in the firmware (BIOS or UEFI) of this computer'
            'and, as administrator: `bcdedit /set hypervisorlaunchtype auto`; then restart this computer'
        )
    }
}
if ([string]$service.Status -ne 'Running') {
    Exit-Failure @{
        Id = 'no-service'
        Message = 'the service Hyper-V Virtual Machine Management does not run'
        Why = "its state is ``$($service.Status)``"
        Advice = @('as administrator: `Start-Service -Name vmms`')
    }
}

try {
    $all = @(Get-VMSwitch)
    if ($wanted.first_switch -eq '') {
        $first = $all | Where-Object -FilterScript { [string]$_.Id -eq $DefaultSwitchId } | Select-Object -First 1
        if ($null -eq $first) {
            Exit-NoFirstSwitch @{
                Message = 'this host has no switch that gives machines addresses'
                Why = 'the Default Switch is not there (Windows Server has none), and `vagrant.hyperv.switch` names no other'
            }
        }
    } else {
        $first = $all | Where-Object -FilterScript {
            $_.Name -eq $wanted.first_switch -or [string]$_.Id -eq $wanted.first_switch
        } | Select-Object -First 1
        $names = (@($all | ForEach-Object -Process { "``$($_.Name)``" }) -join ', ')
        if ($null -eq $first) {
            Exit-NoFirstSwitch @{
                Message = "there is no switch ``$($wanted.first_switch)``"
                Why = "``vagrant.hyperv.switch`` names it; there are: $names"
            }
        }
        if ([string]$first.SwitchType -eq 'Private' -or (Test-OwnSwitch -Switch $first)) {
            Exit-NoFirstSwitch @{
                Message = "the switch ``$($first.Name)`` gives machines no addresses"
                Why = 'wdev needs one with DHCP for the first adapter of each machine'
            }
        }
    }

    $own = Get-NamedSwitch -Name $wanted.switch
    $adapter = $null
    if ($null -ne $own) { $adapter = Get-HostAdapter -SwitchName $wanted.switch }
    $index = -1
    if ($null -ne $adapter) { $index = [int]$adapter.InterfaceIndex }
    $overlaps = @(Get-Overlap -Subnet $wanted.subnet -OwnIndex $index)
    if ($overlaps.Count -gt 0) { Exit-Overlap -Subnet $wanted.subnet -Overlaps $overlaps }
    $ready = $false
    if ($null -ne $adapter) {
        $ready = @(Get-GivenAddress -InterfaceIndex $index |
                Where-Object -FilterScript { $_.IPAddress -eq $wanted.address }).Count -gt 0
    }
} catch {
    Exit-CmdletFailure -Doing 'look at the switches of this host' -ErrorRecord $_
}
if (-not $ready -and -not $access.Network) {
    Exit-Failure @{
        Id = 'access-network'
        Message = "the network $($wanted.subnet) cannot be made by you"
        Why = 'only an administrator may give this host an address on a new switch; this is needed once'
        Advice = @(
            'start your terminal with `Run as administrator` for this run'
            'or, once, as administrator, in PowerShell:'
            "  ``New-VMSwitch -Name '$($wanted.switch)' -SwitchType Internal -Notes '$Mark'``"
            "  ``New-NetIPAddress -InterfaceAlias 'vEthernet ($($wanted.switch))' -IPAddress $($wanted.address) -PrefixLength $($wanted.subnet.Split('/')[1])``"
        )
    }
}
Write-Result -Data @{
    first_switch = [string]$first.Name
    first_switch_id = [string]$first.Id
    elevated = [bool]$access.Elevated
    network = [bool]$ready
}
