# Removes machines that Vagrant lost: registered with their files under the folder that Vagrant keeps for
# one node, but with another id than the one that Vagrant knows (an import that was cut short).
#
# Parameters: `folder` (that node's), `keep` (the id that Vagrant knows, may be empty). Result: `removed`,
# how many. Their files go with the folder, or with the next import.
param([Parameter(Mandatory)] [string] $ParametersFile)

. (Join-Path -Path $PSScriptRoot -ChildPath 'common.ps1')
Assert-Language
$wanted = Read-Parameter -Path $ParametersFile -Names @{ folder = $Pattern.Text; keep = $Pattern.Any }
$folder = ([string]$wanted.folder).Replace('/', '\').TrimEnd('\') + '\'
$removed = 0

try {
    foreach ($machine in @(Get-VM)) {
        $place = ([string]$machine.Path).Replace('/', '\').TrimEnd('\') + '\'
        if (-not $place.StartsWith($folder, [StringComparison]::OrdinalIgnoreCase)) { continue }
        if ([string]$machine.Id -eq [string]$wanted.keep) { continue }
        if ([string]$machine.State -ne 'Off') { Stop-VM -VM $machine -TurnOff -Force }
        Remove-VM -VM $machine -Force
        $removed++
        Write-Change -Text "removed the half-made machine ``$($machine.Name)`` ($($machine.Id))"
    }
} catch {
    Exit-CmdletFailure -Doing "remove machines that Vagrant does not know from ``$($wanted.folder)``" -ErrorRecord $_
}
Write-Result -Data @{ removed = $removed }
