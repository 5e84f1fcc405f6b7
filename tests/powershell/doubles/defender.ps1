# Microsoft Defender: `defender` has its exclusions. Where `defender` is false the machine has none.

function Get-MpPreference {
    [CmdletBinding()]
    param()
    [pscustomobject](Get-Part -World (Read-World) -Name 'defender' -Default @{ ExclusionProcess = $null; ExclusionPath = $null })
}

function Add-MpPreference {
    [CmdletBinding()]
    param([string[]]$ExclusionProcess, [string[]]$ExclusionPath)
    $world = Read-World
    Assert-Work -World $world -Command 'Add-MpPreference'
    $defender = Get-Part -World $world -Name 'defender' -Default @{ ExclusionProcess = @(); ExclusionPath = @() }
    foreach ($kind in $PSBoundParameters.Keys) {
        $defender[$kind] = @(@($defender[$kind]) + $PSBoundParameters[$kind] | Where-Object { $_ } | Sort-Object -Unique)
    }
    Save-World -World $world -Said "Add-MpPreference $($PSBoundParameters.Keys | Sort-Object)"
}

if ((Microsoft.PowerShell.Management\Test-Path -LiteralPath $worldPath) -and (Read-World)['defender'] -is [bool]) {
    Remove-Item -LiteralPath 'function:Add-MpPreference'
    Remove-Item -LiteralPath 'function:Get-MpPreference'
}
