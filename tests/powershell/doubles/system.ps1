# The system: its processes, its names, its registry.

function Get-CimInstance {
    [CmdletBinding()]
    param([Parameter(Position = 0)][string]$ClassName, [string]$Filter)
    $world = Read-World
    Assert-Work -World $world -Command "Get-CimInstance $ClassName"
    $of = "$ClassName, $Filter"
    if ($of -eq "Win32_Process, Name = 'wininit.exe'") {
        [pscustomobject]@{ ProcessId = 620; CreationDate = [datetime]$world.boot }
    } elseif ($of -eq 'Win32_OperatingSystem, ') {
        $year = Get-Part -World $world -Name 'year' -Default 2022
        [pscustomobject](Get-Part -World $world -Name 'system' -Default @{
            Caption = "Microsoft Windows Server $year Standard Evaluation"
            BuildNumber = [string](Get-Part -World $world -Name 'build' -Default 20348)
            ProductType = 3
        })
    } elseif ($of -eq "Win32_LogicalDisk, DeviceID = 'C:'") {
        [pscustomobject]@{ DeviceID = 'C:'; FreeSpace = [uint64](Get-Part -World $world -Name 'disk_free' -Default 100GB) }
    } elseif ($of -like 'SoftwareLicensingProduct, ApplicationID = *55c92734-d682-4d71-983e-d6ec3f16059f* AND PartialProductKey IS NOT NULL') {
        Get-Part -World $world -Name 'licences' -Default @(@{
            Description = 'Windows(R) Operating System, TIMEBASED_EVAL channel'; LicenseStatus = 1; GracePeriodRemaining = 180 * 24 * 60
        }) | ForEach-Object { $_ } | ForEach-Object { [pscustomobject]$_ }
    } elseif ($of -match "^Win32_Service, Name = '([^']*)'$") {
        Get-CimService -World $world -Name $Matches[1]
    } else {
        throw "no double for $of"
    }
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
