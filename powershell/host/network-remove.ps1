# Takes back what `network.ps1` made: the switch, and with it this host's address on it.
#
# Parameters: `switch` (its name). Result: `removed`. A switch that is not ours is left alone; one that
# machines are still connected to is a failure.
param([Parameter(Mandatory)] [string] $ParametersFile)

. (Join-Path -Path $PSScriptRoot -ChildPath 'common.ps1')
Assert-Language
$wanted = Read-Parameter -Path $ParametersFile -Names @{ switch = $Pattern.Switch }
$name = $wanted.switch

try {
    $switch = Get-NamedSwitch -Name $name
    if ($null -eq $switch) {
        Write-Result -Data @{ removed = $false }
        exit 0
    }
    if (-not (Test-OwnSwitch -Switch $switch)) {
        [Console]::Error.WriteLine("the switch '$name' is not wdev's: left alone")
        Write-Result -Data @{ removed = $false }
        exit 0
    }
    $users = @(Get-VMNetworkAdapter -VMName '*' | Where-Object -FilterScript { $_.SwitchName -eq $name })
    if ($users.Count -gt 0) {
        $machines = @($users | ForEach-Object -Process { $_.VMName } | Sort-Object -Unique)
        Exit-Failure @{
            Id = 'switch-in-use'
            Message = "machines are connected to the switch ``$name``"
            Why = ($machines -join ', ')
            Advice = @('remove or disconnect them, then run the same again')
        }
    }
    $adapter = Get-HostAdapter -SwitchName $name
    if ($null -ne $adapter) {
        # Windows would remember it for the next adapter of this name.
        foreach ($item in @(Get-GivenAddress -InterfaceIndex ([int]$adapter.InterfaceIndex))) {
            Remove-NetIPAddress -InterfaceIndex ([int]$adapter.InterfaceIndex) -IPAddress $item.IPAddress -Confirm:$false
            Write-Change -Text "removed the address $($item.IPAddress) from ``$($adapter.Name)``"
        }
    }
    Remove-VMSwitch -Name $name -Force
    Write-Change -Text "removed the switch ``$name``"
} catch {
    Exit-CmdletFailure -Doing "remove the switch ``$name``" -ErrorRecord $_
}
Write-Result -Data @{ removed = $true }
