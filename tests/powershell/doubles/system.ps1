# The system: its processes, its names, its registry.

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
