# What the doubles know and change: a JSON file, named by WDEV_DOUBLES. Each call that changes something ends in
# `Save-World`, which adds a line to `log` in it; `fail` holds the words with which a command fails, by its name.
#
# WDEV_DOUBLES_KILL: `before N` or `after N` ends this PowerShell, as a kill would, right before or right after its
# N-th changing call.

$worldPath = $env:WDEV_DOUBLES
if (-not $worldPath) {
    $worldPath = '/var/lib/wdev-doubles.json'
}
$changes = 0

function Read-World {
    $world = Get-Content -LiteralPath $worldPath -Raw | ConvertFrom-Json -AsHashtable -DateKind String
    if ($world['machine'] -eq 'linux') {
        Update-FromMachine -World $world
    } elseif (Test-Boot -World $world) {
        Invoke-Boot -World $world
        Write-World -World $world
    }
    $world
}

# A part of the world, which it gets when it has none.
function Get-Part {
    param($World, [string]$Name, $Default)
    if (-not $World.ContainsKey($Name)) {
        $World[$Name] = $Default
    }
    , $World[$Name]
}

function Invoke-Kill {
    param([string]$When)
    if ($env:WDEV_DOUBLES_KILL -eq ($When + ' ' + $script:changes)) {
        [System.Diagnostics.Process]::GetCurrentProcess().Kill()
        Start-Sleep -Seconds 60
    }
}

# What changes more than the world (files, real services) calls this first, and `Save-World` with `Begun` at its end.
function Start-Change {
    $script:changes++
    Invoke-Kill -When 'before'
}

function Write-World {
    param($World)
    $new = $worldPath + '.new'
    ConvertTo-Json -InputObject $World -Depth 12 | Microsoft.PowerShell.Management\Set-Content -LiteralPath $new
    [System.IO.File]::Move($new, $worldPath, $true)
}

function Save-World {
    param($World, [string]$Said, [switch]$Begun)
    if (-not $Begun) {
        Start-Change
    }
    $World.log = @($World.log) + $Said
    Write-World -World $World
    if ($World['machine'] -eq 'linux') {
        Update-Machine -World $World -Said $Said
    }
    Invoke-Kill -When 'after'
}

function Assert-Work {
    param($World, [string]$Command)
    if ($World.fail.ContainsKey($Command)) {
        throw $World.fail[$Command]
    }
}
