# Calls each command of `refusals.json` in a world of its own and prints, one line of JSON for each, what came of it.
#
# The module reads its world from the file named by WDEV_DOUBLES; `Drive` is the folder that is drive C:.
param([string]$Module, [string]$Refusals, [string]$Drive)
$ErrorActionPreference = 'Stop'
Import-Module -Name $Module
[void](New-PSDrive -Name C -PSProvider FileSystem -Root $Drive -Scope Global)

foreach ($entry in Get-Content -LiteralPath $Refusals -Raw | ConvertFrom-Json -AsHashtable -DateKind String) {
    $world = @{
        services = @{}; rules = @{}; adapters = @(); addresses = @(); dhcp = @(); fail = @{}; log = @()
        boot = '2026-03-01T08:00:01Z'
    }
    foreach ($key in $entry.when.Keys) {
        $world[$key] = $entry.when[$key]
    }
    [System.IO.File]::WriteAllText($env:WDEV_DOUBLES, (ConvertTo-Json -InputObject $world -Depth 12))
    $global:LASTEXITCODE = 0
    try {
        $said = & ([scriptblock]::Create($entry.command)) | Out-String
        $refused = $LASTEXITCODE -ne 0
    } catch {
        $said = $_.Exception.Message
        $refused = $true
    }
    $after = Get-Content -LiteralPath $env:WDEV_DOUBLES -Raw | ConvertFrom-Json -AsHashtable -DateKind String
    ConvertTo-Json -Compress -InputObject @{ refused = $refused; said = "$said"; changes = @($after.log).Count }
}
